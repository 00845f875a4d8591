//! A folder that a command may change as it likes: each repetition sees it as it was, by an overlay
//! that no other process sees. The folder itself is not touched.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use sys::namespaces::enter_private_mounts;

/// Names in a folder, not in those below it.
pub(crate) fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into()).collect()
}

/// The private views of a folder, one after the other.
pub(crate) struct PrivateView {
    folder: PathBuf,
    /// Where changes are kept until the view ends.
    scratch: PathBuf,
    /// Names in the folder that a view does not have.
    hidden: BTreeSet<PathBuf>,
    /// Options of the mount that an ordinary user needs.
    extra: &'static str,
}

impl PrivateView {
    /// Lets this process have views of a folder without these names. Fails when the kernel has no
    /// such mounts for this user.
    pub(crate) fn new(
        folder: &Path,
        scratch: PathBuf,
        hidden: BTreeSet<PathBuf>,
    ) -> io::Result<Self> {
        // An option's value cannot hold these.
        let text = format!("{}{}", folder.display(), scratch.display());
        if text.contains([',', ':', '\\']) {
            return Err(io::Error::other("the folder's path holds a comma, colon or backslash"));
        }
        let extra = if enter_private_mounts()? { ",userxattr" } else { "" };
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        mount_change("/", private)?;
        let view = Self { folder: folder.to_owned(), scratch, hidden, extra };
        view.enter()?;
        view.leave()?;
        Ok(view)
    }

    /// Begins a view, with the folder as the current one.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let [upper, work] = ["upper", "work"].map(|name| self.scratch.join(name));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        let (lower, extra) = (self.folder.display(), self.extra);
        let options = format!(
            "lowerdir={lower},upperdir={},workdir={}{extra}",
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options)?;
        mount("overlay", &self.folder, "overlay", MountFlags::empty(), &*options)?;
        std::env::set_current_dir(&self.folder)?;
        for name in &self.hidden {
            // Within the view only: the folder below keeps it.
            match fs::symlink_metadata(name) {
                Ok(entry) if entry.is_dir() => fs::remove_dir_all(name)?,
                Ok(_) => fs::remove_file(name)?,
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Ends a view, with all changes that were made in it.
    pub(crate) fn leave(&self) -> io::Result<()> {
        std::env::set_current_dir("/")?;
        unmount(&self.folder, UnmountFlags::DETACH)?;
        // The kernel's own folder there has no permissions.
        let _ = fs::set_permissions(self.scratch.join("work/work"), Permissions::from_mode(0o700));
        fs::remove_dir_all(&self.scratch)
    }
}
