//! Flushing the TLB of another CPU.

use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sys::clock::monotonic_ns;
use sys::memory::Mapping;

use super::{CPU, Measured, cost, each_ns, page_bytes, refused};

const PIECE: usize = 200;
const PIECES: usize = 20;
/// Longest time next to another thread, in ns: if the other CPU is busy, few batches count.
const LONGEST_NS: u64 = 400_000_000;
/// Interrupts of a batch below which the other thread did not run.
const LEAST_INTERRUPTS: u64 = PIECE as u64 / 8;

/// The extra time of changing a page's protection while another thread runs, per interrupt.
pub(super) fn tlb_shootdown() -> Measured {
    let allowed = sched_getaffinity(None).map_err(|error| format!("read the CPUs: {error}"))?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (Some(own), Some(other)) = (cpus.next(), cpus.next()) else {
        return Err("there is one CPU: no other one to interrupt".to_owned());
    };
    let mapping = Mapping::anonymous(page_bytes()).map_err(refused("map memory"))?;
    mapping.write(0, 1);
    pin(own)?;
    let measured = pieces(&mapping, |pieces| pieces.len() >= PIECES)
        .and_then(|alone| Ok((alone, beside_a_thread(&mapping, other)?)));
    // The measurement is done, so an error does not matter.
    let _ = sched_setaffinity(None, &allowed);
    let (alone, beside) = measured?;
    let alone = cost(alone.iter().map(|piece| piece.each_ns).collect())?;
    let interrupted = beside.iter().filter(|piece| piece.is_interrupted());
    let extra_ns =
        |it: &Piece| (it.each_ns - alone.ns).max(0.0) * PIECE as f64 / it.interrupts as f64;
    let extra = cost(interrupted.map(extra_ns).collect()).map_err(|_| {
        "the other CPU was never interrupted: it is busy, or they are not counted".to_owned()
    })?;
    if extra.ns <= 0.0 {
        return Err("a change takes no longer with another running thread than without".to_owned());
    }
    Ok(extra)
}

struct Piece {
    /// Time of one change in ns.
    each_ns: f64,
    /// Interrupts during the changes.
    interrupts: u64,
}

impl Piece {
    fn is_interrupted(&self) -> bool {
        self.interrupts >= LEAST_INTERRUPTS
    }
}

fn beside_a_thread(mapping: &Mapping, cpu: usize) -> Result<Vec<Piece>, String> {
    let (runs, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .spawn_scoped(scope, || {
                // If refused, the scheduler decides, and the count shows it.
                let _ = pin(cpu);
                runs.store(true, Ordering::Release);
                while !done.load(Ordering::Acquire) {
                    spin_loop();
                }
            })
            .map_err(refused("start a thread"))?;
        while !runs.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let until_ns = monotonic_ns() + LONGEST_NS;
        let pieces = pieces(mapping, |pieces| {
            let interrupted = pieces.iter().filter(|piece| piece.is_interrupted()).count();
            interrupted >= PIECES || monotonic_ns() > until_ns
        });
        done.store(true, Ordering::Release);
        pieces
    })
}

fn pieces(mapping: &Mapping, are_enough: impl Fn(&[Piece]) -> bool) -> Result<Vec<Piece>, String> {
    let change = || -> io::Result<()> {
        mapping.protect(0..page_bytes(), false)?;
        mapping.protect(0..page_bytes(), true)?;
        mapping.write(0, 1);
        Ok(())
    };
    let mut pieces = Vec::new();
    while !are_enough(&pieces) {
        let before = shootdowns()?;
        let (each_ns, outcome) = each_ns(CPU, PIECE, || (0..PIECE).try_for_each(|_| change()));
        outcome.map_err(refused("protect a page"))?;
        pieces.push(Piece { each_ns, interrupts: shootdowns()?.saturating_sub(before) });
    }
    Ok(pieces)
}

fn pin(cpu: usize) -> Result<(), String> {
    let mut own = CpuSet::new();
    own.set(cpu);
    sched_setaffinity(None, &own).map_err(|error| format!("stay on CPU {cpu}: {error}"))
}

fn shootdowns() -> Result<u64, String> {
    let path = "/proc/interrupts";
    let text = std::fs::read_to_string(path).map_err(refused(&format!("read {path}")))?;
    let counts = counters::parse::interrupts(&text).map_err(|error| format!("{path}: {error}"))?;
    let shootdowns = counts.iter().find(|(label, _)| label == "TLB").map(|(_, count)| *count);
    shootdowns.ok_or_else(|| format!("there is no line TLB in {path}"))
}
