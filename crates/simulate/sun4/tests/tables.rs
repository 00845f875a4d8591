//! The published tables of 1990, row by row, each held to its band; and which mechanisms they need.
//!
//! As Irlam did, each row is the run with the smallest elapsed time, here of ten seeds.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::Path;
use std::thread;

use jobs::VmtestPlan;
use sun4::{MACHINES, Machine, Outcome, Setup, System, Workload, simulate};

const OLD: &str = "vmtest-sparcstation1-old-hat";
const NEW: &str = "vmtest-sparcstation1-new-hat";
const NEW_PLUS: &str = "vmtest-sparcstation1plus-new-hat";

type Row = Vec<(String, f64)>;

fn setup(machine: &str, hat: &str, settings: &[(&str, &str)]) -> Setup {
    let (_, text) = MACHINES.iter().find(|(name, _)| *name == machine).unwrap();
    let mut setup = Setup::new(Machine::parse(text).unwrap(), System::named(hat).unwrap());
    settings.iter().for_each(|(name, value)| setup.set(name, value).unwrap());
    setup
}

fn vmtest(megabytes: u64, process_megabytes: u64) -> Workload {
    Workload::Vmtest(VmtestPlan {
        process_bytes: process_megabytes << 20,
        processes: megabytes / process_megabytes,
        step_bytes: 4096,
        loops: 0,
        look_ns: 40_000_000,
        time_ns: 0,
        calibrated_processes: 1,
        limit_ns: 0,
    })
}

/// The fastest of this many seeds.
fn fastest(setup: &Setup, workload: &Workload, seeds: u64) -> Outcome {
    let runs = (1..=seeds).map(|seed| simulate(setup, workload, seed));
    runs.min_by_key(|outcome| outcome.elapsed_ns).unwrap()
}

/// The rows of a published table, as columns by name.
fn published(name: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join(format!("../../../reference/sun4/{name}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cell = |(name, text): (&&str, &str)| Some(((*name).to_owned(), text.parse().ok()?));
    lines.map(|line| names.iter().zip(line.split(',')).filter_map(cell).collect()).collect()
}

fn column(row: &Row, name: &str) -> f64 {
    row.iter().find(|(known, _)| known == name).map_or(f64::NAN, |(_, value)| *value)
}

/// Each row of a table with its simulation, by two threads.
fn simulated(table: &str, setup: &Setup) -> Vec<(Row, Outcome)> {
    let rows = published(table);
    let run = |row: &Row| fastest(setup, &vmtest(column(row, "virtual_mb") as u64, 2), 10);
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let rows = rows.iter().skip(half).step_by(2);
            scope.spawn(move || rows.map(run).collect::<Vec<_>>())
        });
        let mut halves = halves.map(|half| half.join().unwrap().into_iter());
        (0..rows.len()).filter_map(|row| halves[row % 2].next()).collect()
    });
    rows.into_iter().zip(outcomes).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Collects what is out of its band, so that a failure shows all of it.
#[derive(Default)]
struct Bands(String);

impl Bands {
    fn hold(&mut self, what: &str, simulated: f64, published: f64, least: f64, most: f64) {
        let ratio = simulated / published;
        if !(least..=most).contains(&ratio) {
            let _ = writeln!(self.0, "{what}: {simulated:.1} / {published:.1} = {ratio:.3}");
        }
    }

    fn check(&self) {
        assert!(self.0.is_empty(), "out of band:\n{}", self.0);
    }
}

#[test]
fn the_old_table_is_met_row_by_row() {
    let rows = simulated(OLD, &setup("sparcstation1", "old", &[]));
    let mut bands = Bands::default();
    let (mut faults, mut elapsed_s) = (0, 0.0);
    for (row, outcome) in &rows {
        let megabytes = column(row, "virtual_mb") as u64;
        let (least, most) = match megabytes {
            0..=14 => (0.95, 1.05),
            15..=22 => (0.85, 1.15),
            _ => (0.5, 2.0),
        };
        let row_s = seconds(outcome.elapsed_ns);
        bands.hold(&format!("{megabytes} MB"), row_s, column(row, "elapsed_s"), least, most);
        let user_s = seconds(outcome.user_ns);
        bands.hold(&format!("{megabytes} MB user"), user_s, column(row, "user_s"), 0.75, 1.05);
        assert_eq!(outcome.hat.pmgstolen_ctx, 0, "{megabytes} MB: a holder of a context lost one");
        if megabytes >= 24 {
            faults += outcome.translation_faults;
            elapsed_s += row_s;
        }
    }
    bands.check();
    let rate = faults as f64 / elapsed_s;
    assert!((3000.0..=3400.0).contains(&rate), "{rate} faults a second of thrashing");
    let of = |megabytes| {
        let found = rows.iter().find(|(row, _)| column(row, "virtual_mb") == megabytes);
        &found.unwrap().1
    };
    assert!(of(24.0).translation_faults >= 50 * of(16.0).translation_faults);
    // The cliff: up to 16 MB two megabytes cost 3 s, and the next ones more than five times that.
    let step_s = |from, to| seconds(of(to).elapsed_ns) - seconds(of(from).elapsed_ns);
    assert!(step_s(14.0, 16.0) < 5.0 && step_s(16.0, 18.0) > 15.0);
}

#[test]
fn the_new_table_is_linear_to_96_megabytes() {
    let mut bands = Bands::default();
    for (row, outcome) in simulated(NEW, &setup("sparcstation1", "new", &[])) {
        let what = format!("{} MB", column(&row, "virtual_mb"));
        let simulated_s = seconds(outcome.elapsed_ns);
        bands.hold(&what, simulated_s, column(&row, "new_elapsed_s"), 0.93, 1.07);
    }
    bands.check();
}

#[test]
fn the_new_table_of_the_faster_machine_is_met_with_the_same_constants() {
    let mut bands = Bands::default();
    for (row, outcome) in simulated(NEW_PLUS, &setup("sparcstation1plus", "new", &[])) {
        let what = format!("{} MB", column(&row, "virtual_mb"));
        // Whole seconds: 4.0 and 4.9 are printed alike. The row of 2 MB contradicts itself, with
        // 2.9 s of user and system time in 2 s.
        let cpu_s = column(&row, "user_s") + column(&row, "system_s");
        let least_s = column(&row, "elapsed_s").max(cpu_s);
        let most_s = (column(&row, "elapsed_s") + 1.0).max(cpu_s);
        let simulated_s = seconds(outcome.elapsed_ns);
        bands.hold(&what, simulated_s, simulated_s.clamp(least_s, most_s), 0.93, 1.07);
        let user_s = seconds(outcome.user_ns);
        bands.hold(&format!("{what} user"), user_s, column(&row, "user_s"), 0.93, 1.07);
        let system_s = seconds(outcome.system_ns);
        bands.hold(&format!("{what} system"), system_s, column(&row, "system_s"), 0.85, 1.15);
    }
    bands.check();
}

#[test]
fn processes_of_four_megabytes_fall_between_16_and_20() {
    let setup = setup("sparcstation1", "old", &[]);
    let run = |megabytes| seconds(fastest(&setup, &vmtest(megabytes, 4), 10).elapsed_ns);
    let (at_12, at_16, at_20) = (run(12), run(16), run(20));
    assert!(at_16 - at_12 < 7.0, "{at_12} {at_16}");
    assert!(at_20 - at_16 > 2.0 * (at_16 - at_12), "{at_12} {at_16} {at_20}");
}

#[test]
fn without_preference_for_contextless_spaces_the_cliff_is_at_20_megabytes() {
    let fifo = setup("sparcstation1", "old", &[("victim", "fifo")]);
    let old = setup("sparcstation1", "old", &[]);
    let faults = |setup, megabytes| fastest(setup, &vmtest(megabytes, 2), 3).translation_faults;
    assert!(faults(&fifo, 18) * 3 < faults(&old, 18));
    assert!(faults(&fifo, 20) > 5 * faults(&fifo, 18));
}

#[test]
fn exact_recency_would_have_made_a_slope_of_the_cliff() {
    let lru = setup("sparcstation1", "old", &[("victim", "lru-visit")]);
    let at_32 = seconds(fastest(&lru, &vmtest(32, 2), 3).elapsed_ns);
    assert!((40.0..600.0).contains(&at_32), "{at_32}");
}

#[test]
fn without_jitter_the_parent_locks_to_the_scheduler() {
    let times = |jitter| {
        let setup = setup("sparcstation1", "old", &[("jitter", jitter)]);
        [20, 26, 32].map(|megabytes| simulate(&setup, &vmtest(megabytes, 2), 1).elapsed_ns)
    };
    let (locked, usual) = (times("0"), times("500"));
    let is_far = |(locked, usual): (&u64, &u64)| *locked > 3 * usual;
    assert!(locked.iter().zip(&usual).any(is_far), "{locked:?} {usual:?}");
}

#[test]
fn the_same_seed_is_the_same_outcome() {
    let setup = setup("sparcstation1", "old", &[]);
    let first = simulate(&setup, &vmtest(20, 2), 7);
    assert_eq!(simulate(&setup, &vmtest(20, 2), 7), first);
    assert_ne!(simulate(&setup, &vmtest(20, 2), 8), first);
}
