//! Processes: forking workers that die with their parent, waiting, signals, resource usage.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, setsid, waitid, waitpid,
};

use crate::clock::timespec;
use crate::done;

/// Longest time between two checks of a child, in ns.
const LOOK_NS: u64 = 1_000_000_000;

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
        // SAFETY: restores the default disposition; no handler of ours runs in the child.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
    exit_now(code);
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
    // SAFETY: `param` outlives the call, which only reads it.
    done(unsafe { libc::sched_setscheduler(0, policy, &raw const param) })
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

fn exit_of(status: libc::c_int) -> Exit {
    match libc::WIFSIGNALED(status) {
        true => Exit::Signal(libc::WTERMSIG(status)),
        false => Exit::Code(libc::WEXITSTATUS(status)),
    }
}

fn process(pid: u32) -> io::Result<Pid> {
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
    pub use libc::{SIGKILL as KILL, SIGSTOP as STOP, SIGTERM as TERM};
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

    fn from_raw(raw: &libc::rusage) -> Self {
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

/// A child that ended, from `wait4(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// What it and its own reaped children used.
    pub usage: Usage,
    /// Largest resident memory of any one of these processes, in bytes.
    pub peak_bytes: u64,
}

/// Waits for a child until the monotonic clock reads `until_ns`; `None` if it still runs. Meanwhile
/// `read` is called whenever one of `outputs` can be read. Fails without such a child.
///
/// With other threads it may notice the end up to a second late.
pub fn wait_usage(
    pid: u32,
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    read: impl FnMut(),
) -> io::Result<Option<Ended>> {
    wait_for_child(until_ns, outputs, read, || reap(pid))
}

/// Waits like [`wait_usage`], but leaves a child that ended as a zombie, so that its files in
/// `/proc` can be read before [`wait_usage`] reaps it. Whether it ended.
pub fn wait_end(
    pid: u32,
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    read: impl FnMut(),
) -> io::Result<bool> {
    let id = process(pid)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let look = || Ok(rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), options))?);
    Ok(wait_for_child(until_ns, outputs, read, look)?.is_some())
}

/// Looks whenever a child ended, until the look finds something or the time has come.
fn wait_for_child<T>(
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    mut read: impl FnMut(),
    look: impl Fn() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let child = SignalSet::containing(libc::SIGCHLD);
    // Blocked before the first check, so that no later signal is lost.
    child.change(libc::SIG_BLOCK)?;
    let outcome = child.descriptor().and_then(|signals| {
        loop {
            if let Some(found) = look()? {
                return Ok(Some(found));
            }
            let left_ns = until_ns.saturating_sub(crate::clock::monotonic_ns());
            if left_ns == 0 {
                return Ok(None);
            }
            let mut ready = vec![PollFd::new(&signals, PollFlags::IN)];
            ready.extend(outputs.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
            // After an interrupted poll the child is looked at again.
            let _ = poll(&mut ready, Some(&timespec(left_ns.min(LOOK_NS))));
            let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
            if is_ready(&ready[0]) {
                // Takes the signal, as a handler would.
                let _ = rustix::io::read(&signals, &mut [0; size_of::<libc::signalfd_siginfo>()]);
            }
            if ready[1..].iter().any(is_ready) {
                read();
            }
        }
    });
    child.change(libc::SIG_UNBLOCK)?;
    outcome
}

fn reap(pid: u32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: rusage is plain integers, for which all zeroes is valid; the call fills both.
    let (got, raw) = unsafe {
        let mut raw: libc::rusage = std::mem::zeroed();
        let got = libc::wait4(pid as libc::pid_t, &raw mut status, libc::WNOHANG, &raw mut raw);
        (got, raw)
    };
    match got {
        0 => Ok(None),
        got if got > 0 => Ok(Some(Ended {
            exit: exit_of(status),
            usage: Usage::from_raw(&raw),
            // In KiB: getrusage(2).
            peak_bytes: (raw.ru_maxrss as u64).saturating_mul(1024),
        })),
        _ => Err(io::Error::last_os_error()),
    }
}

struct SignalSet(libc::sigset_t);

impl SignalSet {
    fn containing(number: i32) -> Self {
        // SAFETY: sigset_t is plain integers; sigemptyset makes it valid before it is used.
        let set = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, number);
            set
        };
        Self(set)
    }

    fn change(&self, how: libc::c_int) -> io::Result<()> {
        // SAFETY: the set outlives the call, which only reads it; no old mask is requested.
        let code = unsafe { libc::pthread_sigmask(how, &raw const self.0, std::ptr::null_mut()) };
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
    }

    /// Readable while a blocked signal of the set is pending (signalfd(2)).
    fn descriptor(&self) -> io::Result<OwnedFd> {
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the call only reads the set, which outlives it.
        let raw = unsafe { libc::signalfd(-1, &raw const self.0, flags) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and owned by nothing else.
        Ok(unsafe { OwnedFd::from_raw_fd(raw) })
    }
}

/// How many CPUs this process may run on.
pub fn usable_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
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
    fn a_child_is_waited_for_with_what_it_used_but_no_longer_than_allowed() {
        let mut command = Command::new("sleep");
        let start_ns = crate::clock::monotonic_ns();
        let pid = spawn_bound(command.arg("0.3")).unwrap().id();
        assert_eq!(wait_usage(pid, start_ns + 20_000_000, &[], || {}).unwrap(), None);
        assert!(!wait_end(pid, start_ns + 20_000_000, &[], || {}).unwrap());
        assert!(wait_end(pid, start_ns + 60_000_000_000, &[], || {}).unwrap());
        assert!(Path::new(&format!("/proc/{pid}/schedstat")).exists(), "a zombie");
        let ended = wait_usage(pid, start_ns + 60_000_000_000, &[], || {}).unwrap().unwrap();
        assert_eq!(ended.exit, Exit::Code(0));
        assert!(ended.usage.0[2] > 0 && ended.peak_bytes > 4096, "{ended:?}");
        let elapsed_ns = crate::clock::monotonic_ns() - start_ns;
        assert!((300_000_000..20_000_000_000).contains(&elapsed_ns), "{elapsed_ns} ns");
        assert!(wait_usage(pid, 0, &[], || {}).is_err(), "it is gone");
    }

    #[test]
    fn a_program_that_cannot_be_executed_ends_with_127() {
        let program = Program::new(Path::new("/nonexistent/x"), &["x"]).unwrap();
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        let pid = program.start(std::os::fd::AsFd::as_fd(&null)).unwrap();
        assert_eq!(wait(pid, true).unwrap(), Some(Exit::Code(127)));
    }
}
