//! A recording: snapshots in a file, so that a diagnosis can be repeated elsewhere.
//!
//! Its JSON lines are the header and the snapshots. A truncated last line is omitted.

use model::{Environment, Unavailable};
use serde::{Deserialize, Serialize};

use crate::snapshot::page_bytes;
use crate::{Snapshot, UnitCosts};

/// Version of the format.
pub const RECORDING_SCHEMA: u32 = 1;

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// What the file is: `doctor-recording`.
    pub kind: String,
    /// [`RECORDING_SCHEMA`].
    pub schema: u32,
    /// Version of thrashlab.
    pub thrashlab: String,
    /// Time of day at the start, in ns since 1970 UTC.
    pub started_unix_ns: u64,
    /// Facts of the machine.
    pub environment: Environment,
    /// Unavailable counters, with reasons.
    pub missed: Vec<Unavailable>,
    /// Costs of operations on it.
    pub costs: UnitCosts,
}

impl RecordingHeader {
    /// The value of [`RecordingHeader::kind`].
    pub const KIND: &'static str = "doctor-recording";
}

/// Snapshots of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The first line.
    pub header: RecordingHeader,
    /// The snapshots in order of time.
    pub snapshots: Vec<Snapshot>,
}

impl Recording {
    /// Reads a recording. Fails with the line that has another format or schema, or is out of
    /// order.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.split_inclusive('\n').enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let another = || "line 1: no recording of the doctor".to_owned();
        let is_ours = first.contains(RecordingHeader::KIND);
        let header: RecordingHeader = serde_json::from_str(first)
            .map_err(|error| if is_ours { at(1, &error) } else { another() })?;
        let schema = header.schema;
        if header.kind != RecordingHeader::KIND {
            return Err(another());
        }
        if schema > RECORDING_SCHEMA {
            return Err(format!(
                "line 1: schema {schema} is newer than this build knows ({RECORDING_SCHEMA}): \
                 update thrashlab"
            ));
        }
        let page_bytes = page_bytes(&header.environment);
        let mut snapshots: Vec<Snapshot> = Vec::new();
        for (index, line) in lines {
            let number = index + 1;
            match serde_json::from_str::<Snapshot>(line) {
                Ok(next) if snapshots.last().is_some_and(|last| next.at_ns < last.at_ns) => {
                    return Err(format!(
                        "line {number}: the snapshot is older than the one before it"
                    ));
                }
                Ok(next) => snapshots.push(Snapshot { page_bytes, ..next }),
                // The last line is incomplete when the recording was killed.
                Err(_) if !line.ends_with('\n') => {}
                Err(error) => return Err(at(number, &error)),
            }
        }
        Ok(Self { header, snapshots })
    }
}

/// An error in a line of the file.
fn at(line: usize, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    format!("line {line}, column {}: {message}", error.column().max(1))
}

/// A header or a snapshot as a line of the file, with its newline. Fails on a number that JSON
/// lacks.
pub fn recording_line<T: Serialize>(record: &T) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string(record)? + "\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recorded() -> String {
        let header = RecordingHeader {
            kind: RecordingHeader::KIND.to_owned(),
            schema: RECORDING_SCHEMA,
            thrashlab: "0".to_owned(),
            started_unix_ns: 1,
            environment: [("page_size_bytes".to_owned(), "16384".to_owned())].into(),
            missed: Vec::new(),
            costs: UnitCosts::default(),
        };
        let mut text = recording_line(&header).unwrap();
        for at_ns in [0, 1_000_000_000] {
            let machine = [("vmstat".into(), [("pgfault".into(), at_ns)].into())].into();
            text += &recording_line(&Snapshot { at_ns, machine, ..Snapshot::default() }).unwrap();
        }
        text
    }

    #[test]
    fn what_was_written_is_read() {
        let read = Recording::parse(&recorded()).unwrap();
        assert_eq!(read.snapshots.len(), 2);
        assert!(read.snapshots.iter().all(|snapshot| snapshot.page_bytes == Some(16384)));
        assert_eq!(read.snapshots[1].machine["vmstat"]["pgfault"], 1_000_000_000);
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        let said = |text: &str| Recording::parse(text).unwrap_err();
        assert_eq!(said(""), "line 1: no recording of the doctor");
        assert_eq!(said("{\"kind\":\"header\"}\n"), "line 1: no recording of the doctor");
        let text = recorded();
        let broken = text.replace("\"pgfault\":1000000000", "\"pgfault\":-1");
        assert!(said(&broken).starts_with("line 3, column "), "{}", said(&broken));
        let newer = text.replace("\"schema\":1", "\"schema\":9");
        assert!(said(&newer).contains("schema 9 is newer"));
        let lines: Vec<&str> = text.lines().collect();
        let swapped = format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]);
        assert_eq!(said(&swapped), "line 3: the snapshot is older than the one before it");
    }

    proptest! {
        #[test]
        fn a_recording_that_was_cut_off_is_a_shorter_one(share in 0.0f64..1.0) {
            let text = recorded();
            let header = text.find('\n').unwrap() + 1;
            let length = header + ((text.len() - header) as f64 * share) as usize;
            let read = Recording::parse(&text[..length]).unwrap();
            prop_assert!(read.snapshots.len() <= 2);
        }

        #[test]
        fn damaged_bytes_are_read_or_refused(at in 0usize..400, with in any::<char>()) {
            let mut characters: Vec<char> = recorded().chars().collect();
            let place = at % characters.len();
            characters[place] = with;
            let _ = Recording::parse(&characters.into_iter().collect::<String>());
        }
    }
}
