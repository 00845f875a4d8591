//! Processes: forking workers that die with their parent, waiting, signals, resource usage.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, setsid, waitpid,
};

use crate::done;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(out, "ended with code {code}"),
            Self::Signal(number) => write!(out, "ended by signal {number}"),
        }
    }
}

/// Forks a child that runs `body` and exits with its code, or with 101 if it panics.
///
/// The child is killed when this process dies, and has default signal handlers. Fails when this
/// process has more than one thread (a fork would copy locks in unknown states) or `/proc` does not
/// show how many, and when the kernel refuses (process limit, memory).
pub fn fork_child(body: impl FnOnce() -> i32) -> io::Result<u32> {
    has_one_thread(Path::new("/proc/self/task"))?;
    let parent = std::process::id();
    // SAFETY: with exactly one thread the child owns a consistent copy of everything; it leaves
    // through _exit, without the parent's destructors or frames.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(explained(io::Error::last_os_error()));
    }
    if pid > 0 {
        return Ok(pid as u32);
    }
    if die_with_parent(parent).is_err() {
        exit_now(125);
    }
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE, libc::SIGCHLD] {
        // Rust itself ignores SIGPIPE; what a user has ignored (nohup) stays so.
        if signal == libc::SIGPIPE || !is_ignored(signal) {
            // SAFETY: restores the default disposition; no handler of ours runs in the child.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
    exit_now(code);
}

/// Whether this process ignores a signal, as it was started to (nohup(1), `trap ''`), so that it must
/// not be caught.
pub fn is_ignored(number: i32) -> bool {
    // SAFETY: all bytes zero is a valid `sigaction`, which the call only fills.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        let code = libc::sigaction(number, std::ptr::null(), &raw mut now);
        code == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

pub(crate) fn has_one_thread(tasks: &Path) -> io::Result<()> {
    let count = std::fs::read_dir(tasks).map_err(|error| {
        let text = format!("fork refused: the threads in {} are unknown: {error}", tasks.display());
        io::Error::new(error.kind(), text)
    })?;
    match count.count() {
        1 => Ok(()),
        _ => Err(io::Error::other("fork refused: this process has more than one thread")),
    }
}

/// Adds a way out to a refused fork: the system only says "temporarily unavailable".
fn explained(error: io::Error) -> io::Error {
    if error.raw_os_error() != Some(libc::EAGAIN) {
        return error;
    }
    let text = format!("{error}: no more processes are allowed; raise `ulimit -u` or pids.max");
    io::Error::new(error.kind(), text)
}

/// Ends this process at once, without destructors.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches nothing of ours.
    unsafe { libc::_exit(code) }
}

/// Asks the kernel to kill this process when `parent` dies (`PR_SET_PDEATHSIG`). Never allocates,
/// so it may be called between fork and exec. Fails when the parent is dead, or the kernel refuses.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid() {
        Some(now) if now.as_raw_nonzero().get() as u32 == parent => Ok(()),
        _ => Err(Errno::SRCH.into()),
    }
}

/// Gives this thread real-time priority (`SCHED_RR`, sched(7)) and access to the kernel's memory
/// reserve. Its children are ordinary again. Fails without `CAP_SYS_NICE`.
pub fn become_urgent() -> io::Result<()> {
    // SAFETY: all bytes zero is a valid `sched_param`.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // musl refuses its function of this name, as POSIX means a process and Linux a thread.
    // SAFETY: `param` outlives the call, which only reads it.
    let outcome =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const param) };
    done(outcome as libc::c_int)
}

/// Starts a program in a group of its own that is killed when the calling *thread* ends.
pub fn spawn_bound(command: &mut Command) -> io::Result<Child> {
    command.process_group(0);
    spawn_bound_in_group(command)
}

/// Starts a program that is killed when the calling *thread* ends, in this process's own group: it
/// can read the terminal and gets its signals. Fails as [`Command::spawn`].
pub fn spawn_bound_in_group(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure calls only prctl and getppid, which are
    // async-signal-safe; its errors allocate nothing.
    unsafe { command.pre_exec(move || die_with_parent(parent)) };
    command.spawn().map_err(explained)
}

/// A program that is killed, and waited for, when this is dropped.
#[derive(Debug)]
pub struct KilledOnDrop(pub Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // Does nothing to a process that was waited for already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program in a session of its own that outlives this process.
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    // SAFETY: the closure calls only setsid, which is async-signal-safe.
    unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
    command.spawn().map_err(explained)
}

/// A program and its arguments, prepared so that starting it allocates nothing.
#[derive(Debug)]
pub struct Program {
    strings: Vec<CString>,
}

impl Program {
    /// Prepares a program and its arguments, its name first, if none holds a NUL byte.
    pub fn new(path: &Path, arguments: &[&str]) -> io::Result<Self> {
        let mut strings = vec![CString::new(path.as_os_str().as_bytes())?];
        for argument in arguments {
            strings.push(CString::new(*argument)?);
        }
        Ok(Self { strings })
    }

    /// Forks and executes the program with `output` as its standard output and error and no
    /// environment; it dies with this process. Fails when the fork is refused; a failed execution
    /// ends with code 127.
    pub fn start(&self, output: BorrowedFd<'_>) -> io::Result<u32> {
        let mut pointers = [std::ptr::null(); 8];
        for (to, from) in pointers[..7].iter_mut().zip(&self.strings[1..]) {
            *to = from.as_ptr();
        }
        let environment: [*const libc::c_char; 1] = [std::ptr::null()];
        let parent = std::process::id();
        let output = output.as_raw_fd();
        // SAFETY: between fork and exec the child calls only async-signal-safe functions on memory
        // prepared before the fork, so other threads do no harm.
        unsafe {
            let pid = libc::fork();
            if pid < 0 {
                return Err(io::Error::last_os_error());
            }
            if pid > 0 {
                return Ok(pid as u32);
            }
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0);
            if libc::getppid() as u32 == parent {
                libc::dup2(output, 1);
                libc::dup2(output, 2);
                libc::execve(self.strings[0].as_ptr(), pointers.as_ptr(), environment.as_ptr());
            }
            libc::_exit(127)
        }
    }
}

/// Waits for a child; fails if there is none. Without `block`, `None` while it runs.
pub fn wait(pid: u32, block: bool) -> io::Result<Option<Exit>> {
    Ok(wait_for(Some(process(pid)?), block)?.map(|(_, exit)| exit))
}

/// Kills children, all at once, and waits for them. Fails with the first error, after trying all.
pub fn end(pids: impl IntoIterator<Item = u32>) -> io::Result<()> {
    let pids: Vec<u32> = pids.into_iter().collect();
    let killed = pids.iter().map(|pid| signal(*pid, libc::SIGKILL)).collect::<Vec<_>>();
    // A child that could not be killed may run forever: it is not waited for.
    let ended = pids.iter().zip(killed);
    let waited = ended.map(|(pid, killed)| killed.and_then(|()| wait(*pid, true).map(drop)));
    waited.collect::<Vec<_>>().into_iter().collect()
}

/// Waits for any child, if there is one, and takes it; without `block`, `None` while all run.
pub fn wait_any(block: bool) -> io::Result<Option<(u32, Exit)>> {
    wait_for(None, block)
}

fn wait_for(pid: Option<Pid>, block: bool) -> io::Result<Option<(u32, Exit)>> {
    let options = if block { WaitOptions::empty() } else { WaitOptions::NOHANG };
    let ended = rustix::io::retry_on_intr(|| waitpid(pid, options))?;
    Ok(ended.map(|(pid, status)| (pid.as_raw_nonzero().get() as u32, exit_of(status.as_raw()))))
}

pub(crate) fn exit_of(status: libc::c_int) -> Exit {
    match libc::WIFSIGNALED(status) {
        true => Exit::Signal(libc::WTERMSIG(status)),
        false => Exit::Code(libc::WEXITSTATUS(status)),
    }
}

pub(crate) fn process(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("no such process id"))
}

/// Sends a signal to a process, if there is one. Fails for another user's, or an invalid number.
pub fn signal(pid: u32, number: i32) -> io::Result<()> {
    send(pid, number, kill_process)
}

/// Sends a signal to a process group, if there is one. Fails as [`signal`].
pub fn signal_group(group: u32, number: i32) -> io::Result<()> {
    match group {
        1 => Err(io::Error::other("no such process group")),
        _ => send(group, number, kill_process_group),
    }
}

fn send(pid: u32, number: i32, kill: fn(Pid, Signal) -> Result<(), Errno>) -> io::Result<()> {
    let signal = Signal::from_named_raw(number).ok_or(Errno::INVAL)?;
    match kill(process(pid)?, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Numbers of the signals that thrashlab sends or hears.
pub mod signals {
    pub use libc::{SIGCHLD as CHILD, SIGCONT as CONT, SIGHUP as HANGUP, SIGINT as INT};
    pub use libc::{SIGKILL as KILL, SIGSTOP as STOP, SIGTERM as TERM, SIGTTIN as TTIN};
}

/// What the kernel accounts to a process (`getrusage(2)`): the numbers of [`Usage::NAMES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage(pub [u64; Usage::NAMES.len()]);

impl Usage {
    /// Names of the numbers; switches are voluntary or not, and blocks have 512 bytes.
    pub const NAMES: [&str; 8] = [
        "user_ns",
        "system_ns",
        "minor_faults",
        "major_faults",
        "voluntary_switches",
        "involuntary_switches",
        "read_blocks",
        "written_blocks",
    ];

    /// CPU time in user mode and in the kernel, in ns.
    pub fn cpu_ns(&self) -> u64 {
        self.0[0] + self.0[1]
    }

    /// Page faults that waited for I/O.
    pub fn major_faults(&self) -> u64 {
        self.0[3]
    }

    /// What was used after `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self(std::array::from_fn(|number| self.0[number].saturating_sub(before.0[number])))
    }

    pub(crate) fn from_raw(raw: &libc::rusage) -> Self {
        let nanoseconds =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self([
            nanoseconds(raw.ru_utime),
            nanoseconds(raw.ru_stime),
            raw.ru_minflt as u64,
            raw.ru_majflt as u64,
            raw.ru_nvcsw as u64,
            raw.ru_nivcsw as u64,
            raw.ru_inblock as u64,
            raw.ru_oublock as u64,
        ])
    }

    fn read(who: libc::c_int) -> Self {
        // SAFETY: rusage is plain integers, for which all zeroes is valid; the call fills it.
        let raw = unsafe {
            let mut raw: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut raw);
            raw
        };
        Self::from_raw(&raw)
    }
}

/// The usage of this process so far (`RUSAGE_SELF`).
pub fn usage() -> Usage {
    Usage::read(libc::RUSAGE_SELF)
}

/// The usage of this process and all its dead children, and theirs (`RUSAGE_CHILDREN`).
pub fn all_usage() -> Usage {
    let children = Usage::read(libc::RUSAGE_CHILDREN).0;
    let own = usage().0;
    Usage(std::array::from_fn(|number| own[number].saturating_add(children[number])))
}

/// How many CPUs this process may run on.
pub fn usable_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Forks `count` children one after the other, each of which exits at once and is waited for. Fails as
/// [`fork_child`].
pub fn fork_many(count: u32) -> io::Result<()> {
    has_one_thread(Path::new("/proc/self/task"))?;
    for _ in 0..count {
        // SAFETY: this thread is the only one and starts none here; the child only exits.
        let pid = unsafe { libc::fork() };
        match u32::try_from(pid) {
            Ok(0) => exit_now(0),
            Ok(child) => drop(wait(child, true)?),
            Err(_) => return Err(explained(io::Error::last_os_error())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_process_with_threads_is_not_forked() {
        let keep = std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(200)));
        assert!(fork_child(|| 0).is_err());
        keep.join().unwrap();
    }

    #[test]
    fn a_process_whose_threads_are_unknown_is_not_forked() {
        let error = has_one_thread(Path::new("/nonexistent/task")).unwrap_err().to_string();
        assert!(error.contains("fork refused: the threads in /nonexistent/task"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(has_one_thread(empty.path()).is_err(), "a process has a thread");
    }

    #[test]
    fn a_program_that_cannot_be_executed_ends_with_127() {
        let program = Program::new(Path::new("/nonexistent/x"), &["x"]).unwrap();
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        let pid = program.start(std::os::fd::AsFd::as_fd(&null)).unwrap();
        assert_eq!(wait(pid, true).unwrap(), Some(Exit::Code(127)));
    }
}
