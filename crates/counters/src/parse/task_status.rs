//! `/proc/PID/status`: who a process is, and how large its page tables are.

use super::words::{Word, lines, words};
use super::{ParseError, Reason, Values};

/// What of `/proc/PID/status` is read here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskStatus {
    /// The program's name, with the kernel's escapes (`\n`, `\\`).
    pub name: String,
    /// The letter of its state: `Z` is a process that has ended and was not waited for.
    pub state: String,
    /// Its effective user.
    pub user: u32,
    /// The size of its page tables, in kB of 1024 bytes; absent for what has no memory of its own:
    /// kernel threads, and processes that have ended.
    pub vm_pte_kb: Option<u64>,
    /// The size of its page middle directories, on kernels before 4.15; later ones count them in
    /// `vm_pte_kb`.
    pub vm_pmd_kb: Option<u64>,
}

/// Reads `/proc/PID/status`.
///
/// Follows `Documentation/filesystems/proc.rst`, table 1-2.
///
/// # Errors
/// When there is no name, state or user, or one of the numbers is none.
pub fn task_status(text: &str) -> Result<TaskStatus, ParseError> {
    if text.trim_ascii().is_empty() {
        return Err(ParseError::empty());
    }
    let mut status = TaskStatus::default();
    let (mut named, mut stated, mut owned) = (false, false, false);
    let mut last = 1;
    for (number, line) in lines(text) {
        last = number;
        let Some((key, rest)) = line.split_once(':') else { continue };
        let mut columns = words(rest, number, key.len() + 1);
        let mut field = |name| columns.next().ok_or_else(|| ParseError::missing(number, name));
        match key {
            "Name" => {
                status.name = rest.trim_start_matches('\t').to_owned();
                named = true;
            }
            "State" => {
                status.state = field("State")?.text.to_owned();
                stated = true;
            }
            "Uid" => {
                let _real = field("Uid")?;
                status.user = user(field("Uid")?)?;
                owned = true;
            }
            "VmPTE" => status.vm_pte_kb = Some(field("VmPTE")?.number()?),
            "VmPMD" => status.vm_pmd_kb = Some(field("VmPMD")?.number()?),
            _ => {}
        }
    }
    for (is_there, name) in [(named, "Name"), (stated, "State"), (owned, "Uid")] {
        if !is_there {
            return Err(ParseError::missing(last, name));
        }
    }
    Ok(status)
}

/// The counters of `/proc/PID/status`: sizes as `VmRSS_kb`, numbers by their own names. Lines that
/// hold something else (masks, lists, words) are left out.
///
/// # Errors
/// When the text is empty.
pub fn task_status_counters(text: &str) -> Result<Values, ParseError> {
    if text.trim_ascii().is_empty() {
        return Err(ParseError::empty());
    }
    let counter = |line: &str| {
        let (key, rest) = line.split_once(':')?;
        let is_counter = key.starts_with("Vm")
            || key.starts_with("Rss")
            || ["HugetlbPages", "Threads"].contains(&key)
            || key.ends_with("_ctxt_switches");
        let mut columns = rest.split_ascii_whitespace();
        let value: u64 = columns.next().filter(|_| is_counter)?.parse().ok()?;
        let unit = columns.next().map_or(String::new(), |unit| format!("_{}", unit.to_lowercase()));
        Some((format!("{key}{unit}").into(), value))
    };
    Ok(text.lines().filter_map(counter).collect())
}

/// A user's number.
fn user(word: Word<'_>) -> Result<u32, ParseError> {
    let wanted = "a user";
    u32::try_from(word.number()?)
        .map_err(|_| word.error(Reason::Unfit { found: word.quoted(), wanted }))
}
