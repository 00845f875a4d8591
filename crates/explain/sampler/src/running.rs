//! A process that is there before it is observed, from `/proc`.

use std::fs;
use std::io;

use counters::parse::{Mapping, smaps};

use crate::modules::Mapped;

/// What is known of a process without its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningProcess {
    pub(crate) pid: i32,
    pub(crate) mapped: Vec<Mapped>,
    /// Number, name, and whether it could run.
    pub(crate) threads: Vec<(i32, String, bool)>,
}

impl RunningProcess {
    /// Fails without such a process, or where it may not be read.
    pub(crate) fn read(pid: u32) -> io::Result<Self> {
        let folder = format!("/proc/{pid}");
        let mapped = mapped_files(&fs::read_to_string(format!("{folder}/maps"))?)?;
        let mut threads = Vec::new();
        for entry in fs::read_dir(format!("{folder}/task"))? {
            let path = entry?.path();
            // One that has ended meanwhile was not found.
            let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
            threads.extend(thread(&stat));
        }
        threads.sort_unstable();
        Ok(Self { pid: pid.cast_signed(), mapped, threads })
    }
}

/// Number, name and state of a thread (proc_pid_stat(5)).
pub(crate) fn thread(stat: &str) -> Option<(i32, String, bool)> {
    let (tid, rest) = stat.split_once(" (")?;
    let (name, state) = rest.rsplit_once(") ")?;
    Some((tid.parse().ok()?, name.to_owned(), state.starts_with('R')))
}

/// The files that are mapped (proc_pid_maps(5)). Fails for another text.
fn mapped_files(maps: &str) -> io::Result<Vec<Mapped>> {
    let mapped = |it: Mapping| {
        let (addresses, is_code) = (it.start..it.end, it.execute);
        Mapped { path: it.name.into(), addresses, offset: it.offset_bytes, is_code }
    };
    Ok(smaps(maps).map_err(io::Error::other)?.into_iter().map(mapped).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_and_threads_are_read() {
        let maps = "55d0-55e0 r--p 00000000 fe:00 9     /bin/a b\n\
                    55e0-55f0 r-xp 00001000 fe:00 9     /bin/a b\n7000-8000 r-xp 00000000 00:00 0 \n";
        let (path, addresses) = ("/bin/a b".into(), 0x55e0..0x55f0);
        let expected = Mapped { path, addresses, offset: 0x1000, is_code: true };
        let found = mapped_files(maps).unwrap();
        assert_eq!((&found[1], found[0].is_code), (&expected, false));
        assert_eq!(thread("12 (a) b) R 1 2"), Some((12, "a) b".to_owned(), true)));
        assert_eq!(thread("12 (a) S 1 2"), Some((12, "a".to_owned(), false)));
        let this = RunningProcess::read(std::process::id()).unwrap();
        assert!(this.mapped.iter().any(|it| it.path.contains("sampler")), "{this:?}");
        assert!(!this.threads.is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left_out(text in any::<String>()) {
            let _ = (mapped_files(&text), thread(&text));
        }
    }
}
