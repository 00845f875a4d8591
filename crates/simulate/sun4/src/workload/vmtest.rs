//! Irlam's `vmtest` and what ran at the same time.
//!
//! The parent touches its segment so that all pages exist, forks, and then looks every 40 ms for
//! children that have ended. A child steps through the segment `loops` times. The touched pages of
//! library and linker are inferred from the faults of the smallest rows of Irlam's table: 612
//! before the first child, 583 for each child, of which 512 are the segment's.

use jobs::VmtestPlan;

use super::image::{Image, Library, Shape};
use crate::program::{Program, Scene, Start, Step};
use crate::setup::Setup;
use crate::system::{Daemons, Libraries};

/// The lower half of the address space, without text and room for the heap.
pub(super) const MOST_PROCESS_BYTES: u64 = 500 << 20;

/// Loops of 1990, for a plan that leaves them to calibration.
const LOOPS: u64 = 5000;
const LIBRARY_BYTES: u64 = 440 << 10;
const PAGE: u64 = 8192;
/// Cycles a second of the daemons of a machine on a network: 3 % of 20 MHz. Irlam's rows of 4 to 12
/// MB with the new layer, not taken in single-user mode, are this much slower than with the old
/// one.
const DAEMON_CYCLES: u64 = 600_000;

/// Lays out a program with this much memory of its own.
fn image(setup: &Setup, file: u32, heap_bytes: u64) -> Result<Image, String> {
    let library = Library {
        file: LIBRARY,
        text_bytes: LIBRARY_BYTES,
        data_bytes: 2 * PAGE,
        used_bytes: LIBRARY_BYTES,
    };
    let is_shared = setup.system.libraries == Libraries::Shared;
    let shape = Shape {
        file,
        text_bytes: PAGE,
        data_bytes: PAGE,
        heap_bytes: heap_bytes.max(PAGE),
        stack_bytes: 2 * PAGE,
        // A static program would link an unknown, small part of it.
        libraries: is_shared.then_some(library).into_iter().collect(),
        ..Shape::default()
    };
    Image::new(setup, &shape)
}

fn text(image: &Image) -> Step {
    image.touch([image.text.start], false, 1)
}

/// Touches of library pages, evenly spread.
fn library(image: &Image, pages: u64) -> Step {
    let apart = LIBRARY_BYTES / pages;
    let places = image.library.first().into_iter();
    image.touch(places.flat_map(|first| (0..pages).map(move |page| first + page * apart)), false, 1)
}

/// The start of a program, with linking.
fn begin(image: &Image) -> Vec<Step> {
    vec![Step::Exec, text(image), image.link(), library(image, 40), write(image)]
}

/// Writing the stack and the data of program and library.
fn write(image: &Image) -> Step {
    let data = image.data.iter().map(|data| data.start);
    image.touch([image.stack.end - 1].into_iter().chain(data), true, 1)
}

/// The programs of a run of `vmtest`, with its shell and the daemons.
pub(super) fn scene(plan: &VmtestPlan, setup: &Setup) -> Result<Scene, String> {
    let vmtest = image(setup, VMTEST, plan.process_bytes)?;
    let small = |file| image(setup, file, 0);
    let programs = vec![
        parent(plan, &vmtest),
        child(plan, &vmtest),
        waiter("sh", &small(SHELL)?, 3),
        waiter("time", &small(TIME)?, 0),
        daemon("update", &small(UPDATE)?, 30_000_000_000, 0),
        daemon("daemon", &small(DAEMON)?, 1_000_000_000, DAEMON_CYCLES),
    ];
    let start = |program, at_ns, is_awaited| Start { program, at_ns, is_awaited };
    let mut starts = vec![start(2, 0, true), start(4, 0, false)];
    if setup.system.daemons == Daemons::Multi {
        starts.push(start(5, 0, false));
    }
    Ok(Scene { programs, starts })
}

/// Files whose text is mapped, besides the linker's 1.
const LIBRARY: u32 = 0;
const VMTEST: u32 = 2;
const SHELL: u32 = 3;
const TIME: u32 = 4;
const UPDATE: u32 = 5;
const DAEMON: u32 = 6;

fn parent(plan: &VmtestPlan, image: &Image) -> Program {
    let mut steps = begin(image);
    steps.push(image.touch(heap(plan, image), true, 1));
    steps.extend([Step::Fork(1), write(image), Step::Again(2, plan.processes.saturating_sub(1))]);
    steps.extend([
        Step::Sleep(plan.look_ns),
        text(image),
        library(image, 2),
        write(image),
        Step::Look(4),
    ]);
    steps.push(library(image, 8));
    image.program("vmtest", true, steps)
}

fn child(plan: &VmtestPlan, image: &Image) -> Program {
    let loops = if plan.loops == 0 { LOOPS } else { plan.loops };
    let steps = vec![
        text(image),
        library(image, 12),
        write(image),
        image.touch(heap(plan, image), false, loops),
        library(image, 40),
        write(image),
    ];
    image.program("vmtest", true, steps)
}

/// Addresses that a process touches.
fn heap(plan: &VmtestPlan, image: &Image) -> impl Iterator<Item = u64> {
    let start = image.heap.start;
    (start..start + plan.process_bytes).step_by((plan.step_bytes as usize).max(1))
}

/// A program that waits for a child.
fn waiter(name: &str, image: &Image, child: usize) -> Program {
    let mut steps = begin(image);
    steps.extend([Step::Fork(child), Step::Wait, text(image), library(image, 4), write(image)]);
    image.program(name, false, steps)
}

/// A program that computes periodically.
fn daemon(name: &str, image: &Image, period_ns: u64, cycles: u64) -> Program {
    let mut steps = begin(image);
    steps.extend([
        Step::Sleep(period_ns),
        text(image),
        library(image, 2),
        write(image),
        Step::Compute(cycles),
        Step::Again(5, u64::MAX),
    ]);
    image.program(name, false, steps)
}

#[cfg(test)]
#[path = "vmtest_tests.rs"]
mod tests;
