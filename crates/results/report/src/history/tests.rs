//! A history of planted kernels on one screen and in full.

use std::collections::BTreeMap;

use analysis::history::{
    History, HistoryCell, HistoryData, HistoryKernel, HistoryRun, HistorySuite, StepFunctions,
    StepKind,
};
use render::{FORMATS, Style, plain_text};
use stats::ChangeScan;

use super::history_document;

/// Kernels under two measures: the third dies under one, and from the fourth on it is slower.
fn planted() -> HistoryData {
    let mut data = HistoryData { suite: HistorySuite::default(), ..HistoryData::default() };
    data.suite.name = "quick".to_owned();
    data.suite.typed = "--quick".to_owned();
    data.suite.text = "name = \"quick\"\n".to_owned();
    data.measures = ["idle", "smallwrite"].map(str::to_owned).to_vec();
    for kernel in 0..8_usize {
        let name = format!("6.1.{}-1", 190 + kernel);
        for (measure, base) in data.measures.clone().into_iter().zip([75e6, 300e6]) {
            let is_slow = kernel > 2 && measure == "smallwrite";
            let has_died = kernel == 2 && measure == "smallwrite";
            let run = |seed: u64| HistoryRun {
                seed,
                value: (!has_died).then_some(if is_slow { 4.0 } else { 1.0 } * base + seed as f64),
                failure: has_died.then(|| "the kernel died: BUG: NULL pointer".to_owned()),
                has_died,
                ..HistoryRun::default()
            };
            let lru_gen = if kernel > 2 { "0x0007" } else { "0x0000" };
            data.cells.push(HistoryCell {
                kernel: name.clone(),
                measure,
                response: "delay_ns".to_owned(),
                unit: "ns".to_owned(),
                clock: "virtual time of instructions".to_owned(),
                facts: BTreeMap::from([("lru_gen".to_owned(), lru_gen.to_owned())]),
                runs: (1..=12).map(run).collect(),
                ..HistoryCell::default()
            });
        }
        let typed = format!("deb:linux-image-{kernel}={name}");
        let mglru = if kernel > 2 { "on" } else { "off" };
        let facts = BTreeMap::from([("MGLRU".to_owned(), mglru.to_owned())]);
        data.kernels.push(HistoryKernel { name, typed, facts, ..HistoryKernel::default() });
    }
    data
}

fn text(data: &HistoryData, is_brief: bool) -> String {
    let history = History::of(data, &mut ChangeScan::default());
    let style = Style { is_brief, width: Some(80), has_colour: false };
    (FORMATS[0].write)(&history_document(data, &history), &style).unwrap()
}

#[test]
fn a_history_is_one_screen() {
    let text = text(&planted(), true);
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn each_step_has_its_evidence_and_its_command() {
    let text = text(&planted(), false);
    for part in [
        "6.1.192-1 dies under smallwrite (12 of 12 seeds): the kernel died: BUG: NULL pointer",
        "The states differ (lru_gen 0x0000 → 0x0007): smallwrite is slower with 6.1.193-1",
        "in instructions",
        "The configurations differ: MGLRU off → on.",
        "thrashlab history deb:linux-image-1=6.1.191-1 deb:linux-image-3=6.1.193-1 --quick",
        "--measure smallwrite",
        "smallwrite ▁▁x█████ 300ms 1.20s",
        "idle ▁▁▁▁▁▁▁▁ 75.0ms 75.0ms",
        "thrashlab history deb:linux-image-3=6.1.193-1 --variant lru_gen=off --quick --measure smallwrite",
    ] {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_step_ends_with_the_function_that_it_is_in() {
    let mut data = planted();
    data.functions = vec![StepFunctions {
        measure: "smallwrite".to_owned(),
        kernels: ["6.1.191-1", "6.1.193-1"].map(str::to_owned),
        seeds: 2,
        instructions: [1_000, 41_000],
        culprit: Some(("shrink_folio_list".to_owned(), 0.93)),
        functions: vec![("shrink_folio_list".to_owned(), [None, Some(37_200)])],
    }];
    let brief = text(&data, true).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        brief.contains("93 % of the instructions in shrink_folio_list and what it calls."),
        "{brief}"
    );
    let whole = text(&data, false).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["mean of 2 seeds", "shrink_folio_list - 37,200 +37,200", "all 1,000 41,000 +40,000"]
    {
        assert!(whole.contains(part), "{part}\n{whole}");
    }
    // What was profiled of other kernels is of other steps.
    data.functions[0].kernels[0] = "6.1.190-1".to_owned();
    assert!(!text(&data, false).contains("shrink_folio_list"));
}

#[test]
fn a_page_of_a_history_is_small_and_needs_no_script() {
    let data = planted();
    let history = History::of(&data, &mut ChangeScan::default());
    let page = (render::HTML.write)(&history_document(&data, &history), &Style::default()).unwrap();
    assert!(page.len() < 100_000, "without charts, and so without the script: {}", page.len());
    assert!(page.contains("History of 8 kernels, 6.1.190-1 to 6.1.197-1"));
}

#[test]
fn deaths_take_no_room_of_other_steps() {
    let mut data = planted();
    let planted = data.cells.clone();
    for number in 0..8 {
        let measure = format!("write-{number}");
        let cells = planted.iter().filter(|cell| cell.measure == "smallwrite").cloned();
        let cells = cells.map(|cell| HistoryCell { measure: measure.clone(), ..cell });
        data.cells.extend(cells.collect::<Vec<_>>());
        data.measures.push(measure);
    }
    let text = text(&data, true).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("write-6 (12 of 12 seeds) and write-7 (12 of 12"), "{text}");
    assert!(
        text.contains("is slower with 6.1.193-1") && text.contains("5 smaller steps"),
        "{text}"
    );
}

#[test]
fn few_kernels_have_a_row_each_though_nothing_is_certain() {
    let mut data = planted();
    data.kernels.truncate(2);
    assert!(text(&data, true).contains("6.1.191-1"), "{}", text(&data, true));
}

#[test]
fn many_measures_are_several_tables_that_fit() {
    let mut data = planted();
    data.measures = (0..20).map(|index| format!("measure-{index}")).collect();
    let history = History::of(&data, &mut ChangeScan::default());
    let brief = history_document(&data, &history).brief.unwrap();
    let text = plain_text(&brief);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("kernel ")).count(), 4, "{text}");
}

/// The history of docs/history.md: what it shows is a function of its figures, and what is known of
/// these kernels is found blind.
#[test]
fn the_history_of_debian_12_has_its_death_and_its_steps() {
    let figures = include_str!("../../../../../docs/history/debian-12/history.json");
    let data: HistoryData = serde_json::from_str(figures).unwrap();
    let history = History::of(&data, &mut ChangeScan::default());
    let steps: Vec<_> = history
        .steps
        .iter()
        .map(|step| {
            let measure = step.measure.map_or("", |measure| data.measures[measure].as_str());
            (step.kind, measure, data.kernels[step.after].name.as_str())
        })
        .collect();
    let [died, lives] = [StepKind::Died, StepKind::Recovered];
    let of = |kind, kernel| {
        ["smallwrite", "largewrite", "2ctx-mem"].map(|measure| (kind, measure, kernel))
    };
    let expected = [of(died, "6.1.192-1"), of(lives, "6.1.192-2")].concat();
    assert_eq!(steps[..6], expected);
    assert_eq!(steps[6..], of(StepKind::Slower, "6.12.100-1~deb12u1"));
    assert!(history.steps[6..].iter().all(|step| step.states[0].name == "lru_gen"));
    let text = text(&data, true);
    assert!(text.contains("×4.23 [2.95, 6.65]"), "docs/history.md: {text}");
}

/// The mechanisms of docs/history/findings.md: a change that is known from hardware is found blind, with
/// its function.
#[test]
fn the_history_of_mechanisms_has_what_is_known_of_mprotect() {
    let figures = include_str!("../../../../../docs/history/mechanisms/history.json");
    let data: HistoryData = serde_json::from_str(figures).unwrap();
    let history = History::of(&data, &mut ChangeScan::default());
    assert_eq!(history.steps.len(), 57);
    let is_it = |step: &&analysis::history::Step| {
        step.measure.is_some_and(|measure| data.measures[measure] == "mprotect")
            && data.kernels[step.after].name.starts_with("6.17")
    };
    let step = history.steps.iter().find(is_it).unwrap();
    assert_eq!(step.kind, StepKind::Slower);
    let ratio = step.ratio.unwrap();
    assert!(ratio.low > 1.79 && ratio.high < 1.83, "docs/history/findings.md: {ratio:?}");
    let (culprit, share) = step.functions.as_ref().unwrap().culprit.as_ref().unwrap();
    assert!(culprit == "change_protection" && *share > 0.95, "{culprit} {share}");
}
