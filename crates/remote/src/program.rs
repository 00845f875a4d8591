//! The program that runs on the measured host: which file it is, for which machines, and how it gets
//! there. It is copied once, through ssh, and named by its hash.

use std::fs;
use std::path::{Path, PathBuf};

/// Where copies lie below the cache of the user there.
const FOLDER: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/thrashlab/bin";
/// What the script says when the machine is another one.
pub(crate) const OTHER_MACHINE: &str = "thrashlab: this machine is ";

/// Machines of the ELF header (`e_machine`), and what `uname -m` calls them.
const MACHINES: [(u16, &str); 6] = [
    (3, "i386|i486|i586|i686|x86_64"),
    (21, "ppc64|ppc64le"),
    (22, "s390x"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
];

/// A program that can be copied.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    /// Its BLAKE3, in hexadecimal.
    pub(crate) hash: String,
    size_bytes: u64,
    /// What `uname -m` says where it runs, as a pattern of the shell; `None` = not known.
    machine: Option<&'static str>,
    /// Whether it needs no libraries of the system.
    pub(crate) is_static: bool,
}

impl Program {
    /// Reads a file, or this program itself.
    ///
    /// # Errors
    /// When it cannot be read or is no program, with its path.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, String> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => {
                std::env::current_exe().map_err(|error| format!("find this program: {error}"))?
            }
        };
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let Some(header) = header(&bytes) else {
            return Err(format!("{} is no program of Linux (ELF)", path.display()));
        };
        let machine = MACHINES.iter().find(|(number, _)| *number == header.machine);
        Ok(Self {
            hash: blake3::hash(&bytes).to_hex().to_string(),
            size_bytes: bytes.len() as u64,
            machine: machine.map(|(_, name)| *name),
            is_static: !header.has_interpreter,
            path,
        })
    }

    /// Its bytes.
    ///
    /// # Errors
    /// When it cannot be read any more.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        fs::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// The machines that it runs on, in words.
    pub(crate) fn machines(&self) -> String {
        self.machine.map_or_else(|| "another machine".to_owned(), |names| names.replace('|', ", "))
    }

    /// The command that begins or goes on with a session, for any login shell.
    pub(crate) fn attach(&self) -> String {
        in_sh(&format!("exec \"{FOLDER}/{}\" {} attach", self.hash, crate::COMMAND))
    }

    /// The command that takes the program from its standard input: as a whole or not at all.
    pub(crate) fn install(&self) -> String {
        let Self { hash, size_bytes, .. } = self;
        let machine = self.machine.unwrap_or("*");
        let command = crate::COMMAND;
        in_sh(&format!(
            "set -eu; umask 077; case \"$(uname -s):$(uname -m)\" in \
             {machines}) ;; *) echo \"{OTHER_MACHINE}$(uname -s) $(uname -m)\" >&2; exit 65;; esac; \
             d=\"{FOLDER}\"; mkdir -p \"$d\"; t=\"$d/.{hash}.$$\"; trap \"rm -f \\\"$t\\\"\" EXIT; \
             cat >\"$t\"; n=$(($(wc -c <\"$t\"))); \
             if [ $n -ne {size_bytes} ]; then echo \"$n bytes of {size_bytes} came\" >&2; exit 66; fi; \
             chmod 700 \"$t\"; \"$t\" {command} verify {hash}; mv -f \"$t\" \"$d/{hash}\"",
            machines = machine
                .split('|')
                .map(|name| format!("Linux:{name}"))
                .collect::<Vec<_>>()
                .join("|"),
        ))
    }
}

/// A command that every login shell passes on to sh as it is: it has neither single quotes nor
/// exclamation marks nor newlines in it.
fn in_sh(script: &str) -> String {
    format!("exec sh -c '{script}'")
}

struct Header {
    machine: u16,
    has_interpreter: bool,
}

/// What the header of an ELF file says (elf(5)); `None` if it is none.
fn header(bytes: &[u8]) -> Option<Header> {
    const INTERPRETER: u32 = 3;
    let ident = bytes.get(..16).filter(|ident| ident.starts_with(b"\x7fELF"))?;
    let (is_wide, is_big) = (ident[4] == 2, ident[5] == 2);
    let number = |at: usize, size: usize| -> Option<u64> {
        let field = bytes.get(at..at.checked_add(size)?)?.iter();
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if is_big { field.fold(0, add) } else { field.rev().fold(0, add) })
    };
    let [table, entry_size, count] = if is_wide {
        [number(32, 8)?, number(54, 2)?, number(56, 2)?]
    } else {
        [number(28, 4)?, number(42, 2)?, number(44, 2)?]
    };
    let kind = |index: u64| {
        let at = index.checked_mul(entry_size)?.checked_add(table)?;
        number(usize::try_from(at).ok()?, 4)
    };
    Some(Header {
        machine: u16::try_from(number(18, 2)?).ok()?,
        has_interpreter: (0..count).any(|index| kind(index) == Some(u64::from(INTERPRETER))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_program_is_read_and_a_text_is_none() {
        let program = Program::read(None).unwrap();
        assert_eq!(program.machines(), std::env::consts::ARCH);
        let why = Program::read(Some(Path::new("/etc/passwd"))).unwrap_err();
        assert!(why.contains("/etc/passwd is no program"), "{why}");
    }

    #[test]
    fn scripts_have_nothing_that_a_login_shell_would_read() {
        let program = Program::read(None).unwrap();
        for script in [program.attach(), program.install()] {
            let inner = script.strip_prefix("exec sh -c '").unwrap().strip_suffix('\'').unwrap();
            assert!(!inner.contains(['\'', '!', '\n']), "{inner}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_header_or_none(bytes in any::<Vec<u8>>()) {
            header(&bytes);
            header(&[b"\x7fELF\x02\x01".to_vec(), bytes].concat());
        }
    }
}
