//! The specifications of all kinds of charts.

use std::collections::BTreeSet;

use analysis::ab::{AbLook, Stop};
use analysis::sweep::{Curve, Point, PriceSettings, Settings, find};
use render::Document;
use report::charts::ALL;
use report::page::{Material, report};

use super::made_up::{curves, experiment, folder, run, sweep, two_kernels, written};
use super::made_up_jobs::{command, memory, session};

/// Commands of a session, and passes of work on memory, each with and without a load.
fn jobs() -> report::page::Input<'static> {
    let sessions = vec![session("noload", 1, false), session("cpuload", 3, true)];
    let steady = memory("noload", 1, &[90, 10, 10, 10, 10, 10, 10]);
    let loaded = memory("cpuload", 1, &[200, 21, 20, 20, 20, 20, 20]);
    let unsteady = memory("cpuload", 2, &[100, 50]);
    let memories = vec![steady, loaded, unsteady];
    folder("jobs", sessions.into_iter().chain(memories).collect())
}

/// The chart of a name, of which there must be one.
/// The charts by name.
fn vega(document: &Document<'_>) -> serde_json::Value {
    serde_json::from_str(&written("vega", document)).expect("JSON")
}

fn spec(report: &Document<'_>, name: &str) -> serde_json::Value {
    let chart = report.charts().find(|chart| chart.name == name);
    chart.unwrap_or_else(|| panic!("no chart {name}")).spec.clone()
}

fn alone(input: report::page::Input<'_>) -> Material<'_> {
    Material { inputs: vec![input], ..Material::default() }
}

#[test]
fn the_charts_of_two_folders() {
    let material = two_kernels();
    let made = report(&material);
    for name in ["matrix", "comparison", "ratios", "samples", "ecdf", "delay-split"] {
        insta::assert_json_snapshot!(name, spec(&made, name));
    }
    for name in ["findings", "counters", "counters-2"] {
        insta::assert_json_snapshot!(name, spec(&made, name));
    }
}

#[test]
fn the_charts_of_a_sweep() {
    let curves = curves();
    let material = alone(sweep(&curves));
    let made = report(&material);
    for name in ["knee", "map"] {
        insta::assert_json_snapshot!(name, spec(&made, name));
    }
}

#[test]
fn the_charts_of_an_experiment() {
    let material = alone(experiment());
    let made = report(&material);
    for name in ["waterfall", "interaction"] {
        insta::assert_json_snapshot!(name, spec(&made, name));
    }
}

#[test]
fn the_charts_of_jobs() {
    let material = alone(jobs());
    let made = report(&material);
    for name in ["command-ratios", "commands", "touch-cost", "touches"] {
        insta::assert_json_snapshot!(name, spec(&made, name));
    }
}

#[test]
fn work_without_a_load_beside_it_is_drawn_as_far_as_it_goes() {
    let only = |run| {
        let material = alone(folder("one", vec![run]));
        let made = report(&material);
        made.charts().map(|chart| chart.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(only(session("noload", 1, false)), ["commands"]);
    assert_eq!(only(memory("noload", 1, &[9, 2, 2])), ["touches"]);
    assert!(only(memory("noload", 1, &[2])).is_empty(), "the table says it all");
}

#[test]
fn the_levels_of_an_experiment_have_panels_of_their_own() {
    let mut input = report::page::Input::new("sizes");
    for (cell, cost_ns) in [("size 16M", 10), ("size 32M", 70)] {
        input.add(cell.to_owned(), memory("noload", 1, &[cost_ns; 5]));
    }
    let material = alone(input);
    let made = report(&material);
    let touches = spec(&made, "touches");
    assert_eq!(touches["facet"]["sort"], serde_json::json!(["size 16M", "size 32M"]));
    let costs = spec(&made, "touch-cost");
    assert_eq!(costs["data"]["values"][1]["label"], "noload · size 32M");
}

#[test]
fn one_folder_is_drawn_beside_its_own_baseline() {
    let quiet = run("001-noload", "noload", "6.1.0", &[4.0, 4.1, 4.2]);
    let loaded = run("002-cpuload", "cpuload", "6.1.0", &[9.0, 9.1, 9.2]);
    let material = alone(folder("one", vec![quiet, loaded]));
    let made = report(&material);
    let ecdf = spec(&made, "ecdf");
    let lines: BTreeSet<&str> = ecdf["data"]["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value["line"].as_str().unwrap())
        .collect();
    assert_eq!(lines, BTreeSet::from(["this load", "without load"]));
    assert!(made.charts().all(|chart| chart.name != "matrix"), "one column says nothing");
}

/// Two looks at the comparison of a material.
fn looks(material: &Material<'_>) -> Vec<AbLook> {
    let look = |blocks, stop| AbLook {
        blocks,
        most_blocks: 40,
        looks: 12,
        level: 0.01,
        stop,
        second: None,
        comparison: material.comparison.clone().expect("a comparison"),
    };
    vec![look(4, None), look(6, Some(Stop::Different))]
}

#[test]
fn the_ratio_is_drawn_look_by_look_and_the_reason_of_its_end_is_at_the_head() {
    let mut material = two_kernels();
    material.looks = looks(&material);
    let made = report(&material);
    let points = spec(&made, "looks")["data"]["values"].as_array().unwrap().clone();
    let blocks: Vec<u64> = points.iter().map(|point| point["blocks"].as_u64().unwrap()).collect();
    assert_eq!(blocks, [4, 6]);
    assert!(points.iter().all(|point| point["ratio"].as_f64().unwrap() > 1.0), "{points:?}");
    let reason = "Stopped after 6 of at most 40 blocks: the difference is certain.";
    assert!(made.verdicts.iter().any(|verdict| verdict.text == reason), "{:?}", made.verdicts);
}

#[test]
fn a_limit_is_drawn_with_its_price_its_recommendation_and_the_limit_at_which_it_dies() {
    let levels = [(64.0, Some(100.0)), (32.0, Some(101.0)), (16.0, Some(300.0)), (8.0, None)];
    let point = |(level, cost): (f64, Option<f64>), pass: u32| Point {
        level: level * 1_048_576.0,
        cost: cost.map(|cost| cost * (1.0 + 0.001 * f64::from(pass))),
        pass,
        ..Point::default()
    };
    let points = (0..4).flat_map(|pass| levels.into_iter().map(move |level| point(level, pass)));
    let curve = Curve {
        parameter: "sandbox.memory".to_owned(),
        level_unit: "bytes".to_owned(),
        cost_unit: "ns".to_owned(),
        points: points.collect(),
        ..Curve::default()
    };
    let curves = vec![(String::new(), curve)];
    let mut input = sweep(&curves);
    let price = Some(PriceSettings { price: 0.1, most: 10.0 });
    let found = find(&curves[0].1, &Settings { price, ..Settings::default() });
    input.sweep.as_mut().unwrap().rows[0].found = found;
    let material = alone(input);
    let text = spec(&report(&material), "knee").to_string();
    for part in ["without a limit + 10 %", "recommended 32M", "dies", "knee "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn repetitions_of_a_command_of_the_user_are_drawn_and_its_sentence_is_at_the_head() {
    let material = alone(folder("one", vec![command("noload", 1), command("cpuload", 3)]));
    let made = report(&material);
    let points = spec(&made, "commands")["data"]["values"].as_array().unwrap().clone();
    let of = |which: &str| points.iter().filter(|point| point["which"] == which).count();
    assert_eq!((of("first time"), of("again"), of("failed")), (2, 14, 2));
    let heads = |text: &str| made.verdicts.iter().any(|verdict| verdict.text.starts_with(text));
    assert!(heads("./bench takes 100ms") && heads("./bench under cpuload"), "{:?}", made.verdicts);
}

#[test]
fn every_kind_is_drawn_and_has_a_table_and_a_description() {
    let curves = curves();
    let mut material = two_kernels();
    material.inputs.extend([sweep(&curves), experiment(), jobs()]);
    material.looks = looks(&material);
    let made = report(&material);
    let names: BTreeSet<&str> = made.charts().map(|chart| chart.name.as_str()).collect();
    for kind in ALL {
        assert!(names.contains(kind.name), "{} is not drawn", kind.name);
    }
    for chart in made.charts() {
        assert!(!chart.table.rows.is_empty(), "{} has no figures", chart.name);
        assert!(chart.reading.len() > 20 && chart.reading.ends_with('.'), "{}", chart.reading);
        let all = chart.spec.to_string();
        assert!(
            all.contains("\"description\":{\"field\":\"tip\"") || chart.name.contains("counters")
        );
    }
    assert_eq!(vega(&made).as_object().unwrap().len(), names.len(), "each name once");
}

#[test]
fn thousands_of_runs_are_a_page_of_bounded_size() {
    let loads = ["noload", "largewrite", "cpuload", "2ctx-mem", "8ctx-mem"];
    let mut input = report::page::Input::new("large");
    for number in 0..2000_usize {
        let load = loads[number % loads.len()];
        let delay = |index: usize| 4.0 + ((number * 7 + index * 13) % 97) as f64;
        let delays: Vec<f64> = (0..5).map(delay).collect();
        let cell = format!("kernel 6.{}", number / loads.len() % 10);
        input.add(cell, run(&format!("{number:04}-{load}"), load, "6.1.0", &delays));
    }
    let material = alone(input);
    let page = written("html", &report(&material));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}
