//! How each mechanism is provoked, and how often.

use std::io;

use mechanisms::MECHANISMS;

use crate::{boot, files, memory, processes};

/// Repeats a mechanism so often; returns the time of one repetition in ns. Fails where this system does
/// not have it.
type Cost = fn(u32) -> io::Result<f64>;

/// One mechanism of a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Mechanism {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// How often it is repeated by default: enough that reading the clock twice does not matter.
    pub(crate) count: u32,
    /// What repeats it.
    pub(crate) cost_ns: Cost,
}

/// Count and cost of each of [`MECHANISMS`], in the same order.
const ALL: [(u32, Cost); MECHANISMS.len()] = [
    (10_000, processes::syscall),
    (100, processes::fork),
    (100, processes::thread),
    (1_000, processes::switch),
    (1_000, processes::futex),
    (1_000, processes::pipe),
    (1_024, memory::fault),
    (1_024, memory::copy_on_write),
    (1_024, memory::file_fault),
    (1_000, memory::map),
    (1_024, memory::unmap),
    (100, memory::protect),
    (100, memory::shoot_down),
    (512, memory::swap_out),
    (512, memory::swap_in),
    (512, memory::refault),
    (1, memory::compact),
    (1_000, files::open),
    (1_000, files::write),
    (1_024, files::read_ahead),
    (8_192, files::throttling),
    (1, boot::boot),
];

/// The mechanism of a name.
pub(crate) fn find(name: &str) -> Option<Mechanism> {
    let position = MECHANISMS.iter().position(|(known, _)| *known == name)?;
    let (count, cost_ns) = ALL[position];
    Some(Mechanism { name: MECHANISMS[position].0, count, cost_ns })
}

/// A line for each mechanism.
pub(crate) fn list() -> String {
    let lines = MECHANISMS.iter().map(|(name, about)| format!("{name:<11} {about}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every system has, whatever its memory, swap and rights.
    const EVERYWHERE: [&str; 13] = [
        "syscall",
        "thread",
        "futex",
        "pipe",
        "anon-fault",
        "file-fault",
        "mmap",
        "munmap",
        "mprotect",
        "open",
        "write",
        "readahead",
        "throttling",
    ];

    #[test]
    fn what_every_system_has_takes_time_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        std::env::set_current_dir(folder.path()).unwrap();
        for name in EVERYWHERE {
            let cost_ns = (find(name).unwrap().cost_ns)(16).unwrap();
            assert!(cost_ns > 1.0 && cost_ns < 1e9, "{name}: {cost_ns} ns");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves no file");
    }

    #[test]
    fn names_are_unique_and_lines_fit_on_a_terminal() {
        for (name, _) in &MECHANISMS {
            assert_eq!(MECHANISMS.iter().filter(|it| it.0 == *name).count(), 1);
        }
        assert!(list().lines().all(|line| line.chars().count() <= 80), "{}", list());
    }
}
