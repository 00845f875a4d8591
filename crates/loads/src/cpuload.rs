//! `cpuload`: one floating-point process more than there are CPUs, each with an array of its own,
//! so that affinity and caches suffer.

use std::convert::Infallible;
use std::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::desc::{
    Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Numbers in each process's array: 256 KiB, about a second-level cache.
const ARRAY_LENGTH: usize = 32 * 1024;
/// CPU time after which the load is warm, per process, in ns.
const WARM_CPU_NS: u64 = 50_000_000;

const CPU_NS: usize = 0;
const PASSES: usize = 1;

pub(crate) const LOAD: Desc = Desc {
    name: "cpuload",
    version: 1,
    about: "CPUs + 1 floating-point processes",
    totals: &["cpu_ns", "passes"],
    dose_unit: "cpu_ns",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    let processes = scaled(setting.cpus() + 1, setting.intensity).max(1);
    Ok(Plan {
        workers: processes as usize,
        params: [
            ("processes".to_owned(), processes),
            ("array_bytes".to_owned(), (ARRAY_LENGTH * 8) as u64),
        ]
        .into(),
        notes: Vec::new(),
    })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let mut random = Pcg64Mcg::seed_from_u64(work.setting.seed ^ work.worker as u64);
    let mut array: Vec<f64> = (0..ARRAY_LENGTH).map(|_| random.random::<f64>()).collect();
    loop {
        for _ in 0..64 {
            for value in &mut array {
                *value = (*value * 1.000_000_1 + 0.5).sqrt();
            }
            black_box(&mut array);
        }
        work.board.add(work.worker, PASSES, 64);
        let usage = sys::process::usage();
        work.board.set(work.worker, CPU_NS, usage.user_ns + usage.system_ns);
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(CPU_NS) >= WARM_CPU_NS * progress.plan.workers as u64
}

/// Intended: all CPU bandwidth used, or every process on a CPU of its own where there are fewer.
fn dose(progress: &Progress<'_>) -> Dose {
    let busy_milli = (1000 * progress.plan.workers as u64).min(progress.setting.cpus_milli);
    let intended = progress.elapsed_ns as f64 * busy_milli as f64 / 1000.0;
    Dose { intended: intended as u64, delivered: progress.total(CPU_NS) }
}
