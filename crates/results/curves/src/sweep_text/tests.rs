//! Texts of sweeps.

use std::collections::BTreeMap;

use analysis::sweep::{
    Boundary, Curve, End, FaultCost, Grid, GridRow, Headroom, Hysteresis, KneeOf, Point, Pressure,
    Row, Settings, SweepResult, Verification, find,
};
use stats::{Knee, KneeKind, NoKnee, Shape, WhyNoKnee};

use render::plain_text;

use super::*;

/// Its words, wherever lines end.
fn sentences_of(view: &SweepView<'_>) -> String {
    text_of(view).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text_of(view: &SweepView<'_>) -> String {
    plain_text(&sweep_document(view))
}

const MIB: f64 = 1_048_576.0;

fn curve(costs: &[(f64, f64)]) -> Curve {
    Curve {
        name: "folder".to_owned(),
        parameter: "touch.footprint".to_owned(),
        level_unit: "bytes".to_owned(),
        response: "touch_ns".to_owned(),
        cost_unit: "ns".to_owned(),
        points: costs
            .iter()
            .map(|(level, cost)| Point {
                level: *level * MIB,
                cost: Some(*cost),
                ..Point::default()
            })
            .collect(),
        notes: vec!["no swap".to_owned()],
        ..Curve::default()
    }
}

fn rows(curve: &Curve) -> Vec<Row> {
    let row = |point: &Point| {
        let cost = point.cost?;
        Some(Row {
            level: point.level,
            measurements: 2,
            cost: point.cost,
            lowest_cost: Some(cost * 0.9),
            highest_cost: Some(cost * 1.1),
            relative_speed: Some(5.0 / cost),
            figures: BTreeMap::from([
                ("system_ns".to_owned(), cost * 1e6),
                ("faults".to_owned(), cost * 100.0),
            ]),
            problems: if point.level > 60.0 * MIB {
                vec!["no steady state; the load volume was small".to_owned()]
            } else {
                Vec::new()
            },
        })
    };
    curve.points.iter().filter_map(row).collect()
}

fn found(curve: &Curve, shape: Shape) -> SweepResult {
    SweepResult {
        rows: rows(curve),
        plateau: End::Low,
        shape,
        capacity: Some(16.0 * MIB),
        unmeasurable: None,
        verification: None,
        hysteresis: None,
        fault_cost: FaultCost::Unknown { why: "no faults".to_owned() },
        headroom: None,
        moved: None,
        priced: None,
        pressure: None,
        remedies: Vec::new(),
        ended_by_budget: None,
        notes: Vec::new(),
    }
}

fn view<'a>(curve: &'a Curve, found: SweepResult) -> SweepView<'a> {
    SweepView {
        place: "sandbox of 512M".to_owned(),
        settings: vec![("job".to_owned(), "touch".to_owned())],
        by: None,
        rows: vec![SweepRow { label: String::new(), curve, found }],
        grid: None,
        observed: None,
        least_rise: 1.5,
    }
}

fn step() -> Curve {
    curve(&[(4.0, 5.0), (8.0, 5.2), (16.0, 5.1), (24.0, 51.0), (64.0, 480.0)])
}

fn knee() -> Knee {
    Knee {
        level: 20.0 * MIB,
        low: 16.0 * MIB,
        high: 24.0 * MIB,
        capacity: 16.0 * MIB,
        beyond: 24.0 * MIB,
        plateau_cost: 5.1,
        rise: 10.0,
        steepness: 5.7,
        support: 0.8,
        kind: KneeKind::Step,
        others: Vec::new(),
    }
}

#[test]
fn a_knee_is_told_with_all_that_is_known_of_it() {
    let curve = step();
    let knee_of = |level: f64| KneeOf { level: level * MIB, low: 16.0 * MIB, high: 24.0 * MIB };
    let found = SweepResult {
        unmeasurable: Some(Boundary {
            last: 64.0 * MIB,
            first: 128.0 * MIB,
            reason: "more than this machine has".to_owned(),
        }),
        verification: Some(Verification {
            capacity: vec![5.0, 5.2],
            beyond: vec![50.0, 52.0],
            holds: true,
        }),
        hysteresis: Some(Hysteresis {
            levels: Vec::new(),
            factor: 2.5,
            up: Some(knee_of(20.0)),
            down: None,
            is_there: true,
        }),
        fault_cost: FaultCost::Known {
            cost_ns: 273_000.0,
            low_ns: 272_000.0,
            high_ns: 274_000.0,
            r_squared: 0.9999,
            measurements: 10,
            faults: "faults".to_owned(),
        },
        headroom: Some(Headroom { present: 8.0 * MIB, factor: 2.5, low: 2.0, high: 3.0 }),
        ..found(&curve, Shape::Knee(knee()))
    };
    insta::assert_snapshot!(text_of(&view(&curve, found)));
}

#[test]
fn what_lies_under_a_knee_is_a_table() {
    let mut curve = step();
    for point in &mut curve.points {
        let major = if point.level > 20.0 * MIB { 4e5 } else { 0.0 };
        point.counters.insert("vmstat.pgmajfault".to_owned(), major);
        point.figures.insert("work".to_owned(), 1e6);
    }
    let found = find(&curve, &Settings::default());
    let text = text_of(&view(&curve, found));
    let (_, text) = text.split_once("What changes there, per unit of work: ").expect(&text);
    assert!(text.starts_with("4M to 16M against 24M to 64M\ncounter"), "{text}");
    let row = text.lines().find(|line| line.starts_with("vmstat.pgmajfault")).expect(text);
    let cells: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[1..4].iter().map(|cell| cell.trim()).collect::<Vec<_>>(), ["0", "0.4", "new"]);
}

#[test]
fn without_a_knee_it_says_how_far_and_why() {
    let curve = curve(&[(4.0, 5.0), (16.0, 5.1), (64.0, 5.2)]);
    let none =
        NoKnee { up_to: 64.0 * MIB, growth: 0.014, largest_rise: 1.04, why: WhyNoKnee::NeverRises };
    let text = sentences_of(&view(&curve, found(&curve, Shape::NoKnee(none.clone()))));
    assert!(
        text.contains(
            "No knee up to 64M: the cost never leaves its plateau. The cost goes with level^0.01; \
             the most expensive level costs 1.04 times the cheapest one (1.5 times would count)."
        ),
        "{text}"
    );
    assert!(!text.contains('░') && !text.contains("Capacity"), "{text}");
    let once = NoKnee { why: WhyNoKnee::LastLevelOnce { level: 64.0 * MIB }, ..none.clone() };
    let text = sentences_of(&view(&curve, found(&curve, Shape::NoKnee(once))));
    assert!(text.contains("only the highest level 64M is expensive"), "{text}");
    let mut down = curve.clone();
    down.points.reverse();
    let so_far = sweep_so_far(&down, &found(&curve, Shape::NoKnee(none)));
    assert_eq!(so_far, "after 3 measurements no knee down to 4M");
    let few = Shape::TooFew("three levels are needed".to_owned());
    let text = sentences_of(&view(&curve, found(&curve, few)));
    assert!(text.contains("is unclear whether there is a knee: three levels"), "{text}");
}

#[test]
fn two_parameters_make_a_map() {
    let curve = step();
    let row = |level: &str, costs: &[Option<f64>]| GridRow {
        level: level.to_owned(),
        costs: costs.to_vec(),
        shape: Shape::TooFew(String::new()),
    };
    let grid = Grid {
        row_parameter: "touch.pages".to_owned(),
        column_parameter: "touch.footprint".to_owned(),
        column_unit: "bytes".to_owned(),
        cost_unit: "ns".to_owned(),
        columns: vec![4.0 * MIB, 16.0 * MIB, 20.0 * MIB, 64.0 * MIB],
        rows: vec![
            row("small", &[Some(5.0), Some(10.0), Some(55.0), Some(600.0)]),
            row("thp", &[Some(5.0), Some(5.5), None, Some(20.0)]),
        ],
    };
    insta::assert_snapshot!(plain_text(&Document::of(tables::map(&grid, (tables::MOST_LEVELS, 9)))), @r"
    Cost over touch.footprint (columns) and touch.pages (rows), in multiples of the
    cheapest, 5ns
    touch.pages      4M     16M     64M
    small        ·· 1.0  ·· 2.0  ██ 120
    thp          ·· 1.0  ·· 1.1  ░░ 4.0

    Levels that are only in the tables: 1.
    ");
    let both = SweepView {
        by: Some("touch.pages".to_owned()),
        rows: ["small", "thp"]
            .map(|label| SweepRow {
                label: label.to_owned(),
                curve: &curve,
                found: found(&curve, Shape::Knee(knee())),
            })
            .to_vec(),
        grid: Some(grid),
        ..view(&curve, found(&curve, Shape::Knee(knee())))
    };
    let text = sentences_of(&both);
    assert!(text.contains(" touch.pages thp "), "{text}");
    assert!(text.contains(" touch.pages thp: Knee at 20M [16M, 24M]"), "{text}");
    assert!(text.contains("measurements 10 of 10 levels "), "{text}");
}

#[test]
fn the_curve_fits_a_terminal_of_eighty_columns() {
    let text = text_of(&view(&step(), found(&step(), Shape::Knee(knee()))));
    let chart = text.lines().filter(|line| line.contains(['┤', '└']));
    assert!(chart.map(|line| line.chars().count()).all(|width| width <= 80), "{text}");
}

#[test]
fn a_search_that_its_budget_ended_is_not_finished() {
    let curve = curve(&[(2.0, 5.0), (8.0, 5.0), (16.0, 5.0), (32.0, 20.0)]);
    let mut found = find(&curve, &Settings::default());
    assert!(!sentences_of(&view(&curve, found.clone())).contains("budget"));
    found.ended_by_budget = Some(8);
    let text = sentences_of(&view(&curve, found.clone()));
    assert!(text.contains("Not finished: the budget of 8 measurements ended the search"), "{text}");
    assert!(sweep_so_far(&curve, &found).contains("a higher one continues it"));
}

#[test]
fn progress_without_any_cost_reports_that() {
    let failed = Point { problem: Some("the command failed".to_owned()), ..Point::default() };
    let curve = Curve { points: vec![failed], ..Curve::default() };
    let so_far = sweep_so_far(&curve, &find(&curve, &Settings::default()));
    assert_eq!(so_far, "after 1 measurement no level has a cost");
}

#[test]
fn a_dear_last_level_that_was_measured_once_is_no_answer() {
    let curve = curve(&[(2.0, 5.0), (8.0, 5.0), (16.0, 5.0), (32.0, 20.0)]);
    let found = find(&curve, &Settings::default());
    let text = sentences_of(&view(&curve, found));
    assert!(text.contains("It is unclear whether there is a knee up to 32M: only the"), "{text}");
}

#[test]
fn a_limit_is_a_sentence_with_its_price_its_recommendation_and_its_death() {
    let price = analysis::sweep::PriceSettings::default();
    let settings = Settings { price: Some(price), plateau: Some(End::High), ..Settings::default() };
    let mut curve = curve(&[
        (1024.0, 100.0),
        (1024.0, 101.0),
        (1024.0, 99.0),
        (60.0, 100.0),
        (60.0, 101.0),
        (50.0, 150.0),
        (50.0, 151.0),
        (40.0, 200.0),
    ]);
    for point in &mut curve.points {
        point.sizes = [("anonymous_bytes".to_owned(), 59.0 * MIB)].into();
        let refaults = if point.level < 60.0 * MIB { 1e6 } else { 0.0 };
        point.counters = [("memcg.workingset_refault_file".to_owned(), refaults)].into();
        point.sizes.insert("file_bytes".to_owned(), 5.0 * MIB);
    }
    curve.points.push(Point {
        level: 30.0 * MIB,
        problem: Some("out of memory".to_owned()),
        ..Point::default()
    });
    let said = sentences_of(&view(&curve, find(&curve, &settings)));
    for words in [
        "Limit: touch_ns (ns) over touch.footprint",
        "it costs 5 % more than without a limit. Recommended: 60M (its cost is at most ",
        "with headroom for the spread of 2 runs).",
        "At 30M it dies (out of memory), at 40M it lives.",
        "Both sides: 2 runs at 60M cost [1.00, 1.01] times, 2 runs at 50M cost [1.50, 1.51] times",
        "Its 5M of file pages are what it lacks",
        "It may live there with 29M or more of swap",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    // A single run without a limit shows no spread.
    curve.points.drain(1..);
    let said = sentences_of(&view(&curve, find(&curve, &settings)));
    assert!(said.contains("No limit was measured but the highest"), "{said}");
}

/// Just below what a group needs, its file pages and the kernel's take room from its anonymous memory.
#[test]
fn swapped_memory_that_is_smaller_than_the_limit_is_named_and_few_file_pages_are_not() {
    let costs = [(1024.0, 100.0), (1024.0, 101.0), (60.0, 100.0), (58.0, 850.0), (50.0, 900.0)];
    let (mut curve, settings) = priced(&costs);
    let mut text_with = |files: f64| {
        for point in &mut curve.points {
            let is_dear = if point.level < 60.0 * MIB { 1.0 } else { 0.0 };
            let counters = [
                ("pswpin", 1e6),
                ("workingset_refault_anon", 1e6),
                ("workingset_refault_file", files),
            ];
            let counters = counters.map(|(name, many)| (format!("memcg.{name}"), is_dear * many));
            point.counters = counters.into();
            let sizes = [("anonymous_bytes", 55.0 * MIB), ("file_bytes", 5.0 * MIB)];
            point.sizes = sizes.map(|(name, bytes)| (name.to_owned(), bytes)).into();
        }
        sentences_of(&view(&curve, find(&curve, &settings)))
    };
    let text = text_with(3e4);
    assert!(text.contains("Anonymous memory is swapped: zram or zswap"), "{text}");
    assert!(!text.contains("of file pages are what it lacks"), "{text}");
    let text = text_with(5e5);
    assert!(text.contains("Anonymous memory is swapped: zram or zswap"), "{text}");
    assert!(text.contains("Its 5M of file pages are what it lacks"), "{text}");
}

fn priced(costs: &[(f64, f64)]) -> (Curve, Settings) {
    let price = Some(analysis::sweep::PriceSettings::default());
    (curve(costs), Settings { price, plateau: Some(End::High), ..Settings::default() })
}

#[test]
fn without_a_certain_limit_it_says_what_was_measured() {
    let noisy = [(1024.0, 100.0), (1024.0, 120.0), (1024.0, 90.0), (60.0, 101.0), (60.0, 110.0)];
    let (curve, settings) = priced(&noisy);
    let said = sentences_of(&view(&curve, find(&curve, &settings)));
    for words in [
        "It is unclear whether limits down to 60M cost 5 % more: the runs differ too much.",
        "No limit is certainly within 5 %",
        "measured within it: 60M costs 1.0",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    let (curve, settings) = priced(&[(1024.0, 100.0), (1024.0, 101.0), (60.0, 200.0)]);
    let said = sentences_of(&view(&curve, find(&curve, &settings)));
    let words = "No limit that was measured is within 5 %; the highest: 60M costs 1.99 times";
    assert!(said.contains(words), "{said}");
}

#[test]
fn pressure_to_alarm_at_is_a_sentence_with_its_time() {
    let costs = [(1024.0, 100.0), (1024.0, 101.0), (60.0, 101.0), (60.0, 100.0), (50.0, 125.0)];
    let (mut curve, settings) = priced(&[&costs[..], &[(50.0, 126.0)]].concat());
    let mut said = |seconds: f64, stalled: f64, is_of_group: bool| {
        for point in &mut curve.points {
            let share = if point.level < 60.0 * MIB { stalled } else { 0.0 };
            let shares = [("memory some".to_owned(), share)].into();
            point.pressure = Some(Pressure { is_of_group, seconds, shares });
        }
        let text = text_of(&view(&curve, find(&curve, &settings)));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // 5 % of extra time are 5 / 105 of stalled time, as 25 % are 20 %.
    let lasting = said(60.0, 0.2, true);
    assert!(lasting.contains("Alarm at memory some avg10 above 4."), "{lasting}");
    assert!(lasting.contains("[0.00 %, 20 %]: there it costs 5 % more."), "{lasting}");
    assert!(!lasting.contains("whole machine, with"), "{lasting}");
    let short = said(2.0, 0.2, false);
    assert!(short.contains("of the time: there it costs 5 % more. A run took 2.00s"), "{short}");
    assert!(short.contains("avg10 rises to 18 % of a constant share"), "{short}");
    assert!(short.contains("Pressure is that of the whole machine"), "{short}");
    let silent = said(60.0, 0.0, true);
    let words = "this cost: memory some is 0.00 % at the limit that costs 1.25 times as much";
    assert!(silent.contains(words), "{silent}");
}
