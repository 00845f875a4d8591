//! Arguments of `thrashlab vm debug`: a point of a run, a condition on registers, an address.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use model::units::{exact_duration, parse_duration_ns};
use vm::{REGISTERS, Registers};

/// The registers of arguments, in order (System V ABI for x86-64).
const ARGUMENTS: [&str; 6] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];
/// Whether two numbers are as a condition says.
type Comparison = fn(u64, u64) -> bool;

/// Comparisons; the longer ones first.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("==", |left, right| left == right),
    ("!=", |left, right| left != right),
    ("<=", |left, right| left <= right),
    (">=", |left, right| left >= right),
    ("<", |left, right| left < right),
    (">", |left, right| left > right),
    ("&", |left, right| left & right != 0),
];

/// The most bytes that are watched.
const MOST_BYTES: u64 = 4096;

/// A point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// The intended start of a response.
    Response(u32),
    /// A time of the run, in ns.
    Time(u64),
    /// A time of the emulator, in ns.
    Clock(u64),
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is not a point of a run, e.g. response:3, 2.5s or clock:8123456784")
        };
        match text.split_once(':') {
            Some(("response" | "sample", index)) => index.parse().map(Self::Response),
            Some(("clock", time_ns)) => time_ns.parse().map(Self::Clock),
            _ => return parse_duration_ns(text).map(Self::Time).map_err(|_| wrong()),
        }
        .map_err(|_| wrong())
    }
}

impl Display for Point {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(index) => write!(formatter, "response:{index}"),
            Self::Time(time_ns) => formatter.write_str(&exact_duration(*time_ns)),
            Self::Clock(time_ns) => write!(formatter, "clock:{time_ns}"),
        }
    }
}

/// A condition on a register.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    text: String,
    register: usize,
    compares: Comparison,
    value: u64,
}

impl Condition {
    pub(super) fn holds(&self, registers: &Registers) -> bool {
        (self.compares)(registers[self.register], self.value)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a condition, e.g. 'arg1 == 0' or 'rdi & 4'");
        let found = COMPARISONS.iter().find_map(|(sign, compares)| {
            text.split_once(sign).map(|(register, value)| (register, *compares, value))
        });
        let (register, compares, value) = found.ok_or_else(wrong)?;
        let argument = register.trim().strip_prefix("arg");
        let name = match argument.and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => *ARGUMENTS.get(number.wrapping_sub(1)).ok_or_else(|| {
                format!("{text:?}: registers have the arguments arg1 to arg{}", ARGUMENTS.len())
            })?,
            None => register.trim(),
        };
        let register = REGISTERS.iter().position(|known| *known == name);
        let register = register.ok_or_else(|| {
            format!(
                "{text:?}: no register {name}; there are arg1 to arg6, {}",
                REGISTERS.join(", ")
            )
        })?;
        let value = number(value.trim()).ok_or_else(wrong)?;
        Ok(Self { text: text.to_owned(), register, compares, value })
    }
}

impl Display for Condition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Bytes in the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) address: u64,
    pub(super) size_bytes: u64,
}

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, size) = text.split_once(':').unwrap_or((text, "8"));
        let size_bytes = number(size).filter(|size| (1..=MOST_BYTES).contains(size));
        match (number(address), size_bytes) {
            (Some(address), Some(size_bytes)) => Ok(Self { address, size_bytes }),
            _ => Err(format!("{text:?} is not an address with a size of 1 to {MOST_BYTES} bytes")),
        }
    }
}

impl Display for Word {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}:{}", self.address, self.size_bytes)
    }
}

/// Decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_are_printed() {
        for (text, point) in [
            ("response:3", Point::Response(3)),
            ("2500ms", Point::Time(2_500_000_000)),
            ("clock:8123456784", Point::Clock(8_123_456_784)),
        ] {
            assert_eq!(text.parse(), Ok(point));
            assert_eq!(point.to_string().parse(), Ok(point));
        }
        assert_eq!("sample:3".parse(), Ok(Point::Response(3)));
        for wrong in ["", "response:", "response:x", "clock:-1", "other:1", "now"] {
            assert!(wrong.parse::<Point>().unwrap_err().contains("response:3"), "{wrong}");
        }
    }

    #[test]
    fn conditions_compare_registers() {
        let mut registers = [0; REGISTERS.len()];
        registers[5] = 6;
        for (text, expected) in [
            ("arg1 == 6", true),
            ("rdi==0x6", true),
            ("rdi != 6", false),
            ("arg1 & 4", true),
            ("arg1 & 1", false),
            ("arg1 <= 6", true),
            ("arg1 < 6", false),
            ("rsi >= 1", false),
        ] {
            assert_eq!(text.parse::<Condition>().unwrap().holds(&registers), expected, "{text}");
        }
        let refused = |text: &str| text.parse::<Condition>().unwrap_err();
        assert!(refused("arg7 == 1").contains("arg1 to arg6"));
        assert!(refused("eax == 1").contains("rax"));
        assert!(refused("arg1").contains("arg1 == 0"));
        assert!(refused("arg1 == x").contains("arg1 == 0"));
    }

    #[test]
    fn addresses_have_sizes() {
        let word = |address, size_bytes| Ok(Word { address, size_bytes });
        assert_eq!("0xffff888003a4c010".parse(), word(0xffff_8880_03a4_c010, 8));
        assert_eq!("16:4".parse(), word(16, 4));
        assert!("0x:1".parse::<Word>().is_err() && "1:0".parse::<Word>().is_err());
    }
}
