//! The program for the measured host: copied once through ssh and named by its hash.

use std::fs;
use std::path::{Path, PathBuf};

use object::elf::{FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader as _};
use object::{Endianness, FileKind};

const FOLDER: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/thrashlab/bin";
pub(crate) const OTHER_MACHINE: &str = "thrashlab: this machine is ";

/// ELF machines (`e_machine`) by their names in `uname -m`.
const MACHINES: [(u16, &str); 6] = [
    (3, "i386|i486|i586|i686|x86_64"),
    (21, "ppc64|ppc64le"),
    (22, "s390x"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
];

#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    /// Its BLAKE3, in hexadecimal.
    pub(crate) hash: String,
    size_bytes: u64,
    /// Matching `uname -m` names, as a shell pattern, if known.
    machine: Option<&'static str>,
    pub(crate) is_static: bool,
}

impl Program {
    /// Reads a program, by default this one. Fails when it cannot be read or is not an ELF file.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, String> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => {
                std::env::current_exe().map_err(|error| format!("find this program: {error}"))?
            }
        };
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let Some((machine, has_loader)) = header(&bytes) else {
            return Err(format!("{} is not a program of Linux (ELF)", path.display()));
        };
        let machine = MACHINES.iter().find(|(number, _)| *number == machine);
        Ok(Self {
            hash: blake3::hash(&bytes).to_hex().to_string(),
            size_bytes: bytes.len() as u64,
            machine: machine.map(|(_, name)| *name),
            is_static: !has_loader,
            path,
        })
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        fs::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    pub(crate) fn machines(&self) -> String {
        self.machine.map_or_else(|| "another machine".to_owned(), |names| names.replace('|', ", "))
    }

    /// The command that starts or resumes a session, for any login shell.
    pub(crate) fn attach(&self) -> String {
        in_sh(&format!("exec \"{FOLDER}/{}\" {} attach", self.hash, crate::COMMAND))
    }

    /// The command that installs the program from standard input, atomically.
    pub(crate) fn install(&self) -> String {
        let Self { hash, size_bytes, .. } = self;
        let machine = self.machine.unwrap_or("*");
        let command = crate::COMMAND;
        in_sh(&format!(
            "set -eu; umask 077; case \"$(uname -s):$(uname -m)\" in \
             {machines}) ;; *) echo \"{OTHER_MACHINE}$(uname -s) $(uname -m)\" >&2; exit 65;; esac; \
             d=\"{FOLDER}\"; mkdir -p \"$d\"; t=\"$d/.{hash}.$$\"; trap \"rm -f \\\"$t\\\"\" EXIT; \
             cat >\"$t\"; n=$(($(wc -c <\"$t\"))); \
             if [ $n -ne {size_bytes} ]; then echo \"$n bytes of {size_bytes} arrived\" >&2; exit 66; fi; \
             chmod 700 \"$t\"; \"$t\" {command} verify {hash}; mv -f \"$t\" \"$d/{hash}\"",
            machines = machine
                .split('|')
                .map(|name| format!("Linux:{name}"))
                .collect::<Vec<_>>()
                .join("|"),
        ))
    }
}

/// Runs a script in sh from any login shell, without single quotes, `!` or newlines.
fn in_sh(script: &str) -> String {
    format!("exec sh -c '{script}'")
}

fn header(bytes: &[u8]) -> Option<(u16, bool)> {
    match FileKind::parse(bytes).ok()? {
        FileKind::Elf32 => header_of::<FileHeader32<Endianness>>(bytes).ok(),
        FileKind::Elf64 => header_of::<FileHeader64<Endianness>>(bytes).ok(),
        _ => None,
    }
}

fn header_of<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<(u16, bool)> {
    let header = H::parse(bytes)?;
    let endian = header.endian()?;
    let mut segments = header.program_headers(endian, bytes)?.iter();
    let has_loader = segments.any(|segment| segment.p_type(endian) == PT_INTERP);
    Ok((header.e_machine(endian).0, has_loader))
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
        assert!(why.contains("/etc/passwd is not a program"), "{why}");
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
