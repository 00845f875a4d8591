//! Kernel parameters of this host, set for a run and restored after it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) const ROOT: &str = "/proc/sys";

/// One of each pair is in force, the other reads as 0 (`Documentation/admin-guide/sysctl/vm.rst`).
const COUNTERPARTS: [[&str; 2]; 2] = [
    ["vm.dirty_bytes", "vm.dirty_ratio"],
    ["vm.dirty_background_bytes", "vm.dirty_background_ratio"],
];

/// A parameter's file. Fails outside the folder. As in sysctl(8), names with slashes may have dots.
fn file(root: &Path, name: &str) -> io::Result<PathBuf> {
    let separator = if name.contains('/') { '/' } else { '.' };
    let is_bad = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
    if name.split(separator).any(is_bad) {
        return Err(no_parameter(name));
    }
    Ok(name.split(separator).fold(root.to_owned(), |path, part| path.join(part)))
}

fn read(root: &Path, name: &str) -> io::Result<String> {
    let text = fs::read_to_string(file(root, name)?).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => no_parameter(name),
        _ => named(name, &error),
    })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// A parameter that was changed, and what undoes that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The parameter that undoes the change, such as `vm.swappiness`.
    name: String,
    before: String,
    /// Which parameter was changed, and to which value. Older versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set: Option<(String, String)>,
}

impl Change {
    pub(crate) fn planned(name: &str, value: &str) -> io::Result<Self> {
        let (mut undone_by, mut before) = (name, read(Path::new(ROOT), name)?);
        // Not in force and 0 cannot be written: set the counterpart instead.
        if before == "0"
            && let Some([one, other]) = COUNTERPARTS.iter().find(|pair| pair.contains(&name))
        {
            undone_by = if name == *one { other } else { one };
            before = read(Path::new(ROOT), undone_by)?;
        }
        let set = Some((name.to_owned(), value.to_owned()));
        Ok(Self { name: undone_by.to_owned(), before, set })
    }

    pub(crate) fn set(&self) -> io::Result<()> {
        let Some((name, value)) = &self.set else { return Ok(()) };
        set(Path::new(ROOT), name, value)
    }

    /// With the value as the kernel shows it.
    pub(crate) fn as_made(&self) -> io::Result<Self> {
        let shown = |(name, _): &(String, String)| {
            Ok::<_, io::Error>((name.clone(), read(Path::new(ROOT), name)?))
        };
        Ok(Self { set: self.set.as_ref().map(shown).transpose()?, ..self.clone() })
    }

    /// Restores the old value unless it was changed since; returns whether it did.
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

fn set(root: &Path, name: &str, value: &str) -> io::Result<()> {
    fs::write(file(root, name)?, value).map_err(|error| named(name, &error))
}

fn no_parameter(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{name}: no such kernel parameter here"))
}

/// Adds the parameter's name and the next step.
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
        // The journal of an older version does not record what was set.
        let former = Change { set: None, ..change };
        fs::write(&parameter, "35\n").unwrap();
        assert!(former.put_back(root.path()).unwrap());
    }

    #[test]
    fn names_are_paths_below_the_folder_and_no_others() {
        let root = Path::new("/r");
        assert_eq!(file(root, "vm.swappiness").unwrap(), Path::new("/r/vm/swappiness"));
        let dotted = file(root, "net/ipv4/conf/a.b/x").unwrap();
        assert_eq!(dotted, Path::new("/r/net/ipv4/conf/a.b/x"));
        for bad in ["", ".", "vm..x", "../etc/passwd", "a/../../b", "vm/"] {
            assert!(file(root, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_parameter_that_is_not_there_is_named() {
        let error = read(Path::new(ROOT), "vm.no_such_thing").unwrap_err().to_string();
        assert!(error.contains("vm.no_such_thing: no such kernel parameter"), "{error}");
    }
}
