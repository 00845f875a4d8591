//! Translated code of the engine that outlives a guest, next to the booted machine: another guest
//! need not translate it again. It changes how fast guests are, and nothing that they do.

use std::fs::File;
use std::io;
use std::path::Path;

use keep::out_file::OutFile;

use crate::qemu::path_of;

const FILE: &str = "code";

/// What a guest reads at its start and may write at its end.
pub(crate) struct KeptCode {
    from: Option<File>,
    to: File,
    out: OutFile,
}

impl KeptCode {
    /// For a guest of the booted machine in a folder. Fails where the cache cannot be written, for
    /// example.
    pub(crate) fn open(machine: &Path) -> io::Result<Self> {
        let place = machine.join(FILE);
        let (out, to) = OutFile::create(&place)?;
        Ok(Self { from: File::open(&place).ok(), to, out })
    }

    /// The end of QEMU's option `-accel tcg`.
    pub(crate) fn options(&self) -> String {
        let from = self.from.as_ref().map(|file| format!(",code={}", path_of(file)));
        format!("{},new-code={}", from.unwrap_or_default(), path_of(&self.to))
    }

    /// Keeps what a guest has written at its end. Another process may do so at the same time; the
    /// last one wins. Fails as [`OutFile::finish`].
    pub(crate) fn keep(self) -> io::Result<()> {
        match self.to.metadata()?.len() {
            0 => Ok(()),
            _ => self.out.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn only_what_was_written_replaces_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let machine = folder.path().join("key");
        fs::create_dir(&machine).unwrap();
        let first = KeptCode::open(&machine).unwrap();
        assert!(first.options().starts_with(",new-code=/proc/"), "{}", first.options());
        (&first.to).write_all(b"translated").unwrap();
        first.keep().unwrap();
        let second = KeptCode::open(&machine).unwrap();
        assert!(second.options().starts_with(",code=/proc/"), "{}", second.options());
        second.keep().unwrap();
        assert_eq!(fs::read(machine.join(FILE)).unwrap(), b"translated");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
