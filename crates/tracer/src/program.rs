//! The program that a command means.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::TracerError;
use crate::launch::{Program, resolve};

/// The program of a command's first word, as the shell would find it.
///
/// # Errors
/// When there is none, or it is not for the emulator.
pub(crate) fn find(word: &OsStr) -> Result<Program, TracerError> {
    let candidates: Vec<PathBuf> = if word.as_bytes().contains(&b'/') {
        vec![word.into()]
    } else {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).map(|folder| folder.join(word)).collect()
    };
    for path in candidates {
        match resolve(&path) {
            Ok(program) => return Ok(absolute(program)),
            Err(Some(reason)) => {
                return Err(TracerError::NotHere { path: path.display().to_string(), reason });
            }
            Err(None) => {}
        }
    }
    Err(TracerError::NoProgram(Path::new(word).display().to_string()))
}

/// A path that cannot be taken for an option.
fn absolute(program: Program) -> Program {
    let path = std::path::absolute(&program.path).unwrap_or_else(|_| program.path.clone());
    Program { path, ..program }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_path_and_by_its_path() {
        let shell = find(OsStr::new("sh")).unwrap();
        assert!(shell.path.is_absolute() && shell.path.ends_with("sh"), "{shell:?}");
        assert!(find(OsStr::new("no-such-program")).is_err());
        assert!(find(OsStr::new("/etc/passwd")).is_err());
    }
}
