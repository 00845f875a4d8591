//! Units of other programs: which of them measure one dimension, and their ratio.
//!
//! A unit is a numerator and perhaps a divisor, `ns/op`. Both sides are looked up, so `ms/op` and
//! `ns/op` convert, while `s/op` and `op/s` stay apart. A unit that is not in the table is a
//! dimension of its own and converts into itself only.

/// What a unit measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The dimension: units convert into each other if it is equal.
    pub dimension: String,
    /// How many base units one of these is; the base units are ns, B, bit, and single events.
    pub factor: f64,
}

/// Names of units, their dimension, and their size in base units.
const UNITS: [(&[&str], &str, f64); 30] = [
    (&["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"], "time", 1.0),
    (&["us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds"], "time", 1e3),
    (&["ms", "msec", "msecs", "millisecond", "milliseconds"], "time", 1e6),
    (&["s", "sec", "secs", "second", "seconds"], "time", 1e9),
    (&["min", "mins", "minute", "minutes"], "time", 60e9),
    (&["h", "hour", "hours"], "time", 3600e9),
    (&["B", "byte", "bytes", "Byte", "Bytes"], "bytes", 1.0),
    (&["kB", "KB"], "bytes", 1e3),
    (&["MB"], "bytes", 1e6),
    (&["GB"], "bytes", 1e9),
    (&["TB"], "bytes", 1e12),
    (&["KiB"], "bytes", 1024.0),
    (&["MiB"], "bytes", 1_048_576.0),
    (&["GiB"], "bytes", 1_073_741_824.0),
    (&["TiB"], "bytes", 1_099_511_627_776.0),
    (&["bit", "bits"], "bits", 1.0),
    (&["kbit", "Kbit", "kbits", "Kbits"], "bits", 1e3),
    (&["Mbit", "Mbits"], "bits", 1e6),
    (&["Gbit", "Gbits"], "bits", 1e9),
    (&["Hz"], "frequency", 1.0),
    (&["kHz"], "frequency", 1e3),
    (&["MHz"], "frequency", 1e6),
    (&["GHz"], "frequency", 1e9),
    (&["uJ"], "energy", 1e-6),
    (&["mJ"], "energy", 1e-3),
    (&["J", "Joule", "Joules", "joules"], "energy", 1.0),
    (&["kJ"], "energy", 1e3),
    (&["mW"], "power", 1e-3),
    (&["W", "Watt", "Watts", "watts"], "power", 1.0),
    (&["%", "percent", "Percent", "pct"], "share", 1.0),
];

/// A longer name of a unit is a word.
const LONGEST_SYMBOL: usize = 3;

/// Rates in one word, and how they are written with a divisor.
const RATES: [(&str, &str); 13] = [
    ("Bps", "B/s"),
    ("KBps", "KB/s"),
    ("MBps", "MB/s"),
    ("GBps", "GB/s"),
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("Kbps", "kbit/s"),
    ("Mbps", "Mbit/s"),
    ("Gbps", "Gbit/s"),
    ("FLOPS", "flop/s"),
    ("KFLOPS", "kflop/s"),
    ("MFLOPS", "Mflop/s"),
    ("GFLOPS", "Gflop/s"),
];

/// Things that are counted, in words that may have a prefix: `kops`, `Mflop`.
const COUNTED: [&str; 15] = [
    "op", "ops", "flop", "flops", "req", "reqs", "request", "requests", "pkt", "packets", "IOPS",
    "iops", "tps", "hash", "inst",
];
const PREFIXES: [(&str, f64); 6] =
    [("k", 1e3), ("K", 1e3), ("M", 1e6), ("Million ", 1e6), ("G", 1e9), ("T", 1e12)];

impl Quantity {
    /// The quantity of a unit as written by a program.
    pub fn of_unit(unit: &str) -> Self {
        let unit = unit.trim();
        let unit = RATES.iter().find(|(word, _)| *word == unit).map_or(unit, |(_, rate)| rate);
        let (above, below) = match unit.split_once('/') {
            Some((above, below)) => (above, Some(below)),
            None => match unit.split_once(" per ").or_else(|| unit.split_once(" Per ")) {
                Some((above, below)) => (above, Some(below)),
                None => (unit, None),
            },
        };
        let (above, factor) = single(above.trim());
        let Some(below) = below else { return Self { dimension: above, factor } };
        let (below, divisor) = single(below.trim());
        Self { dimension: format!("{above}/{below}"), factor: factor / divisor }
    }

    /// How many of `other` one of these is; `None` if they measure different things.
    pub fn in_units_of(&self, other: &Self) -> Option<f64> {
        (self.dimension == other.dimension).then(|| self.factor / other.factor)
    }

    /// The usual unit of the dimension, which does not depend on how a program writes it; `None` if
    /// this is the only known unit of its dimension.
    pub fn usual_unit(&self) -> Option<String> {
        let (above, below) = match self.dimension.split_once('/') {
            Some((above, below)) => (above, Some(below)),
            None => (self.dimension.as_str(), None),
        };
        let rate = below == Some("time");
        let base = match above {
            "time" => "ns",
            "bytes" if rate => "MB",
            "bytes" => "B",
            "bits" if rate => "Mbit",
            "bits" => "bit",
            "frequency" => "Hz",
            "energy" => "J",
            "power" => "W",
            "share" => "%",
            other if rate || COUNTED.contains(&other) => other,
            _ => return None,
        };
        Some(match below {
            None => base.to_owned(),
            Some("time") => format!("{base}/s"),
            Some("ops") => format!("{base}/op"),
            Some(other) => format!("{base}/{other}"),
        })
    }
}

/// Converts a value by a factor. A factor below 1 divides, so that decimal figures stay decimal.
pub fn scaled(value: f64, factor: f64) -> f64 {
    let divisor = (1.0 / factor).round();
    let is_whole = factor < 1.0 && (divisor * factor - 1.0).abs() < 1e-12;
    if is_whole { value / divisor } else { value * factor }
}

/// The dimension of a unit without a divisor, and its size.
fn single(unit: &str) -> (String, f64) {
    let named = |unit: &str| UNITS.iter().find(|(names, ..)| names.contains(&unit));
    // Short names differ by case: MB and Mb. Whole words do not.
    let is_word = unit.len() > LONGEST_SYMBOL;
    let known = named(unit).or_else(|| named(&unit.to_lowercase()).filter(|_| is_word));
    if let Some((_, dimension, factor)) = known {
        return ((*dimension).to_owned(), *factor);
    }
    let counted = PREFIXES.iter().find_map(|(prefix, factor)| {
        let word = unit.strip_prefix(prefix)?.trim_start();
        COUNTED.contains(&word).then(|| (plural(word), *factor))
    });
    let lower = unit.to_lowercase();
    let plain = if COUNTED.contains(&&*lower) { &lower } else { unit };
    counted.unwrap_or_else(|| (plural(plain), 1.0))
}

/// One name of what is counted, whether written as one or as many.
fn plural(word: &str) -> String {
    match word {
        "op" | "req" | "request" | "flop" => format!("{word}s"),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(from: &str, to: &str) -> Option<f64> {
        Quantity::of_unit(from).in_units_of(&Quantity::of_unit(to))
    }

    #[test]
    fn units_of_one_dimension_convert() {
        for (from, to, expected) in [
            ("msec", "ns", 1e6),
            ("Seconds", "ms", 1e3),
            ("us/op", "ns/op", 1e3),
            ("GB/s", "MB/s", 1e3),
            ("MB/sec", "MBps", 1.0),
            ("kops/s", "op/s", 1e3),
            ("jobs/min", "jobs/s", 1.0 / 60.0),
            ("score", "score", 1.0),
        ] {
            let found = factor(from, to).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-12, "{from} {to}: {found}");
        }
    }

    #[test]
    fn what_measures_something_else_stays_apart() {
        for (from, to) in
            [("s/op", "op/s"), ("sign/s", "verify/s"), ("ns", "B"), ("MB/s", "Mbit/s"), ("", "ns")]
        {
            assert_eq!(factor(from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn a_dimension_has_one_usual_unit() {
        for (unit, usual) in [
            ("msec", "ns"),
            ("us/op", "ns/op"),
            ("B/s", "MB/s"),
            ("Requests Per Second", "requests/s"),
            ("KB/op", "B/op"),
            ("sign/s", "sign/s"),
        ] {
            assert_eq!(Quantity::of_unit(unit).usual_unit().as_deref(), Some(usual), "{unit}");
            assert!(factor(unit, usual).is_some(), "{unit} {usual}");
        }
        assert_eq!(Quantity::of_unit("score").usual_unit(), None);
    }

    #[test]
    fn decimal_figures_stay_decimal() {
        assert_eq!(scaled(101_000_000.0, 1e-6), 101.0);
        assert_eq!(scaled(1.5, 1e3), 1500.0);
    }
}
