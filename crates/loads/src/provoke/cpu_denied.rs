//! `provoke-cpu-denied`: as many processes as the machine has CPUs compute, so that a group with a
//! quota is stopped when it is used up.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use sys::process::usage;

use super::{BUSY_NS, counted};
use crate::desc::{
    Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare,
};

/// CPU time of one operation, about: steps of the computation.
const STEPS: u64 = 200_000;
/// Share of the quota that an intensity of 0 asks for.
const BELOW: f64 = 0.3;
/// CPU time after which the load is warm, for each worker, in ns.
const WARM_CPU_NS: u64 = 100_000_000;

const CPU_NS: usize = 2;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-cpu-denied",
    version: 1,
    about: "a process for each CPU computes all the time (at 0 for less than the quota)",
    totals: &["operations", "busy_ns", "cpu_ns"],
    dose_unit: "busy_ns",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let allowed = setting.cpus_milli as f64 / 1000.0 / workers as f64;
    let below = (BELOW * allowed).min(1.0);
    let duty = below + (1.0 - below) * setting.intensity.min(1.0);
    Ok(Plan {
        workers,
        params: [
            ("processes".to_owned(), workers as u64),
            ("duty_ppm".to_owned(), (duty * 1e6).round() as u64),
        ]
        .into(),
        notes: Vec::new(),
    })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let duty = work.plan.param("duty_ppm") as f64 / 1e6;
    let mut value = work.setting.seed as f64;
    loop {
        // Who has used up a quota is stopped on the way back from a system call, so these are
        // inside.
        let cpu_ns = counted(work, 1, || {
            let before = usage();
            for _ in 0..STEPS {
                value = black_box((value * 1.000_000_1 + 0.5).sqrt());
            }
            let after = usage();
            after.user_ns + after.system_ns - before.user_ns - before.system_ns
        });
        work.board.add(work.worker, CPU_NS, cpu_ns);
        if duty < 1.0 {
            let rest_ns = cpu_ns as f64 * (1.0 / duty - 1.0);
            std::thread::sleep(Duration::from_nanos(rest_ns as u64));
        }
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(CPU_NS) >= WARM_CPU_NS * progress.plan.workers as u64
}

/// Intended: every worker inside an operation for its share of the time.
fn dose(progress: &Progress<'_>) -> Dose {
    let duty = progress.plan.param("duty_ppm") as f64 / 1e6;
    let intended = progress.elapsed_ns as f64 * progress.plan.workers as f64 * duty;
    Dose { intended: intended as u64, delivered: progress.total(BUSY_NS) }
}
