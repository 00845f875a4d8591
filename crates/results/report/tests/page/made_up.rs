//! Results that have everything that a report can show.

use std::collections::BTreeMap;

use analysis::attribution::{Attribution, Options, attribute};
use analysis::comparison::{Comparison, Request, compare};
use analysis::sweep::{Curve, Grid, Point, Settings, find};
use analysis::{Dataset, Direction, Factor, Response, Trial, Values, from_runs};
use curves::{SweepRow, SweepView};
use doctor::{Confidence, Diagnosis, Evidence, Family, Finding, LostTime, Price, Scope};
use model::Run;
use render::{Document, Style, format_named};
use report::page::{Diagnosed, Input, Material};

/// A report in the format of this name.
pub(super) fn written(name: &str, document: &Document<'_>) -> String {
    let format = format_named(name).expect("a format");
    (format.write)(document, &Style::default()).expect("it can be written")
}

/// A run of a load with these delays in ms, as a file; the last sample of a negative one was given
/// up.
pub(crate) fn run(id: &str, load: &str, kernel: &str, delays_ms: &[f64]) -> Run {
    let header = format!(
        r#"{{"kind":"header","schema":1,"run_id":"{id}","thrashlab":"0.1.0","started_unix_ns":1700000000000000000,"spec":{{"subject":{{"kind":"sandbox","memory_bytes":536870912}},"load":{{"name":"{load}","version":1,"intensity":1.0}},"probe":{{"name":"response","version":1,"params":{{}}}},"timing":{{"profile":"quick","interval_ns":500000000,"points":5,"warmup_ns":1,"timeout_ns":1000000000}},"seed":7,"block":0,"order":0}},"environment":{{"kernel":"{kernel}","swap_bytes":"0"}},"missed":[{{"capability":"psi/irq","reason":"no such file"}}]}}"#
    );
    let mut text = format!("{header}\n{}\n", r#"{"kind":"phase","at_ns":1,"phase":"warm"}"#);
    text += "{\"kind\":\"warning\",\"at_ns\":2,\"text\":\"the file is smaller\"}\n";
    let (mut waited_ns, mut last_ns) = (0, 0);
    for (index, delay_ms) in delays_ms.iter().enumerate() {
        let intended_ns = 500_000_000 * (index as u64 + 1);
        let delay_ns = (delay_ms.abs() * 1e6) as u64;
        let (end_ns, before_ns) = (intended_ns + delay_ns, waited_ns);
        waited_ns += delay_ns * 3 / 4;
        last_ns = last_ns.max(end_ns);
        let end = if *delay_ms < 0.0 { "censored_at_ns" } else { "completed_ns" };
        let counters = |wait_ns: u64, at_ns: u64| {
            let stalled_us = if load == "noload" { 0 } else { at_ns / 2000 };
            format!(
                r#"{{"schedstat":{{"wait_ns":{wait_ns}}},"rusage":{{"user_ns":0,"system_ns":0}},"psi":{{"memory_some_us":{stalled_us}}}}}"#
            )
        };
        text += &format!(
            r#"{{"kind":"sample","at_ns":{end_ns},"index":{index},"intended_ns":{intended_ns},"started_ns":{intended_ns},"{end}":{end_ns},"before":{},"after":{}}}"#,
            counters(before_ns, intended_ns),
            counters(waited_ns, end_ns),
        );
        text += "\n";
    }
    let mut encoder = model::RunEncoder::default();
    encoder.foreign(text.as_bytes());
    text += &encoder.end(last_ns, model::EndStatus::Complete);
    Run::parse(text.as_bytes()).expect("a run file")
}

/// A folder with these runs.
pub(crate) fn folder(name: &str, runs: Vec<Run>) -> Input<'static> {
    let mut input = Input::new(name);
    for run in runs {
        input.add(String::new(), run);
    }
    input
}

/// Two runs without load and two under one.
fn runs(kernel: &str, factor: f64) -> Vec<Run> {
    let delays = |all: [f64; 5]| all.map(|delay_ms| delay_ms * factor);
    vec![
        run("001-noload", "noload", kernel, &delays([4.0, 4.2, 4.4, 4.1, 4.3])),
        run("002-noload", "noload", kernel, &delays([4.1, 4.0, 4.2, 4.3, 4.5])),
        run("003-largewrite", "largewrite", kernel, &delays([41.0, 39.0, 45.0, 40.0, 80.0])),
        run("004-largewrite", "largewrite", kernel, &delays([42.0, 38.0, 44.0, 41.0, -900.0])),
    ]
}

/// Two folders that differ in their kernel, and what that makes.
pub(crate) fn two_kernels() -> Material<'static> {
    let (before, after) = (runs("6.1.0", 1.0), runs("6.6.0", 1.5));
    let set = |name: &str, runs: &[Run]| {
        let named =
            |run: &Run| (run.header.as_ref().expect("a header").run_id.clone(), run.clone());
        from_runs(name, &runs.iter().map(named).collect::<Vec<_>>())
    };
    let comparison: Comparison =
        compare(&[set("before", &before), set("after", &after)], &Request::default())
            .expect("a comparison");
    let mut second = folder("after", after);
    second.diagnoses.push(swapping());
    Material {
        inputs: vec![folder("before", before), second],
        comparison: Some(comparison),
        ..Material::default()
    }
}

/// A diagnosis of a run that swaps.
fn swapping() -> Diagnosed {
    let counter = "vmstat/pswpin per s".to_owned();
    let evidence = vec![Evidence { counter, value: 1200.0, threshold: Some(10.0) }];
    let finding = Finding {
        rule: "swap-thrash",
        family: Family::Reclaim,
        scope: Scope::Machine,
        condition: "6396 pages were swapped in".to_owned(),
        price: Price::Known(LostTime::of_threads(2.5e9, 1, 3e9)),
        confidence: Confidence { agreeing: 1, asked: 1 },
        evidence,
        counterfactual: None,
        remedy: "add memory".to_owned(),
        confirm: "vmstat 1".to_owned(),
        processes: Vec::new(),
        code: doctor::SampledCode::NotSampled,
    };
    Diagnosed {
        run_id: "003-largewrite".to_owned(),
        load: "largewrite".to_owned(),
        diagnosis: Diagnosis { findings: vec![finding], ..Diagnosis::default() },
    }
}

/// A curve with a step between 16 and 18 MB.
fn curve(steep: f64) -> Curve {
    let levels = [8.0, 12.0, 16.0, 18.0, 24.0, 32.0];
    let costs = [100.0, 101.0, 104.0, 104.0 * steep, 140.0 * steep, 150.0 * steep];
    let point = |(level, cost): (f64, f64), pass: u32| Point {
        level: level * 1_048_576.0,
        cost: Some(cost * (1.0 + 0.01 * f64::from(pass))),
        pass,
        ..Point::default()
    };
    let passes =
        (0..2).flat_map(|pass| levels.into_iter().zip(costs).map(move |it| point(it, pass)));
    Curve {
        name: "folder".to_owned(),
        parameter: "vmtest.size".to_owned(),
        level_unit: "bytes".to_owned(),
        response: "touch_ns".to_owned(),
        cost_unit: "ns".to_owned(),
        points: passes.collect(),
        ..Curve::default()
    }
}

/// The curves of a sweep over two parameters.
pub(crate) fn curves() -> Vec<(String, Curve)> {
    vec![("old".to_owned(), curve(10.0)), ("new".to_owned(), curve(1.0))]
}

/// A sweep with these curves.
pub(crate) fn sweep(curves: &[(String, Curve)]) -> Input<'_> {
    let settings = Settings::default();
    let row = |(label, curve): &'_ (String, Curve)| (label.clone(), find(curve, &settings));
    let found: Vec<_> = curves.iter().map(row).collect();
    let rows = curves.iter().zip(found);
    let view = SweepView {
        place: "simulated".to_owned(),
        settings: Vec::new(),
        by: Some("mmu.hat".to_owned()),
        rows: rows.map(|((_, curve), (label, found))| SweepRow { label, curve, found }).collect(),
        grid: Some(Grid::new("mmu.hat", curves, &settings)),
        observed: None,
        least_rise: settings.knee.least_rise,
    };
    Input { sweep: Some(view), ..Input::new("sweep") }
}

/// An experiment of two factors that multiply.
fn attribution() -> Attribution {
    let factor = |name: &str| Factor {
        name: name.to_owned(),
        levels: vec!["old".to_owned(), "new".to_owned()],
    };
    let measured =
        Response { unit: "ns".to_owned(), direction: Direction::LessIsBetter, additive: true };
    let mut set = Dataset {
        name: "experiment".to_owned(),
        factors: vec![factor("kernel"), factor("compiler")],
        responses: BTreeMap::from([("cpu_ns".to_owned(), measured)]),
        ..Dataset::default()
    };
    for cell in 0..12_u32 {
        let (kernel, compiler, trial) = (cell & 1, cell >> 1 & 1, cell >> 2);
        let level = |index: u32| if index == 0 { "old" } else { "new" }.to_owned();
        let value = 1e6 * 2_f64.powi(kernel as i32) * 1.5_f64.powi(compiler as i32);
        set.trials.push(Trial {
            name: format!("trial {cell}"),
            levels: BTreeMap::from([
                ("kernel".to_owned(), level(kernel)),
                ("compiler".to_owned(), level(compiler)),
            ]),
            values: vec![Values::exact(None, "cpu_ns", &[value * (1.0 + 0.01 * f64::from(trial))])],
            ..Trial::default()
        });
    }
    attribute(&set, &Options::default()).expect("an attribution")
}

/// The result of an experiment of two factors.
pub(crate) fn experiment() -> Input<'static> {
    let plan = ("thrashlab experiment plan.toml".to_owned(), "name = \"x\"\n".to_owned());
    Input { attribution: Some(attribution()), plan: Some(plan), ..Input::new("experiment") }
}
