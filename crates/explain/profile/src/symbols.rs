//! The functions of a guest's kernel, and its clocks, as the guest prints them.

use std::collections::BTreeMap;

use crate::Area;
use crate::clock::Clock;
use crate::kinds::{self, Kinds};
use crate::plan::{FIELDS, Fields, Function, Kind, OF_CALLER, Plan, function_around};

/// The name of code without a symbol.
pub(crate) const UNKNOWN: &str = "[unknown]";
/// More than any kernel has.
const MOST_FUNCTIONS: usize = 4 << 20;
const LAST_LINE: &str = "end";
/// The names of `plan::Field` in the order of their numbers.
const FIELD_NAMES: [&str; FIELDS] =
    ["pid", "name", "state", "start", "end", "page", "rights", "file", "place", "folder", "text"];

/// The functions of a guest, by number, and its clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    names: Vec<String>,
    functions: Vec<Function>,
    clock: Clock,
    fields: Fields,
}

/// Why a guest's symbols cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolsError {
    /// It is not what a guest prints.
    #[error("line {line} of the guest's symbols cannot be read: {text:?}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// The last line is missing.
    #[error("the guest's symbols end early, after {0} lines")]
    CutOff(usize),
    /// It has no clock.
    #[error("the guest did not print two readings of its clocks")]
    NoClock,
    /// It has no functions.
    #[error(
        "the guest's kernel shows no addresses of functions in /proc/kallsyms; a profile needs a \
         kernel with CONFIG_KALLSYMS and kernel.kptr_restrict below 2"
    )]
    NoFunctions,
    /// It has too many.
    #[error("the guest's kernel claims to have more than {MOST_FUNCTIONS} functions")]
    TooMany,
}

impl Symbols {
    /// Reads what a guest printed.
    pub fn parse(bytes: &[u8]) -> Result<Self, SymbolsError> {
        let mut clocks = Vec::new();
        let mut realtime_offset_ns = None;
        let mut found = BTreeMap::new();
        let mut fields = Fields::default();
        let mut last = 0;
        let mut is_whole = false;
        for (line, bytes) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            last = line;
            let text = String::from_utf8_lossy(bytes);
            if text == LAST_LINE {
                is_whole = true;
                break;
            }
            let wrong = || SymbolsError::Line { line, text: text.chars().take(80).collect() };
            match text.split_once(' ').ok_or_else(wrong)? {
                ("clock", rest) => {
                    let (counter, monotonic) = rest.split_once(' ').ok_or_else(wrong)?;
                    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
                    clocks.push((number(counter)?, number(monotonic)?));
                }
                ("realtime", rest) => {
                    realtime_offset_ns = Some(rest.parse().map_err(|_| wrong())?);
                }
                ("field", rest) => {
                    let (name, offset) = rest.split_once(' ').ok_or_else(wrong)?;
                    let field = FIELD_NAMES.iter().position(|known| *known == name);
                    fields.0[field.ok_or_else(wrong)?] = offset.parse().map_err(|_| wrong())?;
                }
                (address, rest) => {
                    let address = u64::from_str_radix(address, 16).map_err(|_| wrong())?;
                    let (letter, name) = rest.split_once(' ').ok_or_else(wrong)?;
                    add(&mut found, address, letter, name)?;
                }
            }
        }
        if !is_whole {
            return Err(SymbolsError::CutOff(last));
        }
        let ([first, last], Some(realtime_offset_ns)) = (&clocks[..], realtime_offset_ns) else {
            return Err(SymbolsError::NoClock);
        };
        let clock = Clock { first: *first, last: *last, realtime_offset_ns };
        if !clock.goes() {
            return Err(SymbolsError::NoClock);
        }
        Self::of(&found, clock, fields)
    }

    fn of(
        found: &BTreeMap<u64, (bool, String)>,
        clock: Clock,
        fields: Fields,
    ) -> Result<Self, SymbolsError> {
        if found.is_empty() {
            return Err(SymbolsError::NoFunctions);
        }
        let kinds = Kinds::of(found.values().map(|(_, name)| name.as_str()));
        let mut symbols = Self { names: Vec::new(), functions: Vec::new(), clock, fields };
        let mut next = found.keys().copied().skip(1);
        for (address, (_, name)) in found {
            let end = next.next().unwrap_or(*address);
            let kind = kinds.kind(name);
            let area = Area::of(name, Some(kind)).map_or(OF_CALLER, Area::number);
            // Any of the stubs is entered.
            let size = if kinds::is_stubs(name) { (end - address).min(1 << 16) } else { 1 };
            for offset in (0..size.max(1)).step_by(kinds::STUB_BYTES as usize) {
                symbols.names.push(name.clone());
                symbols.functions.push(Function { address: address + offset, kind, area });
            }
        }
        Ok(symbols)
    }

    /// The name of a function by its number, with its module.
    pub(crate) fn name(&self, function: u32) -> &str {
        self.names.get(function as usize).map_or(UNKNOWN, String::as_str)
    }

    pub(crate) fn kind(&self, function: u32) -> Option<Kind> {
        self.functions.get(function as usize).map(|it| it.kind)
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// The emulator's time at this time of a run that started at a time of day, in ns.
    pub fn virtual_ns(&self, started_unix_ns: u64, time_ns: u64) -> u64 {
        self.clock.virtual_ns(started_unix_ns.saturating_add(time_ns))
    }

    /// The time of a run that started at a time of day, at this time of the emulator, in ns; 0 before
    /// its start.
    pub fn run_ns(&self, started_unix_ns: u64, virtual_ns: u64) -> u64 {
        self.clock.realtime_ns(virtual_ns).saturating_sub(started_unix_ns)
    }

    /// The addresses of the functions of this name, without that of their module.
    pub fn addresses_of(&self, name: &str) -> Vec<u64> {
        let is_it = |known: &str| known.split(' ').next() == Some(name);
        let found = self.names.iter().zip(&self.functions).filter(|(known, _)| is_it(known));
        found.map(|(_, function)| function.address).collect()
    }

    /// The function at an address and the distance from its beginning, in bytes; `None` before the
    /// first function, which is user code.
    pub fn place(&self, address: u64) -> Option<(&str, u64)> {
        let number = function_around(&self.functions, address)?;
        Some((self.name(number), address - self.functions[number as usize].address))
    }

    /// Names and addresses of all functions, ascending.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().zip(&self.functions).map(|(name, it)| (name.as_str(), it.address))
    }

    /// The emulator's times of a part of a run that started at a time of day; without limits all of it,
    /// and what is before and after.
    pub fn window(
        &self,
        started_unix_ns: u64,
        since_ns: Option<u64>,
        until_ns: Option<u64>,
    ) -> std::ops::Range<u64> {
        let at = |time_ns: u64| self.virtual_ns(started_unix_ns, time_ns);
        since_ns.map_or(0, at)..until_ns.map_or(u64::MAX, at)
    }

    /// What the plugin has to know to cut the counts at these times of a run that started at a time of
    /// day. Times are in ns of the run, ascending.
    pub fn plan(&self, started_unix_ns: u64, times_ns: &[u64]) -> Vec<u8> {
        let at = |time_ns: &u64| self.virtual_ns(started_unix_ns, *time_ns);
        let times_ns = times_ns.iter().map(at).collect();
        let (fields, functions) = (self.fields, self.functions.clone());
        Plan { fields, watched: None, times_ns, functions }.encode()
    }
}

/// Adds a function; of several names at one address, a global one.
fn add(
    found: &mut BTreeMap<u64, (bool, String)>,
    address: u64,
    letter: &str,
    name: &str,
) -> Result<(), SymbolsError> {
    if address == 0 {
        // Hidden from this process.
        return Ok(());
    }
    if found.len() == MOST_FUNCTIONS {
        return Err(SymbolsError::TooMany);
    }
    let is_global = letter == "T";
    let name = match name.split_once('\t') {
        Some((name, module)) => format!("{name} {module}"),
        None => name.to_owned(),
    };
    let place = found.entry(address).or_insert_with(|| (is_global, name.clone()));
    if is_global && !place.0 {
        *place = (true, name);
    }
    Ok(())
}

#[cfg(test)]
pub(crate) const PRINTED: &str = "\
clock 1000 50
clock 2000 1050
realtime 7
ffffffff81000000 T _stext
ffffffff81000010 t helper
ffffffff81000010 T global
ffffffff81000020 T irq_entries_start
ffffffff81000030 T after
ffffffffc0000000 t scsi\t[scsi_debug]
0 t hidden
end
";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn functions_have_their_names_and_numbers() {
        let symbols = Symbols::parse(PRINTED.as_bytes()).unwrap();
        let names = ["_stext", "global", "irq_entries_start", "irq_entries_start", "after"];
        for (number, name) in (0..).zip(names) {
            assert_eq!(symbols.name(number), name);
        }
        assert_eq!(symbols.name(5), "scsi [scsi_debug]");
        assert_eq!((symbols.name(6), symbols.count()), (UNKNOWN, 6));
        assert_eq!(symbols.kind(3), Some(Kind::Entry));
        assert_eq!(symbols.addresses_of("global"), [0xffff_ffff_8100_0010]);
        assert_eq!(symbols.addresses_of("scsi"), [0xffff_ffff_c000_0000]);
        assert_eq!(symbols.addresses_of("helper").len(), 0);
        assert_eq!(symbols.place(0xffff_ffff_8100_0011), Some(("global", 1)));
        assert_eq!(symbols.place(0x40_0000), None);
    }

    #[test]
    fn a_plan_has_virtual_times() {
        let symbols = Symbols::parse(PRINTED.as_bytes()).unwrap();
        let plan = Plan::decode(&symbols.plan(57, &[0, 100])).unwrap();
        assert_eq!(plan.times_ns, [1000, 1100]);
        assert_eq!(plan.functions.len(), 6);
        assert_eq!(plan.function_at(0xffff_ffff_8100_0028), Some(3));
    }

    #[test]
    fn what_is_cut_off_or_hidden_is_refused() {
        for length in 0..PRINTED.len() - 1 {
            assert!(Symbols::parse(&PRINTED.as_bytes()[..length]).is_err(), "{length}");
        }
        let hidden = "clock 1 1\nclock 2 2\nrealtime 0\n0 T f\nend\n";
        assert_eq!(Symbols::parse(hidden.as_bytes()), Err(SymbolsError::NoFunctions));
        let stopped = "clock 1 1\nclock 2 1\nrealtime 0\n1 T f\nend\n";
        assert_eq!(Symbols::parse(stopped.as_bytes()), Err(SymbolsError::NoClock));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            let _ = Symbols::parse(&bytes);
        }
    }
}
