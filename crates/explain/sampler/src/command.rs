//! Commands from their start to their end, and running processes for a time.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use profile::SampledProfile;
use sys::perf_rings::Observed;
use sys::process::{signal_group, spawn_bound};

use crate::names::KnownFiles;
use crate::recording::{Options, Recording, SamplerError};
use crate::running::RunningProcess;

/// How often processes are read again because threads of theirs ended meanwhile.
const TRIES: usize = 5;

/// Starts a command in a process group of its own, and observes it and all that it starts until it
/// ends. It dies with this process, and its group is killed when `stopped` is true. Files are read unless they
/// are known. Fails where the kernel does not permit it, and where the command cannot be started.
pub fn profile_command(
    command: &mut Command,
    options: Options,
    files: &mut KnownFiles,
    stopped: &dyn Fn() -> bool,
) -> Result<(SampledProfile, ExitStatus), SamplerError> {
    let mut recording = Recording::of(&Observed::Children, options)?;
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child =
        spawn_bound(command).map_err(|source| SamplerError::Start { program, source })?;
    let status = loop {
        recording.round(false);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stopped() {
            signal_group(child.id(), libc::SIGKILL)?;
        }
    };
    Ok((recording.finish(files)?, status))
}

/// A recording of all processes that the thread which begins it starts from then on, of each from its first
/// program on. Another thread takes the records.
pub struct ChildRecording {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Recording>>,
}

impl Drop for ChildRecording {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl ChildRecording {
    /// Begins. Fails where the kernel does not permit it.
    pub fn begin(options: Options) -> Result<Self, SamplerError> {
        let mut recording = Recording::of(&Observed::Children, options)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                recording.round(false);
            }
            recording
        });
        Ok(Self { is_over, thread: Some(thread) })
    }

    /// Ends, and returns the profile of all threads but those with these names. Fails if the kernel fails.
    pub fn finish(mut self, but: &[&str]) -> Result<SampledProfile, SamplerError> {
        self.is_over.store(true, Ordering::Relaxed);
        let recording = self.thread.take().and_then(|thread| thread.join().ok());
        let died = || io::Error::other("the thread that takes the records died");
        recording.ok_or_else(died)?.finish_without(but, &mut KnownFiles::default())
    }
}

/// Observes running processes and all that they start, for a time or until `stopped`; returns the name
/// of the first, too. It ends early when none of them is there any more. Fails where the kernel does not
/// permit it, and if none of them is there.
pub fn profile_processes(
    pids: &[u32],
    most: Duration,
    options: Options,
    stopped: &dyn Fn() -> bool,
) -> Result<(SampledProfile, String), SamplerError> {
    let (processes, mut recording) = begin(pids, options)?;
    processes.iter().for_each(|process| recording.add(process));
    let is_there = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    while recording.elapsed() < most && !stopped() && pids.iter().any(is_there) {
        recording.round(false);
    }
    let mut threads = processes.iter().flat_map(|process| &process.threads);
    let first = threads.next().map(|(_, name, _)| name.clone());
    let mut profile = recording.finish(&mut KnownFiles::default())?;
    let (all, unread) = (pids.len(), pids.len() - processes.len());
    if unread > 0 {
        let what = "which have ended or may not be read by this user";
        profile.missed.push(format!("{unread} of {all} processes, {what}"));
    }
    Ok((profile, first.unwrap_or_default()))
}

/// Begins to record those processes that are there: some may end while they are read, and threads while
/// their recording begins.
fn begin(pids: &[u32], options: Options) -> Result<(Vec<RunningProcess>, Recording), SamplerError> {
    let mut tries = TRIES;
    loop {
        let read = |pid: &u32| {
            let failed = |source: io::Error| match source.kind() {
                io::ErrorKind::NotFound => SamplerError::NoProcess(*pid),
                _ => SamplerError::Process { pid: *pid, source },
            };
            RunningProcess::read(*pid).map_err(failed)
        };
        let (found, mut missing): (Vec<_>, Vec<_>) = pids.iter().map(read).partition(Result::is_ok);
        let processes: Vec<RunningProcess> = found.into_iter().flatten().collect();
        if processes.is_empty()
            && let Some(Err(error)) = missing.pop()
        {
            return Err(error);
        }
        let threads = processes.iter().flat_map(|process| &process.threads);
        let numbers = threads.map(|(tid, ..)| tid.cast_unsigned()).collect();
        match Recording::of(&Observed::Threads(numbers), options) {
            Err(SamplerError::Ended) if tries > 1 => tries -= 1,
            begun => return begun.map(|recording| (processes, recording)),
        }
    }
}
