//! `provoke-page-tables`: many processes map the same shared memory, over and over.

use sys::memory::Mapping;
use sys::process::{fork_child, wait_any};

use super::{counted, has_passed, percent, provocation, turns};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

const SHARED_BYTES: u64 = 16 << 20;
const PROCESSES: u64 = 32;
const WARM_PASSES: u64 = 1;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-page-tables",
    about: "32 processes map 16 MiB of shared memory page by page (at 0 they keep it mapped)",
    is_warm: |progress| {
        has_passed(progress, "shared_bytes", WARM_PASSES * progress.plan.param("processes"))
    },
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    setting.needs_memory(2 * SHARED_BYTES)?;
    Ok(Plan::new(
        1,
        [
            ("processes", PROCESSES),
            ("shared_bytes", SHARED_BYTES),
            ("mapped_anew_percent", percent(setting.intensity)),
        ],
    ))
}

/// The worker prepares the memory and forks the processes, which die with it.
fn work(worker: &Worker<'_>) -> Endless {
    let shared = Mapping::shared(worker.plan.param("shared_bytes") as usize)
        .map_err(at("map shared memory"))?;
    shared.touch(page_bytes(), 1);
    for _ in 0..worker.plan.param("processes") {
        fork_child(|| attend(worker, &shared)).map_err(at("fork a process"))?;
    }
    let ended = wait_any(true);
    let error = ended.map_or_else(|error| error, |_| std::io::Error::other("a process has ended"));
    Err(at("keep the processes")(error))
}

fn attend(worker: &Worker<'_>, shared: &Mapping) -> i32 {
    let pages = (shared.size_bytes() / page_bytes()) as u64;
    let mut is_turn = turns(worker.plan.param("mapped_anew_percent"));
    loop {
        let pass = || {
            let given_back =
                if is_turn() { shared.give_back(0..shared.size_bytes()) } else { Ok(()) };
            shared.touch(page_bytes(), 1);
            given_back
        };
        if counted(worker, pages, pass).is_err() {
            return 1;
        }
    }
}
