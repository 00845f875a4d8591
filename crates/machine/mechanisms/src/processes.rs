//! Mechanisms of processes and threads: system calls, forks, switches, pipes.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use rustix::process::getppid;
use sys::process::{fork_child, fork_many, wait};

/// Times `count` repetitions of what `once` does; returns the time of one in ns.
pub(crate) fn timed(count: u32, mut once: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let begun = Instant::now();
    for _ in 0..count {
        once()?;
    }
    Ok(per_one(begun, count))
}

/// The time since `begun`, for each of `count`, in ns.
pub(crate) fn per_one(begun: Instant, count: u32) -> f64 {
    begun.elapsed().as_nanos() as f64 / f64::from(count)
}

/// A system call that does next to nothing.
pub(crate) fn syscall(count: u32) -> io::Result<f64> {
    timed(count, || {
        std::hint::black_box(getppid());
        Ok(())
    })
}

/// A child that exits at once. It is forked from a small program: what a fork copies grows with what
/// is mapped.
pub(crate) fn fork(count: u32) -> io::Result<f64> {
    let begun = Instant::now();
    fork_many(count)?;
    Ok(per_one(begun, count))
}

/// A thread that ends at once, with its stack of 64 KiB.
pub(crate) fn thread(count: u32) -> io::Result<f64> {
    timed(count, || {
        let thread = thread::Builder::new().stack_size(64 << 10).spawn(|| ())?;
        thread.join().map_err(|_| io::Error::other("the thread panicked"))
    })
}

/// Half of the way of a byte to another process and back: a write, a wake-up, a switch, a read.
pub(crate) fn switch(count: u32) -> io::Result<f64> {
    let (mut from_parent, mut to_child) = io::pipe()?;
    let (mut from_child, mut to_parent) = io::pipe()?;
    let child = fork_child(|| {
        let echoed = (0..count).try_for_each(|_| handed_on(&mut from_parent, &mut to_parent));
        i32::from(echoed.is_err())
    })?;
    let mut byte = [0];
    let cost_ns = timed(count, || {
        to_child.write_all(&byte)?;
        from_child.read_exact(&mut byte)
    });
    drop(to_child);
    wait(child, true)?;
    Ok(cost_ns? / 2.0)
}

fn handed_on(from: &mut PipeReader, to: &mut PipeWriter) -> io::Result<()> {
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    to.write_all(&byte)
}

/// Half of the way to another thread and back: a thread unparks another one and parks itself, which
/// are calls of `futex(2)`.
pub(crate) fn futex(count: u32) -> io::Result<f64> {
    let (to_other, at_other) = mpsc::sync_channel::<()>(0);
    let (to_this, at_this) = mpsc::sync_channel::<()>(0);
    let gone = |_| io::Error::other("the other thread ended");
    let other = thread::spawn(move || at_other.iter().try_for_each(|()| to_this.send(())));
    let cost_ns = timed(count, || {
        to_other.send(()).map_err(|_| io::Error::other("the other thread ended"))?;
        at_this.recv().map_err(gone)
    });
    drop(to_other);
    let _ = other.join();
    Ok(cost_ns? / 2.0)
}

/// A page written into a pipe and read from it, without another process.
pub(crate) fn pipe(count: u32) -> io::Result<f64> {
    let (mut reader, mut writer) = io::pipe()?;
    let mut page = [7; 4096];
    timed(count, || {
        writer.write_all(&page)?;
        reader.read_exact(&mut page)
    })
}
