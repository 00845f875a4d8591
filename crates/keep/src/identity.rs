//! What distinguishes a file, a directory or a control group from another one of the same name.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use serde::{Deserialize, Serialize};

/// An inode, and when it was made: inode numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    inode: u64,
    /// In ns since 1970; `None` where the file system does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born_unix_ns: Option<i64>,
}

impl Identity {
    /// The identity of what has this name; a link is not followed.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let facts = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        let is_known = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = facts.stx_btime;
        let born_unix_ns =
            born.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(born.tv_nsec));
        Ok(Self { inode: facts.stx_ino, born_unix_ns: is_known.then_some(born_unix_ns) })
    }

    /// Whether what had a name then is what has it now.
    pub(crate) fn is(self, now: Self) -> bool {
        let born = self.born_unix_ns.zip(now.born_unix_ns);
        self.inode == now.inode && born.is_none_or(|(then, now)| then == now)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn another_one_of_the_same_name_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        assert!(Identity::read(&path).is_err());
        fs::create_dir(&path).unwrap();
        let first = Identity::read(&path).unwrap();
        let is_first = || first.is(Identity::read(&path).unwrap());
        assert!(is_first());
        fs::write(path.join("file"), "x").unwrap();
        assert!(is_first(), "what is in it does not matter");
        fs::rename(&path, folder.path().join("other")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(!is_first());
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), first);
    }
}
