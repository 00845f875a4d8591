//! Kernel parameters of this host, set for a run and put back after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the kernel shows its parameters.
const ROOT: &str = "/proc/sys";

/// Parameters of which one at a time is in force; the other one reads as 0
/// (`Documentation/admin-guide/sysctl/vm.rst`).
const COUNTERPARTS: [(&str, &str); 2] = [
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
];

/// The file of a parameter such as `vm.swappiness`. `None` for a name that would leave the folder.
///
/// As with sysctl(8), a slash separates where a part of the name has a dot itself.
fn file(root: &Path, name: &str) -> Option<PathBuf> {
    let separator = if name.contains('/') { '/' } else { '.' };
    let mut path = root.to_owned();
    for part in name.split(separator) {
        if part.is_empty() || part == ".." || part == "." || part.contains('\0') {
            return None;
        }
        path.push(part);
    }
    Some(path)
}

/// The present value of a parameter, in a form that can be written.
///
/// # Errors
/// When there is no such parameter, or it cannot be read.
pub fn read(name: &str) -> io::Result<String> {
    read_below(Path::new(ROOT), name)
}

fn read_below(root: &Path, name: &str) -> io::Result<String> {
    let path = file(root, name).ok_or_else(|| no_parameter(name))?;
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => no_parameter(name),
        _ => named(name, &error),
    })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Which parameter with which value undoes a change of this one.
///
/// # Errors
/// As [`read`].
pub(crate) fn undo(name: &str) -> io::Result<(String, String)> {
    let before = read(name)?;
    let other = COUNTERPARTS.iter().find_map(|(one, other)| match name {
        _ if name == *one => Some(*other),
        _ if name == *other => Some(*one),
        _ => None,
    });
    match other {
        // Not in force, and 0 cannot be written: setting the other one switches it off again.
        Some(other) if before == "0" => Ok((other.to_owned(), read(other)?)),
        _ => Ok((name.to_owned(), before)),
    }
}

/// Sets a parameter.
pub(crate) fn set(name: &str, value: &str) -> io::Result<()> {
    let path = file(Path::new(ROOT), name).ok_or_else(|| no_parameter(name))?;
    fs::write(path, value).map_err(|error| named(name, &error))
}

/// Gives a parameter its old value back; whether it had another one.
pub(crate) fn put_back(name: &str, before: &str) -> io::Result<bool> {
    if read(name).is_ok_and(|now| now == before) {
        return Ok(false);
    }
    set(name, before).map(|()| true)
}

fn no_parameter(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{name}: no such kernel parameter here"))
}

fn named(name: &str, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root",
        _ => "",
    };
    io::Error::new(error.kind(), format!("kernel parameter {name}: {error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_below_the_folder_and_no_others() {
        let root = Path::new("/r");
        assert_eq!(file(root, "vm.swappiness"), Some("/r/vm/swappiness".into()));
        assert_eq!(file(root, "net/ipv4/conf/a.b/x"), Some("/r/net/ipv4/conf/a.b/x".into()));
        for bad in ["", ".", "vm..x", "../etc/passwd", "a/../../b", "vm/"] {
            assert_eq!(file(root, bad), None, "{bad}");
        }
    }

    #[test]
    fn a_parameter_that_is_not_there_is_named() {
        let error = read("vm.no_such_thing").unwrap_err().to_string();
        assert!(error.contains("vm.no_such_thing: no such kernel parameter"), "{error}");
    }
}
