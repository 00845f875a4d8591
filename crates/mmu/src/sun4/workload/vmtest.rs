//! Irlam's `vmtest` and what ran beside it.
//!
//! The parent begins, touches its segment so that all pages are made, forks, and then looks every
//! 40 ms for children that have ended. A child steps through the segment `loops` times. Where code
//! and data lie is that of a SunOS 4 executable: text from 0x2000, data from 0x4000, libraries
//! below 0xf7800000, the linker and the stack below 0xf8000000. How many pages of the library and
//! the linker are touched is inferred from the faults of the smallest rows of Irlam's table: 612 for
//! everything before the first child, 583 for each child, of which 512 are the segment's.

use std::sync::Arc;

use jobs::VmtestPlan;

use crate::sun4::program::{Backing, Layout, Program, Region, Scene, Start, Step};
use crate::sun4::setup::Setup;
use crate::sun4::system::{Daemons, Libraries};

/// The lower half of the address space, without text and room for the heap.
pub(super) const MOST_PROCESS_BYTES: u64 = 500 << 20;

/// Loops of 1990, for a plan that leaves them to calibration.
const LOOPS: u64 = 5000;
const TEXT: u64 = 0x2000;
const DATA: u64 = 0x4000;
const BLANK: u64 = 0x6000;
const LIBRARY: u64 = 0xf770_0000;
const LIBRARY_BYTES: u64 = 440 << 10;
const LIBRARY_DATA: u64 = 0xf777_0000;
const LINKER: u64 = 0xf7fc_0000;
const STACK: u64 = 0xf7ff_c000;
const PAGE: u64 = 8192;
/// What the daemons of a machine on a network compute each second: 3 % of 20 MHz. Irlam's rows of 4
/// to 12 MB with the new layer, which were not taken in single-user mode, are so much slower than
/// those with the old one.
const DAEMON_CYCLES: u64 = 600_000;

/// Where the parts of a program lie.
struct Image {
    layout: Arc<Layout>,
    has_library: bool,
}

impl Image {
    fn new(setup: &Setup, own: u32, blank_bytes: u64) -> Self {
        let has_library = setup.system.libraries == Libraries::Shared;
        let region = |start, bytes, backing| Region { start, bytes, backing };
        let mut regions = vec![
            region(TEXT, PAGE, Backing::Text(own)),
            region(DATA, PAGE, Backing::Data),
            region(BLANK, blank_bytes.max(PAGE), Backing::Zero),
            region(STACK, 2 * PAGE, Backing::Zero),
        ];
        if has_library {
            regions.push(region(LIBRARY, LIBRARY_BYTES, Backing::Text(0)));
            regions.push(region(LIBRARY_DATA, 2 * PAGE, Backing::Data));
            regions.push(region(LINKER, 8 * PAGE, Backing::Text(1)));
        }
        // The regions are constants that do not meet, and a plan's segment was checked.
        let layout = Layout::new(setup.machine.page_bytes, regions).unwrap_or_default();
        Self { layout: Arc::new(layout), has_library }
    }

    fn touch(&self, addresses: impl IntoIterator<Item = u64>, is_write: bool) -> Step {
        let path = self.layout.path(addresses, is_write).unwrap_or_default();
        Step::Touch(Arc::new(path), 1)
    }

    /// So many pages of the library, spread over it.
    fn library(&self, pages: u64) -> Step {
        let count = if self.has_library { pages } else { 0 };
        let apart = LIBRARY_BYTES / count.max(1);
        self.touch((0..count).map(|page| LIBRARY + page * apart), false)
    }

    /// What a program does before its own code: linking.
    fn begin(&self) -> Vec<Step> {
        let linker = if self.has_library { 12 } else { 0 };
        vec![
            self.touch([TEXT], false),
            self.touch((0..linker).map(|page| LINKER + page * 4096), false),
            self.library(40),
            self.write(),
        ]
    }

    /// Writing the stack and the data of program and library.
    fn write(&self) -> Step {
        let library = self.has_library.then_some(LIBRARY_DATA);
        self.touch([STACK + PAGE, DATA].into_iter().chain(library), true)
    }
}

/// The programs of a run of `vmtest`, with the shell and the daemons beside it.
pub(super) fn scene(plan: &VmtestPlan, setup: &Setup) -> Scene {
    let image = Image::new(setup, VMTEST, plan.process_bytes);
    let waiter = |name: &str, own, child| waiter(name, &Image::new(setup, own, 0), child);
    let programs = vec![
        parent(plan, &image),
        child(plan, &image),
        waiter("sh", SHELL, 3),
        waiter("time", TIME, 0),
        daemon("update", &Image::new(setup, UPDATE, 0), 30_000_000_000, 0),
        daemon("daemon", &Image::new(setup, DAEMON, 0), 1_000_000_000, DAEMON_CYCLES),
    ];
    let start = |program, at_ns, is_awaited| Start { program, at_ns, is_awaited };
    let mut starts = vec![start(2, 0, true), start(4, 0, false)];
    if setup.system.daemons == Daemons::Multi {
        starts.push(start(5, 0, false));
    }
    Scene { programs, starts }
}

/// Files whose text is mapped, beside the library's 0 and the linker's 1.
const VMTEST: u32 = 2;
const SHELL: u32 = 3;
const TIME: u32 = 4;
const UPDATE: u32 = 5;
const DAEMON: u32 = 6;

fn program(name: &str, image: &Image, is_measured: bool, steps: Vec<Step>) -> Program {
    let resume = match image.touch([STACK + PAGE], true) {
        Step::Touch(path, _) => path.visits.first().copied(),
        _ => None,
    };
    Program { name: name.to_owned(), layout: Arc::clone(&image.layout), resume, steps, is_measured }
}

fn parent(plan: &VmtestPlan, image: &Image) -> Program {
    let blank = blank(plan);
    let mut steps = vec![Step::Exec];
    steps.extend(image.begin());
    steps.push(image.touch(blank, true));
    steps.extend([Step::Fork(1), image.write(), Step::Again(2, plan.processes.saturating_sub(1))]);
    steps.extend([
        Step::Sleep(plan.look_ns),
        image.touch([TEXT], false),
        image.library(2),
        image.write(),
        Step::Look(4),
    ]);
    steps.push(image.library(8));
    program("vmtest", image, true, steps)
}

fn child(plan: &VmtestPlan, image: &Image) -> Program {
    let loops = if plan.loops == 0 { LOOPS } else { plan.loops };
    let mut steps = vec![image.touch([TEXT], false), image.library(12), image.write()];
    if let Step::Touch(path, _) = image.touch(blank(plan), false) {
        steps.push(Step::Touch(path, loops));
    }
    steps.extend([image.library(40), image.write()]);
    program("vmtest", image, true, steps)
}

/// Addresses that a process steps on.
fn blank(plan: &VmtestPlan) -> impl Iterator<Item = u64> {
    let step_bytes = plan.step_bytes as usize;
    (BLANK..BLANK + plan.process_bytes).step_by(step_bytes.max(1))
}

/// A program that begins another and waits for its end.
fn waiter(name: &str, image: &Image, child: usize) -> Program {
    let steps = [
        vec![Step::Exec],
        image.begin(),
        vec![Step::Fork(child), Step::Wait],
        vec![image.touch([TEXT], false), image.library(4), image.write()],
    ];
    program(name, image, false, steps.concat())
}

/// A program that does a little from time to time.
fn daemon(name: &str, image: &Image, period_ns: u64, cycles: u64) -> Program {
    let work = vec![
        Step::Sleep(period_ns),
        image.touch([TEXT], false),
        image.library(2),
        image.write(),
        Step::Compute(cycles),
        Step::Again(5, u64::MAX),
    ];
    let steps = [vec![Step::Exec], image.begin(), work];
    program(name, image, false, steps.concat())
}

#[cfg(test)]
#[path = "vmtest_tests.rs"]
mod tests;
