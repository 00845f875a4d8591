//! `set-acl`: takes the rights of others away from all files below a folder and gives them back,
//! and names the readers in an attribute where the file system has attributes.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{XattrFlags, setxattr};
use rustix::io::Errno;

use super::{Tool, ToolError, at, exactly, walk};

pub(super) const TOOL: Tool = Tool { name: "set-acl", arguments: "FOLDER", run };

/// The attribute, which any user may set on his own files.
const ATTRIBUTE: &str = "user.thrashlab.readers";
/// Who may read, as an access control list is written.
const READERS: &[u8] = b"re *.SysDaemon.*\nr *.*.*\n";

fn run(arguments: &[String], _: &mut dyn Write) -> Result<(), ToolError> {
    let [folder] = exactly(arguments)?;
    for path in walk::all(Path::new(folder))? {
        let is_folder = path.is_dir();
        for mode in if is_folder { [0o700, 0o755] } else { [0o600, 0o644] } {
            fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(at("set", &path))?;
        }
        match setxattr(&path, ATTRIBUTE, READERS, XattrFlags::empty()) {
            // Not every file system has attributes, and those that do may be full of them.
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSPC | Errno::PERM) => {}
            Err(error) => return Err(at("set an attribute of", &path)(error.into())),
        }
    }
    Ok(())
}
