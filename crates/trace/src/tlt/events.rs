//! The events column: for each event how many references further it stands, its kind, its fields.

use super::limits::LONGEST_TEXT_BYTES;
use super::varint::{put, take, take_byte};
use crate::Event;

/// A mapping's backing is a file.
const FILE: u8 = 1;
/// A mapping is shared.
const SHARED: u8 = 2;

/// Appends an event that stands `distance` references behind the one before.
pub(crate) fn put_event(bytes: &mut Vec<u8>, distance: u32, event: &Event) {
    put(bytes, u64::from(distance));
    match event {
        Event::Program { command } => {
            bytes.push(0);
            put_text(bytes, command);
        }
        Event::ThreadStart => bytes.push(1),
        Event::ThreadEnd => bytes.push(2),
        Event::Fork { child } => {
            bytes.push(3);
            put(bytes, u64::from(*child));
        }
        Event::Exit => bytes.push(4),
        Event::Map { address, length_bytes, file, shared } => {
            bytes.push(5);
            put(bytes, *address);
            put(bytes, *length_bytes);
            bytes.push(if *file { FILE } else { 0 } | if *shared { SHARED } else { 0 });
        }
        Event::Unmap { address, length_bytes } => {
            bytes.push(6);
            put(bytes, *address);
            put(bytes, *length_bytes);
        }
        Event::Break { address } => {
            bytes.push(7);
            put(bytes, *address);
        }
        Event::Missed { reason } => {
            bytes.push(8);
            put_text(bytes, reason);
        }
    }
}

/// Appends a text, or as much of it as the format allows.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(LONGEST_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    put(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

/// Takes an event and its distance off the front; `None` if there is none.
pub(crate) fn take_event(bytes: &mut &[u8]) -> Option<(u64, Event)> {
    let distance = take(bytes)?;
    let event = match take_byte(bytes)? {
        0 => Event::Program { command: take_text(bytes)? },
        1 => Event::ThreadStart,
        2 => Event::ThreadEnd,
        3 => Event::Fork { child: u32::try_from(take(bytes)?).ok()? },
        4 => Event::Exit,
        5 => {
            let (address, length_bytes) = (take(bytes)?, take(bytes)?);
            let flags = take_byte(bytes)?;
            Event::Map {
                address,
                length_bytes,
                file: flags & FILE != 0,
                shared: flags & SHARED != 0,
            }
        }
        6 => Event::Unmap { address: take(bytes)?, length_bytes: take(bytes)? },
        7 => Event::Break { address: take(bytes)? },
        8 => Event::Missed { reason: take_text(bytes)? },
        _ => return None,
    };
    Some((distance, event))
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}
