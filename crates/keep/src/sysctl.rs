//! Kernel parameters of this host, set for a run and put back after it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where the kernel shows its parameters.
pub(crate) const ROOT: &str = "/proc/sys";

/// Only one of each pair is in force; the other reads as 0 (`Documentation/admin-guide/sysctl/vm.rst`).
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
fn read(root: &Path, name: &str) -> io::Result<String> {
    let path = file(root, name).ok_or_else(|| no_parameter(name))?;
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => no_parameter(name),
        _ => named(name, &error),
    })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// A parameter that was changed, and what undoes that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which parameter undoes it, such as `vm.swappiness`.
    name: String,
    /// With which value.
    before: String,
    /// Which parameter was changed, and to which value. Former versions did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set: Option<(String, String)>,
}

impl Change {
    /// A change that is about to be made.
    pub(crate) fn planned(name: &str, value: &str) -> io::Result<Self> {
        let (undone_by, before) = undo(name)?;
        Ok(Self { name: undone_by, before, set: Some((name.to_owned(), value.to_owned())) })
    }

    pub(crate) fn set(&self) -> io::Result<()> {
        let Some((name, value)) = &self.set else { return Ok(()) };
        set(Path::new(ROOT), name, value)
    }

    /// The change as it was made: the kernel shows many a value in another form.
    pub(crate) fn as_made(&self) -> io::Result<Self> {
        let shown = |(name, _): &(String, String)| {
            Ok::<_, io::Error>((name.clone(), read(Path::new(ROOT), name)?))
        };
        Ok(Self { set: self.set.as_ref().map(shown).transpose()?, ..self.clone() })
    }

    /// Gives the parameter its old value unless somebody has changed it; whether it did.
    pub(crate) fn put_back(&self, root: &Path) -> io::Result<bool> {
        if let Some((name, value)) = &self.set
            && read(root, name)? != *value
        {
            return Ok(false);
        }
        if read(root, &self.name).is_ok_and(|now| now == self.before) {
            return Ok(false);
        }
        set(root, &self.name, &self.before).map(|()| true)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (before: {})", self.name, self.before)
    }
}

/// Which parameter with which value undoes a change of this one.
fn undo(name: &str) -> io::Result<(String, String)> {
    let before = read(Path::new(ROOT), name)?;
    let other = COUNTERPARTS.iter().find_map(|(one, other)| match name {
        _ if name == *one => Some(*other),
        _ if name == *other => Some(*one),
        _ => None,
    });
    match other {
        // Not in force, and 0 cannot be written: setting the other one switches it off again.
        Some(other) if before == "0" => Ok((other.to_owned(), read(Path::new(ROOT), other)?)),
        _ => Ok((name.to_owned(), before)),
    }
}

fn set(root: &Path, name: &str, value: &str) -> io::Result<()> {
    let path = file(root, name).ok_or_else(|| no_parameter(name))?;
    fs::write(path, value).map_err(|error| named(name, &error))
}

fn no_parameter(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{name}: no such kernel parameter here"))
}

/// An error with the parameter, and the next step.
pub(crate) fn named(name: &str, error: &io::Error) -> io::Error {
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
    fn what_an_administrator_has_changed_since_stays() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("vm")).unwrap();
        let parameter = root.path().join("vm/swappiness");
        let name = "vm.swappiness".to_owned();
        let (before, set) = ("60".to_owned(), Some((name.clone(), "10".to_owned())));
        let change = Change { name, before, set };
        for (now, is_put_back, after) in
            [("10\n", true, "60"), ("35\n", false, "35\n"), ("60\n", false, "60\n")]
        {
            fs::write(&parameter, now).unwrap();
            assert_eq!(change.put_back(root.path()).unwrap(), is_put_back, "{now}");
            assert_eq!(fs::read_to_string(&parameter).unwrap(), after);
        }
        // The journal of a former version does not say what was set.
        let former = Change { set: None, ..change };
        fs::write(&parameter, "35\n").unwrap();
        assert!(former.put_back(root.path()).unwrap());
    }

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
        let error = read(Path::new(ROOT), "vm.no_such_thing").unwrap_err().to_string();
        assert!(error.contains("vm.no_such_thing: no such kernel parameter"), "{error}");
    }
}
