//! Probes: small interactions that are timed again and again under a load; one file each, and the
//! table of all.
//!
//! A probe runs in a process of its own, inside the subject, and follows a schedule that is fixed
//! before it starts (open loop): the delay of an interaction counts from its *intended* start, so
//! whatever makes it start late is in the delay.
//!
//! **Invariant:** the timed region is one call of [`Interaction::interact`]; nothing in it
//! allocates, logs, locks or prints, except the allocation that the probe exists to time.

mod desc;
mod elf;
mod exec;
mod fault;
mod fileops;
mod response;
mod wake;

pub use desc::{Desc, Interaction, MAX_PARTS, Made, Parts, Plan, ProbeError, Rhythm, Setting};

/// All probes; the first is the default.
pub const ALL: &[Desc] = &[response::PROBE, wake::PROBE, exec::PROBE, fault::PROBE, fileops::PROBE];

/// The probe of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Desc> {
    ALL.iter().find(|probe| probe.name == name)
}
