//! Observations from run files, published figures and results of other programs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use analysis::{Dataset, Factor, from_runs};
use formats::mmtests::{is_results, mmtests, read_results};
use formats::{Format, Options, Refusal, dataset, decode, folder_dataset, lkp, result_files};
use keep::read_patiently;
use model::{Manifest, ManifestFactor, ManifestRun, Run};
use results::run_files::{RUN_LINE, SUFFIX, parse_run, read_runs, run_files, run_name};
use results::{ResultsError, manifest};

use crate::error::{Result, refused};
use crate::reference::{self, Kind};

pub(crate) const REFERENCE: &str = "reference:";
/// Standard input, as the name of a file.
const STANDARD_INPUT: &str = "-";

/// What a file has, recognized by its name or its beginning.
#[derive(Debug)]
pub enum Content {
    /// A run.
    Run(Box<Run>),
    /// The text of another program's result, or of a table.
    Text(String),
}

/// What a path has: runs of this program, or observations of another one.
#[derive(Debug)]
pub enum Results {
    /// Runs with their files.
    Runs(Vec<(PathBuf, Run)>),
    /// Observations.
    Foreign(Box<Dataset>),
}

/// The observations of `reference:NAME`, a run file, a result of another program, a folder of
/// either, or standard input (`-`). Fails with the place and the reason.
pub fn observations(what: &str) -> Result<Dataset> {
    observations_as(what, None, &Options::default())
}

/// [`observations`] of a given format, or with options for the reader. Fails as [`observations`].
pub fn observations_as(what: &str, format: Option<Format>, options: &Options) -> Result<Dataset> {
    if let Some(name) = what.strip_prefix(REFERENCE) {
        let found = reference::find(name)?;
        let format = match found.kind {
            Kind::Resp1 => Format::RESP1,
            Kind::Csv => Format::CSV,
        };
        let read = dataset(what, found.text, Some(format), options);
        return read.map_err(refused(what));
    }
    let path = Path::new(what);
    if is_foreign_folder(path) {
        return foreign_folder(path, format, options);
    }
    if path.is_dir() {
        let named = |(file, run): (PathBuf, Run)| (run_name(path, &file), run);
        let runs: Vec<(String, Run)> = read_runs(path)?.into_iter().map(named).collect();
        return Ok(of_runs(what, &runs, manifest::read(path)?));
    }
    observations_in(what, content(what)?, format, options)
}

/// [`observations_as`] of a file that was read. Fails as it.
pub fn observations_in(
    what: &str,
    content: Content,
    format: Option<Format>,
    options: &Options,
) -> Result<Dataset> {
    match content {
        Content::Run(run) => Ok(from_runs(what, &[(what.to_owned(), *run)])),
        Content::Text(text) => dataset(what, &text, format, options).map_err(refused(what)),
    }
}

/// Reads the runs of a folder or file, or else the observations of [`observations`]. Fails as it.
pub fn results(what: &str) -> Result<Results> {
    let path = Path::new(what);
    let set = match path.is_dir() {
        true if !is_foreign_folder(path) => return read_runs(path).map(Results::Runs),
        true => observations(what)?,
        false => match content(what)? {
            Content::Run(run) => return Ok(Results::Runs(vec![(path.to_owned(), *run)])),
            text => observations_in(what, text, None, &Options::default())?,
        },
    };
    Ok(Results::Foreign(Box::new(set)))
}

/// Reads a file or standard input (`-`) once, as what arrives through a FIFO is gone afterwards. A
/// text may be compressed or in UTF-16. Fails when it is unreadable, damaged, too long or not text.
pub fn content(what: &str) -> Result<Content> {
    let path = Path::new(what);
    let run = |bytes: &[u8]| parse_run(path, bytes).map(|run| Content::Run(Box::new(run)));
    let bytes = read_bytes(path).map_err(ResultsError::io(path))?;
    // A run that was cut may end within a character.
    if bytes.starts_with(RUN_LINE.as_bytes()) {
        return run(&bytes);
    }
    let text = decode(bytes).map_err(ResultsError::io(path))?;
    if is_run(what, text.as_bytes()) { run(text.as_bytes()) } else { Ok(Content::Text(text)) }
}

fn is_run(what: &str, content: &[u8]) -> bool {
    what.ends_with(SUFFIX) || content.starts_with(RUN_LINE.as_bytes())
}

/// Whether this is another program's result: a file that is not a run file, or a folder of such.
pub fn is_foreign(path: &Path) -> bool {
    if path.is_dir() {
        return is_foreign_folder(path);
    }
    path.is_file() && !is_run(&path.to_string_lossy(), &beginning(path).unwrap_or_default())
}

/// Whether this can be read once only: a FIFO, or standard input (`-`).
pub fn is_stream(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
        || fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo())
}

/// The first bytes of a file, enough to recognize a run.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path).ok()?.take(RUN_LINE.len() as u64).read_to_end(&mut start).ok()?;
    Some(start)
}

fn is_foreign_folder(path: &Path) -> bool {
    path.is_dir()
        && matches!(run_files(path), Err(ResultsError::Empty(_)))
        && !path.join(manifest::FILE).exists()
        && (is_results(path) || result_files(path).is_ok_and(|files| !files.is_empty()))
}

fn foreign_folder(path: &Path, format: Option<Format>, options: &Options) -> Result<Dataset> {
    let of_mmtests = match format {
        None => read_results(path).map_err(|(file, error)| ResultsError::Io(file, error))?,
        Some(_) => None,
    };
    if let Some(found) = of_mmtests {
        let name = path.to_string_lossy();
        let set = mmtests(&name, &found.files, &found.unread, options);
        return set.map_err(refused(&*name));
    }
    let refused_file =
        |(file, refusal): (String, Refusal)| refused(path.join(file).to_string_lossy())(refusal);
    let mut files = Vec::new();
    for file in result_files(path).map_err(ResultsError::io(path))? {
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        let text = read(&file)?;
        // An unrelated folder is not read to its end.
        if let (true, None, Err(Refusal(why))) = (files.is_empty(), format, Format::guess(&text)) {
            let why = format!("{why}; and the folder has no run file (*{SUFFIX})");
            return Err(refused_file((name, Refusal(why))));
        }
        files.push((name, text));
    }
    let set = folder_dataset(&path.to_string_lossy(), &files, format, options);
    let mut set = set.map_err(refused_file)?;
    // A relative path may lack the part that names the test.
    if let Ok(whole) = path.canonicalize() {
        lkp::add_path_facts(&mut set, &whole);
    }
    Ok(set)
}

/// The observations of runs, named by their paths, with levels, block and seed from the manifest.
/// Runs missing from the manifest are omitted, with a note.
pub fn of_runs(name: &str, runs: &[(String, Run)], manifest: Option<Manifest>) -> Dataset {
    let mut set = from_runs(name, runs);
    let Some(manifest) = manifest else { return set };
    let all = manifest.runs.len();
    let mut planned: BTreeMap<String, ManifestRun> =
        manifest.runs.into_iter().map(|run| (run.run_id.clone(), run)).collect();
    let mut foreign = Vec::new();
    set.trials.retain_mut(|trial| match planned.remove(&trial.name) {
        Some(run) => {
            trial.levels.extend(run.levels);
            trial.block = Some(u64::from(run.block));
            trial.seed = Some(run.seed);
            true
        }
        None => {
            foreign.push(trial.name.clone());
            false
        }
    });
    if !foreign.is_empty() {
        set.notes.push(format!("not of the experiment, left out: {}", foreign.join(", ")));
    }
    if !planned.is_empty() {
        set.notes.push(format!("{} of {all} runs are missing", planned.len()));
    }
    set.wanted = manifest.responses;
    set.margin = manifest.ab.map(|ab| ab.margin);
    let varied = |name: &str| manifest.factors.iter().any(|factor| factor.name == name);
    set.factors.retain(|factor| !varied(&factor.name));
    let factors = manifest.factors.iter().map(|ManifestFactor { name, levels }| Factor {
        name: name.clone(),
        levels: levels.clone(),
    });
    set.factors.splice(0..0, factors);
    set.notes.extend(manifest.aliases);
    set
}

/// The text of a file or standard input (`-`), which may be compressed or in UTF-16. Fails when it
/// is unreadable, damaged, too long or not text.
pub fn read(path: &Path) -> Result<String> {
    read_bytes(path).and_then(decode).map_err(ResultsError::io(path))
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new(STANDARD_INPUT) {
        return read_patiently(path);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}
