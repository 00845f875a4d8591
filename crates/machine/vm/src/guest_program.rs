//! The program of a guest: the agent for its architecture.

use instrument::Agent;
use object::Endianness;
use object::elf::{FileHeader64, Machine, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::platform::Platform;
use crate::{Result, VmError};

/// The agent for guests of a platform. The error has the next step, where this build has none, or
/// one that needs a dynamic loader, which guests do not have.
pub(crate) fn agent(platform: &Platform) -> Result<&'static Agent> {
    let agent = Agent::of(platform.architecture).map_err(VmError::Unavailable)?;
    match ElfFacts::parse(&agent.bytes) {
        Some(ElfFacts { needs_loader: false, .. }) => Ok(agent),
        _ => Err(VmError::Unavailable(
            "the agent of this build needs a dynamic loader, which a guest does not have: install \
             Rust's target for musl, or a static C library, and build thrashlab again"
                .to_owned(),
        )),
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_of_this_build_is_static_and_a_text_is_no_program() {
        let platform = Platform::all().find(|platform| platform.is_of_this_program()).unwrap();
        let facts = ElfFacts::parse(&agent(platform).unwrap().bytes).unwrap();
        assert_eq!(facts.machine, platform.elf);
        assert!(ElfFacts::parse(b"#!/bin/sh").is_none());
    }
}
