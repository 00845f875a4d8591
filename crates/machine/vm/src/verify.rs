//! Whether two runs are the same bytes, and where they first differ.

use std::iter::repeat;

use model::Line;
use serde::Serialize;

/// Where two runs first differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Number of the line, from 1.
    pub line: usize,
    /// What the line is in the first run: its kind and its timestamp.
    pub event: String,
    /// Offset in the line of the first byte that differs, from 0.
    pub byte: usize,
    /// The bytes around it, of both.
    pub around: (String, String),
}

const AROUND_BYTES: usize = 40;

/// Compares two run files; `None` if they are the same bytes.
pub fn first_difference(first: &[u8], second: &[u8]) -> Option<Difference> {
    if first == second {
        return None;
    }
    let lines =
        |run| <[u8]>::split_inclusive(run, |byte| *byte == b'\n').chain(repeat(&[] as &[u8]));
    let mut both = (1..).zip(lines(first).zip(lines(second)));
    let (line, (ours, other)) = both.find(|(_, (ours, other))| ours != other)?;
    Some(difference(line, ours, other))
}

fn difference(line: usize, ours: &[u8], other: &[u8]) -> Difference {
    let byte = ours.iter().zip(other).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let from = byte.saturating_sub(AROUND_BYTES).min(bytes.len());
        let to = (byte + AROUND_BYTES).min(bytes.len());
        String::from_utf8_lossy(&bytes[from..to]).trim_end().to_owned()
    };
    let text = String::from_utf8_lossy(if ours.is_empty() { other } else { ours });
    let event = match Line::parse(text.trim_end()) {
        Ok(Line::Header(_)) => "the header".to_owned(),
        Ok(Line::Sample(sample)) => format!("sample {} at {} ns", sample.index, sample.at_ns),
        Ok(read) => match read.at_ns() {
            Some(at_ns) => format!("a line at {at_ns} ns"),
            None => "a line without a timestamp".to_owned(),
        },
        Err(_) => "a line that is cut off".to_owned(),
    };
    Difference { line, event, byte, around: (around(ours), around(other)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_event_is_named() {
        let run = |at_ns: u64| {
            format!(
                "{{\"kind\":\"phase\",\"at_ns\":1,\"phase\":\"warm\"}}\n\
                 {{\"kind\":\"phase\",\"at_ns\":{at_ns},\"phase\":\"stopped\"}}\n"
            )
        };
        assert_eq!(first_difference(run(7).as_bytes(), run(7).as_bytes()), None);
        let found = first_difference(run(70).as_bytes(), run(71).as_bytes()).unwrap();
        assert_eq!((found.line, found.byte), (2, 25));
        assert_eq!(found.event, "a line at 70 ns");
        assert!(found.around.0.contains("70") && found.around.1.contains("71"));
    }

    #[test]
    fn a_missing_end_is_a_difference() {
        let whole = b"{\"kind\":\"x\"}\n{\"kind\":\"y\"}\n";
        for (first, second) in [(&whole[..], &whole[..13]), (&whole[..13], &whole[..])] {
            assert_eq!(first_difference(first, second).unwrap().line, 2);
        }
    }
}
