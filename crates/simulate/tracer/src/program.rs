//! Finds the program of a command, and the programs that can record it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keep::in_path;

use crate::TracerError;
use crate::launch::{Program, resolve};

/// The program of a command by an absolute path; the command's first word, and its arguments.
pub(crate) fn split(command: &[OsString]) -> Result<(Program, &OsStr, &[OsString]), TracerError> {
    let none = |word: &OsStr| {
        let word = word.display();
        TracerError::NoProgram(format!("{word}: no such program; is its directory in PATH?"))
    };
    let (word, arguments) = command.split_first().ok_or_else(|| none(OsStr::new("")))?;
    let is_path = word.as_bytes().contains(&b'/');
    let candidates = if is_path { vec![word.into()] } else { below_path(word).collect() };
    for path in candidates {
        match resolve(&path) {
            Ok(program) => {
                let path = std::path::absolute(&program.path).unwrap_or(program.path);
                return Ok((Program { path, ..program }, word, arguments));
            }
            Err(Some(reason)) => {
                let path = path.display();
                return Err(TracerError::NoProgram(format!(
                    "{path}: cannot be recorded: {reason}"
                )));
            }
            Err(None) => {}
        }
    }
    Err(none(word))
}

fn below_path(name: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    // Without a PATH there is none; an empty text would be the current directory.
    let path = env::var_os("PATH");
    let folders = path.iter().flat_map(env::split_paths);
    folders.map(|folder| folder.join(&name)).collect::<Vec<_>>().into_iter()
}

pub(crate) fn qemu() -> String {
    format!("qemu-{}", env::consts::ARCH)
}

/// A program that records others, and its name and version.
pub(crate) fn recorder(name: &str) -> Result<(PathBuf, String), TracerError> {
    let path = in_path(name).ok_or_else(|| {
        let how = "apt-get install qemu-user (or valgrind, which is slow)";
        TracerError::NoRecorder(format!("{name} is not installed: {how}"))
    })?;
    let said = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = said.unwrap_or_default().lines().next().unwrap_or(name).trim().to_owned();
    Ok((path, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(word: &str) -> Result<Program, TracerError> {
        split(&[word.into()]).map(|(program, ..)| program)
    }

    #[test]
    fn a_program_is_found_in_path_and_by_its_path() {
        let shell = program("sh").unwrap();
        assert!(shell.path.is_absolute() && shell.path.ends_with("sh"), "{shell:?}");
        assert!(program("no-such-program").is_err());
        assert!(program("/etc/passwd").is_err());
    }
}
