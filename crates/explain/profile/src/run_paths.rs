//! The critical paths of a run on a real machine, as they are kept next to its file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::critical_path::CriticalPath;

/// How the names of run files end, and those of the files of their paths.
const RUN: &str = ".run.jsonl";
const PATHS: &str = ".paths.json";

/// The file next to a run's, with this ending in place of its own; `None` if it is not named as a run file.
pub(crate) fn beside(run_file: &Path, ending: &str) -> Option<PathBuf> {
    let name = run_file.file_name()?.to_str()?.strip_suffix(RUN)?;
    Some(run_file.with_file_name(format!("{name}{ending}")))
}

/// The critical paths of the responses of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPaths {
    /// The name of the run.
    pub run_id: String,
    /// The paths that are known, in the order of their responses.
    pub paths: Vec<CriticalPath>,
    /// What is missing, each as a fragment of a sentence.
    pub missed: Vec<String>,
}

impl RunPaths {
    /// The file with the paths of the run with this file; `None` if it is not named as a run file.
    pub fn beside(run_file: &Path) -> Option<PathBuf> {
        beside(run_file, PATHS)
    }

    /// Reads the text of such a file. Fails for another text.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The path of a response, by its number.
    pub fn of_response(&self, index: u32) -> Option<&CriticalPath> {
        self.paths.iter().find(|path| path.response.index == index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Doing, Response, Segment};

    #[test]
    fn paths_are_found_and_read_again() {
        let file = Path::new("results/01-cpuload.run.jsonl");
        let expected = Path::new("results/01-cpuload.paths.json");
        assert_eq!(RunPaths::beside(file).as_deref(), Some(expected));
        assert_eq!(RunPaths::beside(Path::new("other.txt")), None);
        let response =
            Response { index: 3, worker: 0, intended_ns: 5, end_ns: 9, is_complete: true };
        let segment = Segment {
            from_ns: 5,
            to_ns: 9,
            task: "probe (7)".to_owned(),
            doing: Doing::Waits,
            whereabouts: vec!["folio_wait_bit_common".to_owned()],
            ended_by: None,
        };
        let path = CriticalPath { response, segments: vec![segment] };
        let found = RunPaths { run_id: "r".to_owned(), paths: vec![path], missed: Vec::new() };
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(RunPaths::parse(&text).as_ref(), Ok(&found));
        assert_eq!(found.of_response(3), found.paths.first());
        assert_eq!(found.of_response(4), None);
        assert!(RunPaths::parse("{}").is_err() && RunPaths::parse("x").is_err());
    }
}
