//! The causes of slow responses under each load.

use std::collections::BTreeMap;

use model::{Run, SampleRecord};
use serde::Serialize;

use crate::explained::{Account, Explained, explain_run};
use crate::increase;

/// Other counters of a sample: name, source, and summands. Of two with one name the later
/// available one counts. The group's include load and probe.
const COUNTERS: [(&str, &str, &[&str]); 14] = [
    // An abandoned sample has no usage of its own.
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
    // A task waiting for kswapd with memory nearly exhausted; no per-task counter has that wait.
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
    /// Number of responses.
    pub responses: usize,
    /// The longest delay that is not slow, in ns.
    pub limit_ns: f64,
    /// The sum of the slow ones, by part.
    pub slow: Account,
    /// The explained share of their delay, from 0 to 1.
    pub explained: Option<f64>,
    /// The slow ones, slowest first.
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
    /// Whether it is censored, so that the delay is a lower bound.
    pub censored: bool,
    /// Its delay, part by part.
    #[serde(flatten)]
    pub explained: Explained,
    /// Increases of counters during the response, by name.
    pub counters: BTreeMap<String, u64>,
}

impl WhySlow {
    /// Explains delays above `limit_ns`; `None` if all are in histograms.
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
        let slow = Account::from_samples(worst.iter().map(|sample| &sample.explained));
        let explained = slow.explained_share();
        Some(Self { load: load.to_owned(), responses, limit_ns, slow, explained, worst })
    }
}

fn counters(sample: &SampleRecord) -> BTreeMap<String, u64> {
    let found = COUNTERS.iter().filter_map(|(name, source, summands)| {
        // A kernel may have only some of them.
        let of = |summand: &&str| increase(&sample.before, &sample.after, source, summand);
        let known = summands.iter().filter_map(of);
        Some(((*name).to_owned(), known.reduce(u64::saturating_add)?))
    });
    found.collect()
}
