//! The processes that are recorded: whether they live, and how many threads they had.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sys::clock::is_readable;

pub(crate) struct Process {
    /// `None` if it ended before its first reference was read.
    watch: Option<OwnedFd>,
    /// How many programs it has executed before this one.
    pub(crate) image: u64,
    /// The image that `next_thread` counts for.
    counted_image: u64,
    next_thread: u32,
}

/// All recorded processes that are not forgotten.
#[derive(Default)]
pub(crate) struct Processes {
    pub(crate) known: BTreeMap<u32, Process>,
    /// How many processes and threads there were.
    pub(crate) all: u32,
    pub(crate) threads: u32,
}

impl Processes {
    /// Records that a process has a thread.
    pub(crate) fn meet(&mut self, number: u32, pid: u32, image: u64) -> io::Result<()> {
        if let Some(process) = self.known.get_mut(&number) {
            process.image = process.image.max(image);
            return Ok(());
        }
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let watch = match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            Some(Ok(watch)) => Some(watch),
            Some(Err(Errno::SRCH)) | None => None,
            Some(Err(error)) => return Err(error.into()),
        };
        self.known.insert(number, Process { watch, image, counted_image: 0, next_thread: 0 });
        self.all += 1;
        Ok(())
    }

    /// The number of a process's next thread; a program's first thread is 0 again.
    pub(crate) fn next_thread(&mut self, number: u32, image: u64) -> u32 {
        let Some(process) = self.known.get_mut(&number) else { return 0 };
        if image > process.counted_image {
            (process.counted_image, process.next_thread) = (image, 0);
        }
        let thread = process.next_thread;
        process.next_thread += 1;
        self.threads += 1;
        thread
    }

    /// Numbers of processes that have ended, the youngest first: children mostly end before their
    /// parents.
    pub(crate) fn gone(&self) -> Vec<u32> {
        let has_ended =
            |process: &Process| process.watch.as_ref().is_none_or(|watch| is_readable(watch, 0));
        let gone = self.known.iter().rev().filter(|(_, process)| has_ended(process));
        gone.map(|(number, _)| *number).collect()
    }
}
