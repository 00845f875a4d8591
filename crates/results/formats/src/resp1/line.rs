//! Lines of a resp1 output, and the parts of a row.

use model::resp1::{Resp1Format, TESTS};

const COLUMNS: [&str; 6] = ["low", "high", "median", "average", "the 5th number", "the 6th number"];

pub(super) enum Shape {
    Blank,
    Title(Title),
    Groups,
    Heading(Resp1Format),
    /// A heading of resp1's delays with other columns after them: what these are.
    UnknownHeading(String),
    /// Well-formed or not.
    Row,
    Extra,
}

#[derive(Default, PartialEq)]
pub(super) struct Title {
    pub(super) cpus: Option<u32>,
    pub(super) memory_mb: Option<u64>,
    pub(super) minimum_points: Option<u32>,
    pub(super) interval_s: Option<f64>,
}

/// Removes escape sequences, control characters, byte order mark and trailing blanks; tabs and
/// carriage returns become blanks. Leading blanks stay.
pub(crate) fn clean(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\t' | '\r' => text.push(' '),
            '\u{feff}' => {}
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Skips the rest of an escape sequence.
fn skip_escape(chars: &mut std::str::Chars) {
    match chars.next() {
        // Control sequence: up to a character from `@` to `~`.
        Some('[') => {
            chars.find(|c| ('@'..='~').contains(c));
        }
        // Operating system command: up to BEL, or ESC and one more character.
        Some(']') => {
            let end = chars.find(|c| matches!(c, '\u{7}' | '\u{1b}'));
            if end == Some('\u{1b}') {
                chars.next();
            }
        }
        _ => {}
    }
}

pub(super) fn shape(text: &str) -> Shape {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((first, rest)) = words.split_first() else {
        return Shape::Blank;
    };
    if first.starts_with("__") && (text.contains("delay ms") || text.contains("Ratio")) {
        return Shape::Groups;
    }
    if let Some(shape) = heading(&words) {
        return shape;
    }
    if let Some(title) = title(&words) {
        return Shape::Title(title);
    }
    let numbers = rest.iter().filter(|word| looks_numeric(word)).count();
    let (known, indented) = (TESTS.contains(first), text.starts_with(' '));
    let least_alone = match (known, indented) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 5,
    };
    let alone = numbers == rest.len() && numbers >= least_alone;
    let most = 2 * numbers > rest.len() && numbers >= least_alone.max(4);
    if is_test_name(first) && (alone || most) { Shape::Row } else { Shape::Extra }
}

fn heading(words: &[&str]) -> Option<Shape> {
    let is = |index: usize, name: &str| {
        words.get(index).is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    let delays = ["test", "low", "high", "median", "average"];
    let delays = delays.iter().enumerate().all(|(index, name)| is(index, name));
    match delays && words.len() >= 7 {
        false => None,
        true if words.len() > 7 => Some(Shape::UnknownHeading(words[5..].join(" "))),
        true if is(5, "s.d.") && is(6, "ratio") => Some(Shape::Heading(Resp1Format::First)),
        true if is(5, "raw") && is(6, "s.d.") => Some(Shape::Heading(Resp1Format::Second)),
        true => Some(Shape::UnknownHeading(words[5..].join(" "))),
    }
}

fn title(words: &[&str]) -> Option<Title> {
    let run = words.iter().any(|word| word.trim_end_matches(',') == "run");
    if words.first() != Some(&"Starting") || !run {
        return None;
    }
    let mut title = Title::default();
    for pair in words.windows(2) {
        let number = pair[0].trim_end_matches(',');
        match pair[1].trim_end_matches(',') {
            "CPU" | "CPUs" => title.cpus = title.cpus.or(number.parse().ok()),
            "MB" => title.memory_mb = title.memory_mb.or(number.parse().ok()),
            "data" => title.minimum_points = title.minimum_points.or(number.parse().ok()),
            "sec" => title.interval_s = title.interval_s.or_else(|| interval_s(number)),
            _ => {}
        }
    }
    (title != Title::default()).then_some(title)
}

fn interval_s(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && !value.is_sign_negative())
}

fn is_test_name(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+/".contains(c))
        && word.chars().any(|c| c.is_ascii_alphabetic())
        && word.parse::<f64>().is_err()
}

/// Whether a word is in a number's position, even if damaged.
fn looks_numeric(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    word == "-"
        || digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || word.parse::<f64>().is_ok()
}

/// A parsed row of unknown format.
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) test: String,
    /// Low, high, median and average, in ms.
    pub(super) delays_ms: [f64; 4],
    /// `None` for a printed `-`.
    pub(super) last: [Option<f64>; 2],
}

impl Row {
    pub(super) fn parse(line: usize, text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let test = words.next().unwrap_or_default().to_owned();
        let cells: Vec<&str> = words.collect();
        let &[_, _, _, _, fifth, sixth] = cells.as_slice() else {
            return Err(format!(
                "row {test:?} has {} numbers; both formats have 6 (low, high, median, average and \
                 two more)",
                cells.len()
            ));
        };
        let mut delays_ms = [0.0; 4];
        for ((place, column), cell) in delays_ms.iter_mut().zip(COLUMNS).zip(&cells) {
            *place = number(column, cell)?;
        }
        let optional = |column, cell| match cell {
            "-" => Ok(None),
            cell => number(column, cell).map(Some),
        };
        let last = [optional(COLUMNS[4], fifth)?, optional(COLUMNS[5], sixth)?];
        let row = Self { line, test, delays_ms, last };
        row.check_order()?;
        Ok(row)
    }

    pub(super) fn average_ms(&self) -> f64 {
        self.delays_ms[3]
    }

    /// Low ≤ median, average ≤ high; the average may be off by one printed unit, as a rounded sum.
    fn check_order(&self) -> Result<(), String> {
        let [low_ms, high_ms, median_ms, average_ms] = self.delays_ms;
        for (column, value_ms, slack_ms) in
            [("median", median_ms, 0.0), ("average", average_ms, 0.001_000_1)]
        {
            if value_ms < low_ms - slack_ms || value_ms > high_ms + slack_ms {
                return Err(format!(
                    "the {column} {value_ms:.3} ms lies outside low {low_ms:.3} and high \
                     {high_ms:.3} ms"
                ));
            }
        }
        Ok(())
    }
}

fn number(column: &str, text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| not_a_number(column, text))?;
    match value.is_finite() && value >= 0.0 {
        true => Ok(value.abs()),
        false => Err(format!("{column} is {text}; delays and ratios are finite and not negative")),
    }
}

pub(super) fn not_a_number(column: &str, text: &str) -> String {
    format!("{column} is {text:?}, which is not a number")
}
