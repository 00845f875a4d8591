//! `provoke-cpu-denied`: a process for each CPU computes, so that a group exhausts its quota.

use std::hint::black_box;
use std::time::Duration;

use sys::process::usage;

use super::{counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload};

/// Steps of one operation.
const STEPS: u64 = 200_000;
/// Share of the quota that is used at an intensity of 0.
const BELOW: f64 = 0.3;
const WARM_CPU_NS: u64 = 100_000_000;

const CPU_NS: usize = 2;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-cpu-denied",
    about: "a process for each CPU computes all the time (at 0 for less than the quota)",
    measures: &["operations", "busy_ns", "cpu_ns"],
    is_warm: |progress| progress.since_start(CPU_NS) >= WARM_CPU_NS * progress.plan.workers as u64,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let allowed = setting.cpus_milli as f64 / 1000.0 / workers as f64;
    let below = (BELOW * allowed).min(1.0);
    let duty = below + (1.0 - below) * setting.intensity.min(1.0);
    let duty_ppm = (duty * 1e6).round() as u64;
    Ok(Plan::new(workers as u64, [("processes", workers as u64), ("duty_ppm", duty_ppm)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let duty = worker.plan.param("duty_ppm") as f64 / 1e6;
    let mut value = worker.setting.seed as f64;
    loop {
        // The kernel throttles a process when a system call returns, so the calls are timed too.
        let cpu_ns = counted(worker, 1, || {
            let before_ns = usage().cpu_ns();
            for _ in 0..STEPS {
                value = black_box((value * 1.000_000_1 + 0.5).sqrt());
            }
            usage().cpu_ns() - before_ns
        });
        worker.add(CPU_NS, cpu_ns);
        if duty < 1.0 {
            let rest_ns = cpu_ns as f64 * (1.0 / duty - 1.0);
            std::thread::sleep(Duration::from_nanos(rest_ns as u64));
        }
    }
}
