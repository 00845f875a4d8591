//! The program of a guest: this one, or a file that is this program for the guest's architecture.

use std::fs;

use guest::SETUP_FILE;
use model::Architecture;
use object::Endianness;
use object::elf::{FileHeader64, Machine, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::platform::Platform;
use crate::qemu::THIS_PROGRAM;
use crate::{Result, VmError};

/// A program that can be a guest's first process.
pub(crate) struct GuestProgram {
    pub(crate) bytes: Vec<u8>,
    /// Its size, if it is not this program.
    pub(crate) named_bytes: Option<u64>,
}

impl GuestProgram {
    /// The named program where it is for the guest's architecture, else this one. The error has the
    /// next step.
    pub(crate) fn find(platform: &Platform, named: Option<&str>) -> Result<Self> {
        let failed = |why: String| VmError::Unavailable(why);
        let (wanted, build) = (platform.name(), platform.build_command());
        if let Some(path) = named {
            let bytes = fs::read(path);
            let bytes = bytes.map_err(|error| failed(format!("program={path}: {error}")))?;
            let facts = ElfFacts::parse(&bytes).filter(|_| is_this_program(&bytes));
            let facts = facts.ok_or_else(|| {
                failed(format!(
                    "program={path}: it is not thrashlab; name the file that `{build}` builds"
                ))
            })?;
            if facts.machine == platform.elf {
                facts.check_static(&format!("program={path}"), build)?;
                return Ok(Self { named_bytes: Some(bytes.len() as u64), bytes });
            }
            if !platform.is_of_this_program() {
                let other = facts.machine_name();
                return Err(failed(format!(
                    "program={path}: it is for {other}, and the kernel is for {wanted}; name the \
                     file that `{build}` builds"
                )));
            }
        }
        if !platform.is_of_this_program() {
            let own = Architecture::of_program().map_or("another architecture", Architecture::name);
            return Err(failed(format!(
                "the kernel is for {wanted}, and this program, which is also the guest's, is for \
                 {own}: build one for {wanted} with `{build}`, and name it: vm:program=FILE"
            )));
        }
        let bytes = fs::read(THIS_PROGRAM)?;
        if let Some(facts) = ElfFacts::parse(&bytes) {
            facts.check_static("this program", build)?;
        }
        Ok(Self { bytes, named_bytes: None })
    }
}

/// Whether a program knows the messages of host and guest.
fn is_this_program(bytes: &[u8]) -> bool {
    bytes.windows(SETUP_FILE.len()).any(|window| window == SETUP_FILE.as_bytes())
}

/// What the header of a program shows.
pub(crate) struct ElfFacts {
    pub(crate) machine: Machine,
    pub(crate) needs_loader: bool,
}

impl ElfFacts {
    /// `None` for other files than programs of 64 bits.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let mut segments = header.program_headers(endian, bytes).ok()?.iter();
        let needs_loader = segments.any(|segment| segment.p_type(endian) == PT_INTERP);
        Some(Self { machine: header.e_machine(endian), needs_loader })
    }

    fn check_static(&self, program: &str, build: &str) -> Result<()> {
        match self.needs_loader {
            false => Ok(()),
            true => Err(VmError::Unavailable(format!(
                "{program} needs a dynamic loader, which a guest does not have: build the static \
                 one with `{build}`"
            ))),
        }
    }

    fn machine_name(&self) -> &'static str {
        Platform::all()
            .find(|platform| platform.elf == self.machine)
            .map_or("another architecture", Platform::name)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    /// A program of a machine that knows the messages, with a loader or without one.
    fn program(machine: u16, has_loader: bool) -> tempfile::NamedTempFile {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([2, 0]);
        file.extend(machine.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        for word in [0_u64, 64, 0] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0_u32.to_le_bytes());
        for half in [64_u16, 56, 1, 64, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        file.extend(if has_loader { 3_u32 } else { 1 }.to_le_bytes());
        file.resize(120, 0);
        file.extend(SETUP_FILE.as_bytes());
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(&file).unwrap();
        named
    }

    fn found(kernel: Architecture, file: &Path) -> Result<Option<u64>, String> {
        let found = GuestProgram::find(Platform::of(kernel), file.to_str());
        found.map(|program| program.named_bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_is_for_the_kernel_s_architecture_and_static() {
        let (x86, arm) = (program(62, false), program(183, false));
        assert_eq!(found(Architecture::Aarch64, arm.path()), Ok(Some(139)));
        assert_eq!(found(Architecture::X86_64, x86.path()), Ok(Some(139)));
        let dynamic = program(183, true);
        let error = found(Architecture::Aarch64, dynamic.path()).unwrap_err();
        assert!(error.contains("needs a dynamic loader"), "{error}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn another_program_is_refused_with_the_command_that_builds_the_right_one() {
        let other = program(243, false);
        let error = found(Architecture::Aarch64, other.path()).unwrap_err();
        assert!(error.contains("for another architecture"), "{error}");
        for (file, why) in [
            (program(62, false).path(), "it is for x86-64, and the kernel is for aarch64"),
            (Path::new("/etc/passwd"), "it is not thrashlab"),
            (Path::new("/no/such"), "No such file"),
        ] {
            let error = found(Architecture::Aarch64, file).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let none = GuestProgram::find(Platform::of(Architecture::Aarch64), None).err().unwrap();
        let error = none.to_string();
        assert!(
            error.contains("`make build ARCH=aarch64`, and name it: vm:program=FILE"),
            "{error}"
        );
    }
}
