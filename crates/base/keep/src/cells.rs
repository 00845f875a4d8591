//! Finished deterministic cells, each a file under the hash of its inputs.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use model::{EndStatus, Run};

use crate::out_file::OutFile;

const SUFFIX: &str = ".run.jsonl";

/// The hash under which something is kept: BLAKE3 of what it depends on, each part with its length.
pub fn key_of(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().to_string()
}

/// A folder of finished cells, created with the first one; several processes may use it at a time.
#[derive(Clone, Debug)]
pub struct Cells {
    /// The folder that contains them.
    pub folder: PathBuf,
}

impl Cells {
    /// Whether a run that ended so ends so again and is kept; what clock or user ended does not.
    pub fn is_certain(status: EndStatus) -> bool {
        matches!(status, EndStatus::Complete | EndStatus::KernelDied)
    }

    /// A finished cell, and its bytes; a file that is not whole is removed and counts as none.
    pub fn get(&self, key: &str) -> Option<(Run, Vec<u8>)> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let is_whole = |run: &Run| Self::is_certain(run.status()) && run.checksum_ok == Some(true);
        let run = Run::parse(&bytes).ok().filter(is_whole);
        if run.is_none() {
            // It will be rebuilt and replaced anyway.
            let _ = fs::remove_file(&path);
        }
        Some((run?, bytes))
    }

    /// Keeps a finished cell. Fails when it cannot be written.
    pub fn keep(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let (out, mut file) = OutFile::create(&self.path(key))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        out.finish()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}{SUFFIX}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Line, RunEncoder};

    /// A whole run of a header and an end.
    fn run_file() -> Vec<u8> {
        let spec = r#"{"subject":{"kind":"host","memory_bytes":1},
            "load":{"name":"noload","version":1,"intensity":1.0},
            "probe":{"name":"wake","version":1},
            "timing":{"profile":"quick","interval_ns":1,"points":1,"warmup_ns":1,"timeout_ns":1},
            "seed":1,"block":0,"order":0}"#;
        let header = format!(
            r#"{{"kind":"header","schema":1,"run_id":"r","thrashlab":"0","started_unix_ns":1,
            "spec":{spec},"environment":{{}},"missed":[]}}"#
        );
        let mut encoder = RunEncoder::default();
        let mut text = encoder.line(&Line::parse(&header).unwrap());
        text += &encoder.end(1, EndStatus::Complete);
        text.into_bytes()
    }

    #[test]
    fn threads_that_finish_the_same_cell_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let cells = Cells { folder: folder.path().to_owned() };
        let bytes = run_file();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50).for_each(|_| cells.keep("k", &bytes).unwrap()));
            }
        });
        assert_eq!(cells.get("k").unwrap().1, bytes);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_cell_is_no_cell() {
        let folder = tempfile::tempdir().unwrap();
        let cells = Cells { folder: folder.path().join("cells") };
        assert_eq!(cells.get("k"), None);
        let bytes = run_file();
        cells.keep("k", &bytes).unwrap();
        assert_eq!(cells.get("k"), Some((Run::parse(&bytes).unwrap(), bytes.clone())));
        let mut damaged = bytes.clone();
        let digit = damaged.iter().position(u8::is_ascii_digit).unwrap();
        damaged[digit] ^= 1;
        for wrong in [damaged, bytes[..bytes.len() - 9].to_vec(), Vec::new()] {
            cells.keep("k", &wrong).unwrap();
            assert_eq!(cells.get("k"), None);
        }
        cells.keep("k", &bytes).unwrap();
        assert_eq!(fs::read_dir(&cells.folder).unwrap().count(), 1);
    }
}
