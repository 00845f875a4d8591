//! Why the slow responses under each load were slow.

use std::collections::BTreeMap;

use crate::explained::{Account, Explained, Part, explain_run};
use model::{Run, SampleRecord};
use serde::Serialize;

/// Counters of a sample that tell more about it: name, source, names of what is added up; of two
/// with one name the later one, if it is there. Those of the machine are of everybody, those of the
/// group of load and probe together.
const COUNTERS: [(&str, &str, &[&str]); 14] = [
    // A sample that was given up has no usage of its own.
    ("major_faults", "task_stat", &["majflt"]),
    ("minor_faults", "task_stat", &["minflt"]),
    ("major_faults", "rusage", &["major_faults"]),
    ("minor_faults", "rusage", &["minor_faults"]),
    ("swap_in_reads", "taskstats", &["swapin_count"]),
    ("io_waits", "taskstats", &["blkio_count"]),
    ("machine_swapped_in_pages", "vmstat", &["pswpin"]),
    ("machine_swapped_out_pages", "vmstat", &["pswpout"]),
    ("machine_refaults", "vmstat", &["workingset_refault_anon", "workingset_refault_file"]),
    (
        "machine_allocation_stalls",
        "vmstat",
        &["allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable"],
    ),
    // A task that finds memory nearly used up waits for kswapd; no counter of a task has that wait.
    ("machine_throttled_reclaimers", "vmstat", &["pgscan_direct_throttle"]),
    ("machine_compaction_stalls", "vmstat", &["compact_stall"]),
    ("group_refaults", "memcg", &["workingset_refault_anon", "workingset_refault_file"]),
    ("group_major_faults", "memcg", &["pgmajfault"]),
];

/// The slow responses under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhySlow {
    /// The load.
    pub load: String,
    /// How many responses there were.
    pub responses: usize,
    /// A response is slow if it took longer than this, in ns.
    pub limit_ns: f64,
    /// The slow ones together, part by part.
    pub slow: Account,
    /// The share of their delay that is explained, from 0 to 1; `None` if none is slow.
    pub explained: Option<f64>,
    /// The slow ones, the slowest first.
    pub worst: Vec<WorstSample>,
}

/// One slow response.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstSample {
    /// The run that it is from.
    pub run_id: String,
    /// The run's seed.
    pub seed: u64,
    /// Its number in the run, from 0.
    pub index: u32,
    /// Whether it was given up, so that the delay is a lower bound.
    pub censored: bool,
    /// Its delay, part by part.
    #[serde(flatten)]
    pub explained: Explained,
    /// What happened meanwhile, by name; what was not counted is absent.
    pub counters: BTreeMap<String, u64>,
}

impl WhySlow {
    /// Explains the responses that took longer than `limit_ns`; `None` if all are histograms.
    pub(super) fn new(load: &str, runs: &[&Run], limit_ns: f64) -> Option<Self> {
        let mut worst = Vec::new();
        let mut responses = 0;
        for run in runs {
            let Some(header) = &run.header else { continue };
            for (sample, explained) in explain_run(run) {
                responses += 1;
                if explained.delay_ns as f64 > limit_ns {
                    worst.push(WorstSample {
                        run_id: header.run_id.clone(),
                        seed: header.spec.seed,
                        index: sample.index,
                        censored: sample.completed_ns.is_none(),
                        explained,
                        counters: counters(sample),
                    });
                }
            }
        }
        if responses == 0 {
            return None;
        }
        worst.sort_by_key(|sample| std::cmp::Reverse(sample.explained.delay_ns));
        let slow = Account::of(worst.iter().map(|sample| &sample.explained));
        let explained = slow.explained_share();
        Some(Self { load: load.to_owned(), responses, limit_ns, slow, explained, worst })
    }

    /// Whether anything but the remainder was counted.
    pub fn has_sources(&self) -> bool {
        let unsourced = [Part::MissedStart, Part::Remainder];
        self.slow.parts_ns.iter().any(|(part, ns)| ns.is_some() && !unsourced.contains(part))
    }
}

fn counters(sample: &SampleRecord) -> BTreeMap<String, u64> {
    let difference = |source: &str, name: &str| {
        let after = sample.after.get(source)?.get(name)?;
        after.checked_sub(*sample.before.get(source)?.get(name)?)
    };
    let found = COUNTERS.iter().filter_map(|(name, source, summands)| {
        // A kernel has some of them only: no zone of this name, no such kind of refault.
        let known = summands.iter().filter_map(|summand| difference(source, summand));
        Some(((*name).to_owned(), known.reduce(u64::saturating_add)?))
    });
    found.collect()
}
