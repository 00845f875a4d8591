//! Facts of one process from `/proc/PID/stat` (proc_pid_stat(5)).

use std::fs;
use std::str::FromStr;

/// Start time of a process in clock ticks since boot; `None` if there is no such process.
pub fn start_ticks(pid: u32) -> Option<u64> {
    field(pid, 22)
}

/// The parent of a process; `None` if there is no such process.
pub fn parent(pid: u32) -> Option<u32> {
    field(pid, 4)
}

/// A field after the name, numbered as in the manual.
fn field<T: FromStr>(pid: u32, number: usize) -> Option<T> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name (field 2) may hold anything: count from the last parenthesis.
    text.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_this_process_are_its_own() {
        let me = std::process::id();
        assert_eq!(parent(me), Some(std::os::unix::process::parent_id()));
        assert!(start_ticks(me).unwrap() >= start_ticks(1).unwrap());
        assert_eq!(start_ticks(u32::MAX), None);
    }
}
