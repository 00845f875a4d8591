//! What the kernel reports about a process: `/proc/PID/stat`, `status` and `schedstat`.

use super::keyed::with_unit;
use super::words::{Word, Words, lines};
use super::{Pairs, ParseError};

/// The counters of `/proc/PID/stat`: their column in proc(5), from 1, and our name.
const COLUMNS: [(usize, &str); 13] = [
    (10, "minflt"),
    (11, "cminflt"),
    (12, "majflt"),
    (13, "cmajflt"),
    (14, "utime_ticks"),
    (15, "stime_ticks"),
    (16, "cutime_ticks"),
    (17, "cstime_ticks"),
    (20, "threads"),
    (22, "starttime_ticks"),
    (23, "vsize_bytes"),
    (24, "rss_pages"),
    (42, "blkio_delay_ticks"),
];

/// Number of the first column after the name (the state).
const FIRST_COLUMN: usize = 3;

/// Since Linux 2.6; later columns may be missing.
const LAST_CERTAIN_COLUMN: usize = 24;

/// Reads `/proc/PID/stat`: page faults, CPU time in ticks of 1/`USER_HZ` s (with `c` those of
/// reaped children), `threads`, `starttime_ticks` (identifies a reused process id), `vsize_bytes`,
/// `rss_pages`, `blkio_delay_ticks` (also 0 without delay accounting).
///
/// The program's name may itself hold parentheses, spaces and newlines, so columns count from the
/// last closing parenthesis. Follows `Documentation/filesystems/proc.rst`, table 1-4. Fails without
/// a name in parentheses, or when a counter's column is missing or no number.
pub fn task_stat(text: &str) -> Result<Pairs, ParseError> {
    if text.trim_ascii().is_empty() {
        return Err(ParseError::empty());
    }
    let no_name = || ParseError::missing(1, "comm");
    let open = text.find('(').ok_or_else(no_name)?;
    Word { text: text[..open].trim_end_matches(' '), line: 1, column: 1 }.number()?;
    let close = text.rfind(')').filter(|close| *close > open).ok_or_else(no_name)?;
    let line = 1 + text[..close].bytes().filter(|byte| *byte == b'\n').count();
    let line_start = text[..close].rfind('\n').map_or(0, |newline| newline + 1);
    let tail = text[close + 1..].trim_end_matches('\n');
    let columns: Vec<Word<'_>> = Words::new(tail, line, close + 1 - line_start).collect();
    // Anything but one letter means that the columns have slipped.
    let state = columns.first().ok_or_else(|| ParseError::missing(line, "state"))?;
    if state.text.len() != 1 || !state.text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(state.unfit("the name of a counter"));
    }
    let mut pairs = Pairs::with_capacity(COLUMNS.len());
    for (number, name) in COLUMNS {
        match columns.get(number - FIRST_COLUMN) {
            Some(word) => pairs.push((name.into(), word.number()?)),
            None if number <= LAST_CERTAIN_COLUMN => return Err(ParseError::missing(line, name)),
            None => break,
        }
    }
    Ok(pairs)
}

/// Reads `/proc/PID/schedstat`: time on a CPU (`run_ns`) and on a run queue (`wait_ns`),
/// and `timeslices`.
///
/// Follows `Documentation/scheduler/sched-stats.rst`. Fails without the three numbers.
pub fn schedstat(text: &str) -> Result<Pairs, ParseError> {
    let (number, line) = lines(text).next().ok_or_else(ParseError::empty)?;
    let mut words = Words::new(line, number, 0);
    let columns = ["run_ns", "wait_ns", "timeslices"].into_iter();
    columns.map(|name| Ok((name.into(), words.number(name)?))).collect()
}

/// The sums of `/proc/PID/sched` that are read, and our names.
const SCHED_SUMS: [(&str, &str); 2] =
    [("sum_block_runtime", "blocked_ns"), ("iowait_sum", "iowait_ns")];

/// Reads `/proc/PID/sched`: time asleep in the kernel where no signal wakes it (`blocked_ns`: for a
/// device, memory, a lock), and the part of it that is for a device (`iowait_ns`).
///
/// Since Linux 5.16, while `kernel.sched_schedstats` is 1 (`Documentation/admin-guide/sysctl/kernel.rst`).
/// Fails without the two sums, which are in ms with six decimals.
pub fn sched(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Pairs::with_capacity(SCHED_SUMS.len());
    let mut last = 1;
    for (number, line) in lines(text) {
        last = number;
        let Some((key, value)) = line.split_once(':') else { continue };
        let Some((_, name)) = SCHED_SUMS.iter().find(|(known, _)| *known == key.trim_ascii())
        else {
            continue;
        };
        let word = Words::new(value, number, key.len() + 1).field(name)?;
        let sum_ns = word.text.split_once('.').and_then(|(ms, ns)| {
            let (ms, rest): (u64, u64) = (ms.parse().ok()?, ns.parse().ok()?);
            (ns.len() == 6).then(|| ms.checked_mul(1_000_000)?.checked_add(rest)).flatten()
        });
        pairs.push(((*name).into(), sum_ns.ok_or_else(|| word.unfit("a time in ms"))?));
    }
    let missing = SCHED_SUMS.iter().find(|(_, name)| !pairs.iter().any(|(known, _)| known == name));
    missing.map_or(Ok(pairs), |(key, _)| Err(ParseError::missing(last, key)))
}

/// Who a process is, and how large its page tables are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskStatus {
    /// The program's name, with the kernel's escapes (`\n`, `\\`).
    pub name: String,
    /// The letter of its state: `Z` is a process that has ended and was not waited for.
    pub state: String,
    /// Its effective user.
    pub user: u32,
    /// Size of its page tables in kB of 1024 bytes; `None` if it has no memory.
    pub vm_pte_kb: Option<u64>,
    /// Size of its page middle directories before Linux 4.15; since then part of `vm_pte_kb`.
    pub vm_pmd_kb: Option<u64>,
}

/// Reads `/proc/PID/status` (proc.rst, table 1-2). Fails without a name, state or
/// user, or for a field that is not a number.
pub fn task_status(text: &str) -> Result<TaskStatus, ParseError> {
    if text.trim_ascii().is_empty() {
        return Err(ParseError::empty());
    }
    let mut status = TaskStatus::default();
    let (mut lacks, mut last) = (vec!["Name", "State", "Uid"], 1);
    for (number, line) in lines(text) {
        last = number;
        let Some((key, rest)) = line.split_once(':') else { continue };
        let mut words = Words::new(rest, number, key.len() + 1);
        match key {
            "Name" => status.name = rest.trim_start_matches('\t').to_owned(),
            "State" => status.state = words.field(key)?.text.to_owned(),
            "Uid" => {
                let _real = words.field(key)?;
                let user = words.field(key)?;
                status.user = user.number()?.try_into().map_err(|_| user.unfit("a user"))?;
            }
            "VmPTE" => status.vm_pte_kb = Some(words.number(key)?),
            "VmPMD" => status.vm_pmd_kb = Some(words.number(key)?),
            _ => {}
        }
        lacks.retain(|name| *name != key);
    }
    lacks.first().map_or(Ok(status), |name| Err(ParseError::missing(last, name)))
}

/// The counters of `/proc/PID/status`: `VmRSS_kb`, `Threads`, …. Fails when the text is empty.
pub fn task_status_counters(text: &str) -> Result<Pairs, ParseError> {
    if text.trim_ascii().is_empty() {
        return Err(ParseError::empty());
    }
    let counter = |(number, line): (usize, &str)| {
        let (key, rest) = line.split_once(':')?;
        let is_counter = key.starts_with("Vm")
            || key.starts_with("Rss")
            || ["HugetlbPages", "Threads"].contains(&key)
            || key.ends_with("_ctxt_switches");
        is_counter.then(|| with_unit(key, rest, number, |_| true).ok())?
    };
    Ok(lines(text).filter_map(counter).collect())
}
