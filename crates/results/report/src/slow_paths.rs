//! The critical paths of slow responses, next to the causes that the kernel's counters give.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use analysis::responsiveness::Matrix;
use model::units::format_duration;
use profile::{CriticalPath, Doing, RunPaths, Segment};
use render::{Block, Cell, Document, Table, format};
use serde::Serialize;

use crate::critical_path_table::{critical_path_table, does, place};

/// Rows of a load's table; the rest is one row.
const MOST_ROWS: usize = 8;
/// Loads and places that are named on one screen.
const MOST_LOADS: usize = 2;
const MOST_PLACES: usize = 2;

/// The critical paths of the slow responses under each load.
pub struct SlowPaths {
    loads: Vec<SlowPathsOfLoad>,
    missed: Vec<String>,
}

/// The critical paths of the slow responses under a load, the slowest first.
#[derive(Serialize)]
struct SlowPathsOfLoad {
    load: String,
    paths: Vec<PathOfRun>,
}

#[derive(Serialize)]
struct PathOfRun {
    run_id: String,
    #[serde(flatten)]
    path: CriticalPath,
}

/// A result with the critical paths of its slow responses.
#[derive(Serialize)]
pub struct WithPaths<T> {
    #[serde(flatten)]
    result: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    critical_paths: Vec<SlowPathsOfLoad>,
}

impl SlowPaths {
    /// Finds the paths of the slow responses of a matrix among those that are known of its runs.
    pub fn of(matrix: &Matrix, known: &[RunPaths]) -> Self {
        let path = |run_id: &str, index| {
            let run = known.iter().find(|run| run.run_id == run_id)?;
            Some(PathOfRun { run_id: run_id.to_owned(), path: run.of_response(index)?.clone() })
        };
        let loads = matrix.why_slow.iter().map(|load| {
            let paths = load.worst.iter().filter_map(|it| path(&it.run_id, it.index)).collect();
            SlowPathsOfLoad { load: load.load.clone(), paths }
        });
        let mut missed: Vec<String> =
            known.iter().flat_map(|run| run.missed.iter().cloned()).collect();
        missed.sort();
        missed.dedup();
        Self { loads: loads.filter(|load| !load.paths.is_empty()).collect(), missed }
    }

    /// Adds a table for each load to a document, with the paths of the `worst` responses if those are
    /// requested, and a sentence for the slowest loads to its form for one screen.
    pub fn add_to(
        &self,
        mut document: Document<'static>,
        worst: Option<usize>,
    ) -> Document<'static> {
        for load in &self.loads {
            document.push(load.table());
            let paths = load.paths.iter().take(worst.unwrap_or(0));
            paths.for_each(|it| document.push(critical_path_table(&it.path)));
        }
        document.blocks.extend(not_shown(&self.missed));
        if let Some(brief) = &mut document.brief {
            let mut loads: Vec<&SlowPathsOfLoad> = self.loads.iter().collect();
            loads.sort_by_key(|load| Reverse(load.paths.len()));
            let sentences = loads.into_iter().take(MOST_LOADS).map(SlowPathsOfLoad::sentence);
            brief.blocks.extend(sentences.map(Block::Sentence));
        }
        document
    }

    /// Adds the paths to the data of a result.
    pub fn with<T: Serialize>(self, result: T) -> WithPaths<T> {
        WithPaths { result, critical_paths: self.loads }
    }
}

impl SlowPathsOfLoad {
    fn delay_ns(&self) -> u64 {
        self.paths.iter().map(|it| it.path.response.delay_ns()).sum()
    }

    /// What its responses did, the longest first.
    fn sums(&self) -> Vec<((Doing, String), u64)> {
        let mut sums: BTreeMap<(&str, String), (Doing, u64)> = BTreeMap::new();
        for segment in self.paths.iter().flat_map(|it| &it.path.segments) {
            let key = (does(segment.doing), common_place(segment));
            sums.entry(key).or_insert((segment.doing, 0)).1 += segment.length_ns();
        }
        let sum = |((_, place), (doing, ns))| ((doing, place), ns);
        let mut sums: Vec<((Doing, String), u64)> = sums.into_iter().map(sum).collect();
        sums.sort_by_key(|(_, ns)| Reverse(*ns));
        sums
    }

    fn table(&self) -> Table {
        let delay_ns = self.delay_ns();
        let caption = format!(
            "Critical paths of {} slow under {}: their delays of {}",
            format::counted(self.paths.len(), "response"),
            self.load,
            format_duration(delay_ns)
        );
        let mut table = Table::new(caption, ["does", "where", "time", "share"]);
        let share = |ns: u64| Cell::Share(ns as f64 / delay_ns.max(1) as f64);
        let sums = self.sums();
        for ((doing, place), ns) in sums.iter().take(MOST_ROWS) {
            table.row([does(*doing).into(), place.into(), Cell::duration(*ns as f64), share(*ns)]);
        }
        let rest = sums.iter().skip(MOST_ROWS);
        let (count, ns) = rest.fold((0, 0), |(count, sum), (_, ns)| (count + 1, sum + ns));
        if count > 0 {
            let name = format::counted(count, "other");
            table.row([name.into(), "".into(), Cell::duration(ns as f64), share(ns)]);
        }
        table
    }

    /// What its responses mostly did, in a sentence.
    fn sentence(&self) -> String {
        let delay_ns = self.delay_ns().max(1) as f64;
        let sums = self.sums();
        let parts = sums.iter().take(MOST_PLACES).map(|((doing, place), ns)| {
            let share = format::share(*ns as f64 / delay_ns);
            let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
            format!("{} {share}{place}", does(*doing))
        });
        let parts: Vec<String> = parts.collect();
        format!("Under {} the probe {}.", self.load, parts.join(", "))
    }
}

/// What critical paths lack, a sentence each.
fn not_shown(missed: &[String]) -> impl Iterator<Item = Block> {
    let sentence = |missed: &String| format!("Critical paths do not show {missed}.");
    missed.iter().map(sentence).map(Block::Sentence)
}

/// A place without the numbers of processes, which differ from run to run.
fn common_place(segment: &Segment) -> String {
    let place = place(segment);
    match place.rsplit_once(" (") {
        Some((name, number)) if number.strip_suffix(')').is_some_and(is_number) => name.to_owned(),
        _ => place,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The critical paths of a run on a real machine, the slowest responses first.
pub fn run_paths_document(
    found: &RunPaths,
    response: Option<u32>,
    most: usize,
) -> Document<'static> {
    let is_shown = |it: &&CriticalPath| response.is_none_or(|index| it.response.index == index);
    let mut paths: Vec<&CriticalPath> = found.paths.iter().filter(is_shown).collect();
    paths.sort_by_key(|path| Reverse(path.response.delay_ns()));
    let title = format!("Critical paths of {}", found.run_id);
    let mut document = Document { title, ..Document::default() };
    paths.iter().take(most).for_each(|path| document.push(critical_path_table(path)));
    document.blocks.extend(not_shown(&found.missed));
    let data = RunPaths { paths: paths.into_iter().cloned().collect(), ..found.clone() };
    document.with_data(data)
}

#[cfg(test)]
mod tests {
    use profile::Response;
    use render::plain_text;

    use super::*;

    fn path(index: u32) -> CriticalPath {
        let segment = |from_ns, to_ns, doing, place: &str| Segment {
            from_ns,
            to_ns,
            task: "probe (7)".to_owned(),
            doing,
            whereabouts: vec![place.to_owned()],
            ended_by: None,
        };
        let response =
            Response { index, worker: 0, intended_ns: 0, end_ns: 10_000_000, is_complete: true };
        let load = format!("load ({index})");
        let segments = vec![
            segment(0, 6_000_000, Doing::WaitsForCpu, &load),
            segment(6_000_000, 7_000_000, Doing::Executes, ""),
            segment(7_000_000, 10_000_000, Doing::Waits, "folio_wait_bit_common"),
        ];
        CriticalPath { response, segments }
    }

    #[test]
    fn responses_of_a_load_are_summed_by_place_whatever_the_process() {
        let of_run = |index| PathOfRun { run_id: "r".to_owned(), path: path(index) };
        let load =
            SlowPathsOfLoad { load: "cpuload".to_owned(), paths: vec![of_run(1), of_run(2)] };
        let sums = load.sums();
        let first = &sums[0];
        assert_eq!(first, &((Doing::WaitsForCpu, "taken by load".to_owned()), 12_000_000));
        assert_eq!(sums.iter().map(|it| it.1).sum::<u64>(), load.delay_ns());
        let sentence = load.sentence();
        assert!(sentence.contains("waits for CPU 60 % (taken by load), waits 30 %"), "{sentence}");
    }

    #[test]
    fn a_run_has_its_slowest_responses() {
        let found = RunPaths {
            run_id: "01-cpuload".to_owned(),
            paths: vec![path(0), path(1)],
            missed: vec!["who executed instead".to_owned()],
        };
        let text = plain_text(&run_paths_document(&found, Some(1), 5));
        assert!(text.contains("response 1: its delay of 10.0ms"), "{text}");
        assert!(!text.contains("response 0") && text.contains("do not show who"), "{text}");
    }
}
