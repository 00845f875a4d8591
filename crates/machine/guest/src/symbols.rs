//! What a profile needs to know of a guest: its kernel's functions, and how its clocks are related.
//!
//! A guest prints this instead of running a cell. It continues from the same booted machine as the
//! cells do, so the kernel and its modules are at the same addresses there.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use sys::clock::{counter_and_monotonic_ns, realtime_offset_ns};

use crate::at;
use crate::btf::Types;
use crate::channel::{Channel, end};

const SYMBOLS: &str = "/proc/kallsyms";
/// Between two readings of the clocks: the guest's time costs nothing while it is idle.
const BETWEEN_READINGS: Duration = Duration::from_secs(100);

/// The kernel's type information.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// A field: a structure, and the names that it has in one kernel or another.
type Step = (&'static str, &'static [&'static str]);
/// The fields that are printed: a name, and a field with the fields in it that lead there.
const FIELDS: [(&str, &[Step]); 11] = [
    ("pid", &[("task_struct", &["pid"])]),
    ("name", &[("task_struct", &["comm"])]),
    ("state", &[("task_struct", &["__state", "state"])]),
    ("start", &[("vm_area_struct", &["vm_start"])]),
    ("end", &[("vm_area_struct", &["vm_end"])]),
    ("page", &[("vm_area_struct", &["vm_pgoff"])]),
    ("rights", &[("vm_area_struct", &["vm_flags"])]),
    ("file", &[("vm_area_struct", &["vm_file"])]),
    ("place", &[("file", &["f_path"]), ("path", &["dentry"])]),
    ("folder", &[("dentry", &["d_parent"])]),
    ("text", &[("dentry", &["d_name"]), ("qstr", &["name"])]),
];

/// Prints `clock COUNTER MONOTONIC` twice, `realtime OFFSET`, `field NAME OFFSET` for the known fields
/// of the kernel's structures, the lines of `/proc/kallsyms` that are functions, and `end`.
pub(crate) fn print(channel: &mut Channel) -> Result<(), String> {
    clock(channel)?;
    std::thread::sleep(BETWEEN_READINGS);
    clock(channel)?;
    line(channel, format!("realtime {}", realtime_offset_ns()).as_bytes())?;
    // A kernel may be built without it.
    let types = fs::read(TYPES).unwrap_or_default();
    let types = Types::of(&types);
    for (field, steps) in FIELDS {
        if let Some(offset) = types.as_ref().and_then(|types| offset(types, steps)) {
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

/// The distance of the last field from the beginning of the first structure, in bytes.
fn offset(types: &Types<'_>, steps: &[Step]) -> Option<u64> {
    let step = |(structure, names): &Step| {
        names.iter().find_map(|name| types.field_offset(structure, name))
    };
    steps.iter().map(step).sum()
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
