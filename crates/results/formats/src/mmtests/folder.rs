//! The results folders of MMTests: `work/log/RUN/iter-N/BENCHMARK/logs`, from any of the first
//! three levels.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;

use super::{CPU_FILE, KERNEL_FILE, LogFile, TIMES_FILE, is_log};
use crate::encoded_text::bounded;
use crate::folder::entries;

const LOGS: &str = "logs";
const ITERATION: &str = "iter-";

/// What a results folder has.
pub struct Results {
    /// Logs of benchmarks that are read, and files of facts.
    pub files: Vec<LogFile>,
    /// Benchmarks of which no log is read.
    pub unread: Vec<String>,
}

/// Whether this is the folder of runs, of a run or of an iteration.
pub fn is_results(folder: &Path) -> bool {
    iterations(folder).is_ok_and(|found| !found.is_empty())
}

/// The texts of a results folder; `None` for other folders. Fails, with the path, when a file is
/// unreadable, damaged or too long.
pub fn read_results(folder: &Path) -> Result<Option<Results>, (PathBuf, io::Error)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        |error: io::Error| (path, error)
    };
    let iterations = iterations(folder).map_err(at(folder))?;
    if iterations.is_empty() {
        return Ok(None);
    }
    let mut results = Results { files: Vec::new(), unread: Vec::new() };
    for (run, path) in iterations {
        let origin = LogFile { run, iteration: name_of(&path), ..LogFile::default() };
        for file in children(&path).map_err(at(&path))? {
            let name = plain_name(&file);
            if [KERNEL_FILE, CPU_FILE, TIMES_FILE].contains(&name.as_str()) && file.is_file() {
                let text = text(&file).map_err(at(&file))?;
                results.files.push(LogFile { name, text, ..origin.clone() });
            }
        }
        for folder in benchmarks(&path).map_err(at(&path))? {
            let benchmark = name_of(&folder);
            let before = results.files.len();
            for file in children(&folder.join(LOGS)).map_err(at(&folder))? {
                let name = plain_name(&file);
                if is_log(&benchmark, &name) && file.is_file() {
                    let (benchmark, text) = (benchmark.clone(), text(&file).map_err(at(&file))?);
                    results.files.push(LogFile { benchmark, name, text, ..origin.clone() });
                }
            }
            if results.files.len() == before && !results.unread.contains(&benchmark) {
                results.unread.push(benchmark);
            }
        }
    }
    Ok(Some(results))
}

/// The folders of iterations, with the run if there may be several.
fn iterations(folder: &Path) -> io::Result<Vec<(Option<String>, PathBuf)>> {
    let of_run = |run: &Path| -> io::Result<Vec<PathBuf>> {
        let mut found = children(run)?;
        found.retain(|path| name_of(path).starts_with(ITERATION) && is_iteration(path));
        Ok(found)
    };
    let has_facts = [KERNEL_FILE, TIMES_FILE].iter().any(|name| folder.join(name).is_file());
    if (has_facts || name_of(folder).starts_with(ITERATION)) && is_iteration(folder) {
        return Ok(vec![(None, folder.to_owned())]);
    }
    let own = of_run(folder)?;
    if !own.is_empty() {
        return Ok(own.into_iter().map(|path| (None, path)).collect());
    }
    let mut all = Vec::new();
    for run in children(folder)?.into_iter().filter(|path| path.is_dir()) {
        // A folder that cannot be read is not known to be a run.
        let found = of_run(&run).unwrap_or_default();
        all.extend(found.into_iter().map(|path| (Some(name_of(&run)), path)));
    }
    Ok(all)
}

fn is_iteration(folder: &Path) -> bool {
    benchmarks(folder).is_ok_and(|found| !found.is_empty())
}

fn benchmarks(iteration: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = children(iteration)?;
    found.retain(|path| path.join(LOGS).is_dir());
    Ok(found)
}

/// What is in a folder, by name; nothing in what is not a folder.
fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.is_dir() { entries(folder) } else { Ok(Vec::new()) }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A file's name without the ending of its compression.
fn plain_name(path: &Path) -> String {
    let name = name_of(path);
    let plain = [".gz", ".xz"].iter().find_map(|ending| name.strip_suffix(ending));
    plain.map(str::to_owned).unwrap_or(name)
}

/// The text of a file, which may be compressed; bytes that are not UTF-8 are replaced.
fn text(path: &Path) -> io::Result<String> {
    let file = BufReader::new(File::open(path)?);
    let bytes = match path.extension().and_then(OsStr::to_str) {
        Some("gz") => bounded(MultiGzDecoder::new(file)),
        Some("xz") => bounded(XzDecoder::new_multi_decoder(file)),
        _ => bounded(file),
    }?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
