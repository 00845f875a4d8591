//! Processes known by a mark in their environment, whatever their parent or session.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use sys::process::{signal, signals};

/// The variable of the environment that holds the mark.
pub const VARIABLE: &str = "THRASHLAB_RUN";
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// Kills (SIGKILL) every process of this user whose environment has `THRASHLAB_RUN=mark`, until
/// none is left. Fails without `/proc`, or when some remain after two seconds.
pub fn end_marked(mark: &str) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = pids_marked(mark)?;
        if found.is_empty() {
            return Ok(());
        }
        for pid in &found {
            // It may be gone already, or another user's.
            let _ = signal(*pid, signals::KILL);
        }
        if Instant::now() >= deadline {
            let entry = format!("{VARIABLE}={mark}");
            let text = format!("processes {found:?} with {entry} in their environment do not end");
            return Err(io::Error::other(text));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes of this user with the mark, except this one. Fails without `/proc`.
pub(crate) fn pids_marked(mark: &str) -> io::Result<Vec<u32>> {
    let entry = format!("{VARIABLE}={mark}");
    let me = std::process::id();
    let pids = fs::read_dir("/proc")?
        .filter_map(|found| found.ok()?.file_name().to_str()?.parse::<u32>().ok());
    Ok(pids
        .filter(|pid| *pid != me)
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn grandchildren_without_a_parent_are_ended_and_others_are_not() {
        let mark = format!("/test/{}", std::process::id());
        let start = |mark: &str| {
            // The shell ends at once; what it started continues without it.
            let mut shell = Command::new("sh");
            let script = "sleep 60 >/dev/null 2>&1 & echo $!";
            shell.args(["-c", script]).env(VARIABLE, mark).stdin(Stdio::null());
            let said = shell.output().unwrap().stdout;
            String::from_utf8(said).unwrap().trim().parse::<u32>().unwrap()
        };
        let (ours, other) = (start(&mark), start("/another"));
        end_marked(&mark).unwrap();
        let is_alive = |pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains(") S") || stat.contains(") R")
        };
        assert!(!is_alive(ours));
        assert!(is_alive(other));
        signal(other, signals::KILL).unwrap();
    }
}
