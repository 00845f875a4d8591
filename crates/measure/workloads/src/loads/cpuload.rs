//! `cpuload`: CPUs + 1 floating-point processes with arrays of their own: affinity, caches.

use std::hint::black_box;

use rand::RngExt;

use crate::{Endless, Load, LoadVolume, Plan, Progress, Setting, Work, Worker, Workload, scaled};

/// Numbers in each process's array: 256 KiB, about a second-level cache.
const ARRAY_LENGTH: usize = 32 * 1024;
const WARM_CPU_NS: u64 = 50_000_000;

const CPU_NS: usize = 0;
const PASSES: usize = 1;

pub(crate) const LOAD: Workload = Workload {
    name: "cpuload",
    about: "CPUs + 1 floating-point processes",
    measures: &["cpu_ns", "passes"],
    volume_unit: "cpu_ns",
    is_warm: |progress| progress.since_start(CPU_NS) >= WARM_CPU_NS * progress.plan.workers as u64,
    ..Workload::new(Work::Load(Load::new(plan, work, volume)))
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let processes = scaled(setting.cpus() + 1, setting.intensity).max(1);
    let array_bytes = (ARRAY_LENGTH * size_of::<f64>()) as u64;
    Ok(Plan::new(processes, [("processes", processes), ("array_bytes", array_bytes)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let mut random = worker.random();
    let mut array: Vec<f64> = (0..ARRAY_LENGTH).map(|_| random.random::<f64>()).collect();
    loop {
        for _ in 0..64 {
            for value in &mut array {
                *value = (*value * 1.000_000_1 + 0.5).sqrt();
            }
            black_box(&mut array);
        }
        worker.add(PASSES, 64);
        worker.shared.set(worker.number, CPU_NS, sys::process::usage().cpu_ns());
    }
}

/// Intended: all CPU bandwidth, or one CPU per process if there are fewer processes.
fn volume(progress: &Progress<'_>) -> LoadVolume {
    let busy_milli = (1000 * progress.plan.workers as u64).min(progress.setting.cpus_milli);
    let intended = progress.elapsed_ns as f64 * busy_milli as f64 / 1000.0;
    LoadVolume { intended: intended as u64, delivered: progress.total(CPU_NS) }
}
