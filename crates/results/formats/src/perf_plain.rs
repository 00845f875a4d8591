//! Lines of `perf stat` as text and as CSV (`-x`, any separator), which people have more often than
//! JSON.
//!
//! A line of CSV has `[time,] [place,] value, unit, event, [deviation,] run time, share, …`. A line of
//! text has `[time] [place] value [unit] event`, and after `#` a metric. Numbers are in the locale
//! of who measured: a decimal comma is read where nothing else can be meant, and refused elsewhere.

/// A count as it is written.
#[derive(Debug, PartialEq)]
pub(super) struct PlainCount {
    /// The place that was counted: a CPU, a thread.
    pub(super) part: Option<String>,
    pub(super) event: String,
    pub(super) unit: String,
    /// The value, or perf's word for none.
    pub(super) value: Result<f64, String>,
    /// The end of the interval.
    pub(super) interval_s: Option<f64>,
    /// The share of the time in which it was counted, in %.
    pub(super) running: Option<f64>,
    /// Whether the value is a mean of several runs.
    pub(super) is_mean: bool,
}

/// Separators of CSV, those first that are never part of a number.
const SEPARATORS: [char; 6] = [';', '\t', '|', '!', ':', ','];
/// perf's markers of a missing count.
const ABSENT: [&str; 2] = ["<not supported>", "<not counted>"];
/// Units that perf prints next to counts.
const UNITS: [&str; 9] = ["", "msec", "ns", "Joules", "MiB", "KiB", "GiB", "C", "Bytes"];
/// What ends a line on a time of the whole command.
const TIMES: [&str; 4] = ["seconds time elapsed", "seconds user", "seconds sys", "+-"];

/// The heading of text on a command: `Performance counter stats for 'make':`.
pub(super) fn command(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("Performance counter stats for ")?;
    let end = rest.rfind(':').unwrap_or(rest.len());
    Some(rest[..end].split(" (").next().unwrap_or(rest).trim_matches('\''))
}

/// Whether a line is a count in CSV.
pub(super) fn is_csv(line: &str) -> bool {
    matches!(csv(line), Some(Ok(_)))
}

/// Whether a line is a count in text, if the file is of perf.
pub(super) fn is_text(line: &str) -> bool {
    text(line).is_some()
}

/// Whether a line is on a time of the whole command, which perf prints after the counts.
pub(super) fn is_end(line: &str) -> bool {
    TIMES.iter().any(|time| line.contains(time))
}

/// Reads a line; `None` for what is not a count. Fails for a number that may mean several.
pub(super) fn count(line: &str) -> Option<Result<PlainCount, String>> {
    csv(line).or_else(|| text(line))
}

fn csv(line: &str) -> Option<Result<PlainCount, String>> {
    SEPARATORS.iter().find_map(|separator| {
        let fields: Vec<&str> = line.split(*separator).map(str::trim).collect();
        (2..5_usize.min(fields.len())).find_map(|event| csv_count(&fields, event))
    })
}

/// A count whose event is this field.
fn csv_count(fields: &[&str], event: usize) -> Option<Result<PlainCount, String>> {
    let (value, unit) = (fields[event - 2], fields[event - 1]);
    let is_deviation = |field: &&str| field.ends_with('%');
    let after = &fields[event + 1..];
    let is_mean = after.first().is_some_and(is_deviation);
    let after = if is_mean { &after[1..] } else { after };
    let [run_time, share, ..] = after else { return None };
    // A share has two decimals: if commas separate, a decimal comma would shift all fields.
    let share = decimal(share).filter(|_| share.contains(['.', ',']))?;
    let fits = is_event(fields[event])
        && UNITS.contains(&unit)
        && run_time.bytes().all(|byte| byte.is_ascii_digit())
        && !run_time.is_empty()
        && (0.0..=100.5).contains(&share);
    if !fits {
        return None;
    }
    let value = match ABSENT.contains(&value) {
        true => Err(value.to_owned()),
        // Numbers of CSV are not grouped, so a comma is decimal.
        false => Ok(decimal(value)?),
    };
    let (interval_s, part) = match fields[..event - 2] {
        [] => (None, None),
        [one] => match decimal(one) {
            Some(time) => (Some(time), None),
            None => (None, Some(place(one))),
        },
        [time, one, ..] => (Some(decimal(time)?), Some(place(one))),
    };
    let (event, unit) = (fields[event].to_owned(), unit.to_owned());
    let running = Some(share);
    Some(Ok(PlainCount { part, event, unit, value, interval_s, running, is_mean }))
}

fn text(line: &str) -> Option<Result<PlainCount, String>> {
    let (counted, metric) = line.split_once('#').unwrap_or((line, ""));
    if counted.trim().is_empty() || TIMES.iter().any(|time| counted.contains(time)) {
        return None;
    }
    let line = counted.replace("<not supported>", "<not-supported>");
    let line = line.replace("<not counted>", "<not-counted>");
    let words: Vec<&str> = line.split_whitespace().collect();
    let (event, before) = words.split_last()?;
    // A share in parentheses stands after the event if it has no metric.
    let (event, before, share) = match event.strip_prefix('(').and_then(|it| it.strip_suffix("%)"))
    {
        Some(share) => {
            let (event, before) = before.split_last()?;
            (event, before, Some(share))
        }
        None => (event, before, None),
    };
    let (unit, before) = match before.split_last()? {
        (unit, rest) if UNITS.contains(unit) => (*unit, rest),
        _ => ("", before),
    };
    let (value, before) = before.split_last()?;
    if !is_event(event) {
        return None;
    }
    let value = match value.strip_prefix("<not-").and_then(|it| it.strip_suffix('>')) {
        Some(word) => Err(format!("<not {word}>")),
        None => match number(value, !unit.is_empty())? {
            Ok(value) => Ok(value),
            Err(why) => return Some(Err(why)),
        },
    };
    let (interval_s, part) = match before {
        [] => (None, None),
        [one] => match decimal(one) {
            Some(time) => (Some(time), None),
            None => (None, Some(place(one))),
        },
        [time, one] => (Some(decimal(time)?), Some(place(one))),
        _ => return None,
    };
    let in_metric = metric.rsplit_once('(').and_then(|(_, rest)| rest.trim().strip_suffix("%)"));
    let share = share.or(in_metric.filter(|it| !it.contains("+-")));
    let running = share.and_then(decimal);
    let is_mean = line.contains("+-") || metric.contains("+-");
    let (event, unit) = ((*event).to_owned(), unit.to_owned());
    Some(Ok(PlainCount { part, event, unit, value, interval_s, running, is_mean }))
}

/// Whether this may be the name of an event.
fn is_event(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:/.=,@".contains(c))
        && !UNITS.contains(&word)
}

fn place(word: &str) -> String {
    match word.strip_prefix("CPU").filter(|rest| rest.parse::<u32>().is_ok()) {
        Some(cpu) => format!("cpu {cpu}"),
        None => format!("place {word}"),
    }
}

/// A number without groups, whose comma is decimal.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.replace(',', ".");
    let fits = plain.chars().all(|c| c.is_ascii_digit() || c == '.') && !plain.is_empty();
    plain.parse().ok().filter(|number: &f64| fits && number.is_finite())
}

/// A number in text, with groups of thousands, and perhaps a part behind a point or comma. The
/// error is why it may mean several.
fn number(text: &str, may_have_part: bool) -> Option<Result<f64, String>> {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_mark = |c: char| ".,'\u{a0}\u{202f}\u{2019}".contains(c);
    if !text.starts_with(is_digit) || !text.ends_with(is_digit) {
        return None;
    }
    if !text.chars().all(|c| is_digit(c) || is_mark(c)) {
        return None;
    }
    let marks: Vec<char> = text.chars().filter(|c| is_mark(*c)).collect();
    let pieces: Vec<&str> = text.split(is_mark).collect();
    let in_groups = |pieces: &[&str]| {
        pieces.first().is_some_and(|first| first.len() <= 3)
            && pieces[1..].iter().all(|piece| piece.len() == 3)
    };
    let is_same = marks.windows(2).all(|pair| pair[0] == pair[1]);
    let last = pieces.last().map_or(0, |piece| piece.len());
    let (whole, part) = match marks.len() {
        0 => (text.to_owned(), String::new()),
        1 if may_have_part && last == 3 && marks[0] == ',' => {
            return Some(Err(format!(
                "{text} may be {} or {}: measure again with LC_ALL=C perf stat",
                pieces.concat(),
                pieces.join(".")
            )));
        }
        1 if may_have_part => (pieces[0].to_owned(), pieces[1].to_owned()),
        _ if !may_have_part || is_same => match is_same && in_groups(&pieces) {
            true => (pieces.concat(), String::new()),
            false => return None,
        },
        _ => {
            let (part, groups) = pieces.split_last()?;
            (in_groups(groups).then(|| groups.concat())?, (*part).to_owned())
        }
    };
    format!("{whole}.{part}0").parse().ok().map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> Option<f64> {
        count(line)?.ok()?.value.ok()
    }

    #[test]
    fn csv_of_any_separator_is_read() {
        for separator in [",", ";", "\t", "|", ":"] {
            let line = ["0.85", "msec", "task-clock", "854424", "100.00", "0.073", "CPUs utilized"];
            let found = count(&line.join(separator)).unwrap().unwrap();
            assert_eq!((found.event.as_str(), found.unit.as_str()), ("task-clock", "msec"));
            assert_eq!((found.value, found.running), (Ok(0.85), Some(100.0)));
        }
        let comma = count("0,85;msec;task-clock;854424;100,00;0,073;CPUs utilized").unwrap();
        assert_eq!(comma.unwrap().value, Ok(0.85));
        assert!(count("0,85,msec,task-clock,854424,100,00,0,073,CPUs utilized").is_none());
        let absent = count("<not supported>,,cycles,0,100.00,,").unwrap().unwrap();
        assert_eq!(absent.value, Err("<not supported>".to_owned()));
        let place = count("     0.05;CPU1;77;;page-faults;85;33.30;90.2;K/sec").unwrap().unwrap();
        assert_eq!((place.part.as_deref(), place.interval_s), (Some("cpu 1"), Some(0.05)));
        assert!(count("74,,page-faults,0.45%,706194,100.00,110.6,K/sec").unwrap().unwrap().is_mean);
    }

    #[test]
    fn text_is_read_with_groups_and_decimal_commas() {
        let line = "              0.81 msec task-clock      #    0.065 CPUs utilized          ";
        assert_eq!(value(line), Some(0.81));
        assert_eq!(
            value("   1,234,567      cycles      #  1.2 GHz      (33.30%)"),
            Some(1_234_567.0)
        );
        assert_eq!(value("   1.234.567      cycles"), Some(1_234_567.0));
        assert_eq!(value("          1,81 msec task-clock"), Some(1.81));
        assert_eq!(value("      1.234,56 msec task-clock"), Some(1234.56));
        assert_eq!(value("CPU0       54.42 msec task-clock"), Some(54.42));
        let absent = count("   <not counted>      page-faults").unwrap().unwrap();
        assert_eq!(absent.value, Err("<not counted>".to_owned()));
        let why = count("      1,234 msec task-clock").unwrap().unwrap_err();
        assert!(why.contains("LC_ALL=C"), "{why}");
        let shared = count("   7      cycles      #  1.2 GHz      (33.30%)").unwrap().unwrap();
        assert_eq!(shared.running, Some(33.3));
    }

    #[test]
    fn other_lines_are_not_counts() {
        for line in [
            "       0.012604129 seconds time elapsed",
            " Performance counter stats for 'sleep 0.01':",
            "#           time             counts unit events",
            "system,trial,cpu_s",
            "a,1,128",
            "BenchmarkX 1 100 ns/op",
            "",
        ] {
            assert!(count(line).is_none(), "{line}: {:?}", count(line));
        }
    }
}
