//! The events column: distance, kind and fields in [`postcard`]'s encoding, but flags in one byte.

use postcard::{take_from_bytes, to_io};

use crate::{BlockHead, Event};

/// Longer texts are cut.
const LONGEST_TEXT_BYTES: usize = 1 << 16;
const MAP: u8 = 5;
/// A mapping of a file.
const FILE: u8 = 1;
const SHARED: u8 = 2;

/// Appends an event `distance` references after the last.
pub(crate) fn put_event(bytes: &mut Vec<u8>, distance: u32, event: &Event) {
    let shortened = |text: &str| {
        let mut ends = (0..=text.len().min(LONGEST_TEXT_BYTES)).rev();
        text[..ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0)].to_owned()
    };
    let written = match event {
        Event::Program { command } => {
            to_io(&(distance, Event::Program { command: shortened(command) }), bytes)
        }
        Event::Missed { reason } => {
            to_io(&(distance, Event::Missed { reason: shortened(reason) }), bytes)
        }
        Event::Map { address, length_bytes, file, shared } => {
            let flags = if *file { FILE } else { 0 } | if *shared { SHARED } else { 0 };
            to_io(&(distance, MAP, address, length_bytes, flags), bytes)
        }
        event => to_io(&(distance, event), bytes),
    };
    debug_assert!(written.is_ok(), "a vector takes everything");
}

/// All events with the references before each; `None` if malformed.
pub(crate) fn take_events(mut bytes: &[u8], head: &BlockHead) -> Option<Vec<(u32, Event)>> {
    let (mut events, mut at) = (Vec::new(), 0_u64);
    for _ in 0..head.events {
        let (distance, rest) = take_from_bytes(bytes).ok()?;
        at = at.checked_add(distance).filter(|at| *at <= u64::from(head.references))?;
        let (event, rest) = match rest.strip_prefix(&[MAP]) {
            None => take_from_bytes(rest).ok()?,
            Some(rest) => {
                let ((address, length_bytes, flags), rest) =
                    take_from_bytes::<(u64, u64, u8)>(rest).ok()?;
                let (file, shared) = (flags & FILE != 0, flags & SHARED != 0);
                (Event::Map { address, length_bytes, file, shared }, rest)
            }
        };
        events.push((at as u32, event));
        bytes = rest;
    }
    bytes.is_empty().then_some(events)
}
