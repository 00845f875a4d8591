//! Switching between processes.

use std::io::{self, Read, Write, pipe};

use rustix::time::ClockId;
use sys::process::{end, fork_child};

use super::{Measured, cost, each_ns, refused};

const PIECE_TRIPS: usize = 50;
const PIECES: usize = 60;
/// Switches of a round trip: there and back.
const SWITCHES: usize = 2;

/// One of the two switches of a byte's round trip through pipes.
pub(super) fn context_switch() -> Measured {
    let step = "pass a byte through a pipe";
    let (mut near, mut back) = pipe().map_err(refused(step))?;
    let (mut far, mut to_far) = pipe().map_err(refused(step))?;
    let echo = move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
        0
    };
    let child = fork_child(echo).map_err(refused("fork"))?;
    let mut trips = || -> io::Result<()> {
        for _ in 0..PIECE_TRIPS {
            to_far.write_all(&[1])?;
            near.read_exact(&mut [0])?;
        }
        Ok(())
    };
    let pieces = (0..PIECES).map(|_| {
        let (ns, outcome) = each_ns(ClockId::Monotonic, PIECE_TRIPS * SWITCHES, &mut trips);
        outcome.map(|()| ns)
    });
    let each = pieces.collect::<io::Result<_>>().map_err(refused(step));
    end([child]).map_err(refused("end a child"))?;
    cost(each?)
}
