//! What a profile needs to know of a guest: its kernel's functions, and how its clocks are related.
//!
//! A guest prints this instead of running a cell. It continues from the same booted machine as the
//! cells do, so the kernel and its modules are at the same addresses there.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use sys::clock::{counter_and_monotonic_ns, realtime_offset_ns};

use crate::at;
use crate::btf::field_offset;
use crate::channel::{Channel, end};

const SYMBOLS: &str = "/proc/kallsyms";
/// Between two readings of the clocks: the guest's time costs nothing while it is idle.
const BETWEEN_READINGS: Duration = Duration::from_secs(100);

/// The kernel's type information, and the fields that are printed: a name, and names of the kernel's.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
const TASK: &str = "task_struct";
const FIELDS: [(&str, &[&str]); 3] =
    [("pid", &["pid"]), ("name", &["comm"]), ("state", &["__state", "state"])];

/// Prints `clock COUNTER MONOTONIC` twice, `realtime OFFSET`, `field NAME OFFSET` for the known fields
/// of tasks, the lines of `/proc/kallsyms` that are functions, and `end`.
pub(crate) fn print(channel: &mut Channel) -> Result<(), String> {
    clock(channel)?;
    std::thread::sleep(BETWEEN_READINGS);
    clock(channel)?;
    line(channel, format!("realtime {}", realtime_offset_ns()).as_bytes())?;
    // A kernel may be built without it.
    let types = fs::read(TYPES).unwrap_or_default();
    for (field, names) in FIELDS {
        let offset = names.iter().find_map(|name| field_offset(&types, TASK, name));
        if let Some(offset) = offset {
            line(channel, format!("field {field} {offset}").as_bytes())?;
        }
    }
    let file = File::open(SYMBOLS).map_err(at(format!("open {SYMBOLS}")))?;
    for symbol in BufReader::new(file).split(b'\n') {
        let symbol = symbol.map_err(at(format!("read {SYMBOLS}")))?;
        if is_function(&symbol) {
            line(channel, &symbol)?;
        }
    }
    line(channel, b"end")?;
    end();
    Ok(())
}

fn clock(channel: &mut Channel) -> Result<(), String> {
    let (counter, monotonic_ns) = counter_and_monotonic_ns().map_err(at("read the clocks"))?;
    line(channel, format!("clock {counter} {monotonic_ns}").as_bytes())
}

fn line(channel: &mut Channel, text: &[u8]) -> Result<(), String> {
    channel.write_all(&[text, b"\n"].concat()).map_err(at("write to the channel"))
}

/// Whether a line is `ADDRESS t NAME`, with one of the letters of code.
fn is_function(symbol: &[u8]) -> bool {
    matches!(symbol.split(|byte| *byte == b' ').nth(1), Some(b"t" | b"T" | b"w" | b"W"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_from_data() {
        assert!(is_function(b"ffffffff81000000 T _text"));
        assert!(is_function(b"ffffffffc0000000 t f\t[scsi_debug]"));
        assert!(!is_function(b"ffffffff82000000 d data"));
        assert!(!is_function(b""));
    }
}
