//! Observations from run files, published figures and results of other programs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use analysis::{Dataset, Factor, from_runs};
use keep::read_patiently;
use model::{Manifest, ManifestFactor, ManifestRun, Run};

use crate::encoded_text;
use crate::error::{Refusal, Result, StoreError};
use crate::import::mmtests::mmtests;
use crate::import::{self, Format, Options};
use crate::listing::entries;
use crate::lkp_folder;
use crate::manifest;
use crate::mmtests_folder;
use crate::reference::{self, Kind};
use crate::results::{SUFFIX, read_runs, run_files};

pub(crate) const REFERENCE: &str = "reference:";
const RUN_LINE: &str = "{\"kind\":\"header\"";

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
        let read = import::dataset(what, found.text, Some(format), options);
        return read.map_err(StoreError::refused(what));
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
    let content = read(path)?;
    if is_run(what, content.as_bytes()) {
        let run = Run::parse(content.as_bytes())
            .map_err(|error| StoreError::Run(path.to_owned(), error))?;
        return Ok(from_runs(what, &[(what.to_owned(), run)]));
    }
    import::dataset(what, &content, format, options).map_err(StoreError::refused(what))
}

fn is_run(what: &str, content: &[u8]) -> bool {
    what.ends_with(SUFFIX) || content.starts_with(RUN_LINE.as_bytes())
}

/// Whether a file is a run file, by name or beginning.
pub fn is_run_file(path: &Path) -> bool {
    is_run(&path.to_string_lossy(), &beginning(path).unwrap_or_default())
}

/// Whether this is another program's result: a file that is not a run file, or a folder of such.
pub fn is_foreign(path: &Path) -> bool {
    if path.is_dir() {
        return is_foreign_folder(path);
    }
    path.is_file() && !is_run_file(path)
}

/// Fails for a FIFO: what reads a file twice would find it empty the second time.
pub fn refuse_fifo(path: &Path) -> Result<()> {
    let is_fifo = fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo());
    match is_fifo {
        true => {
            let why = "a FIFO can be read once only; write it into a file first";
            Err(StoreError::Io(path.to_owned(), io::Error::other(why)))
        }
        false => Ok(()),
    }
}

/// The first bytes of a file, enough to recognize a run. What can be read once only is left alone.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    if !path.is_file() {
        return None;
    }
    let mut start = Vec::new();
    fs::File::open(path).ok()?.take(RUN_LINE.len() as u64).read_to_end(&mut start).ok()?;
    Some(start)
}

fn is_foreign_folder(path: &Path) -> bool {
    path.is_dir()
        && matches!(run_files(path), Err(StoreError::Empty(_)))
        && !path.join(manifest::FILE).exists()
        && (mmtests_folder::is_results(path)
            || foreign_files(path).is_ok_and(|files| !files.is_empty()))
}

/// The files of a result root or run of lkp-tests, else the visible files of a folder by name.
fn foreign_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if let Some(files) = lkp_folder::files(folder)? {
        return Ok(files);
    }
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let mut files = entries(folder)?;
    files.retain(|path| path.is_file() && !is_hidden(path));
    Ok(files)
}

fn foreign_folder(path: &Path, format: Option<Format>, options: &Options) -> Result<Dataset> {
    let of_mmtests = match format {
        None => mmtests_folder::read(path).map_err(|(file, error)| StoreError::Io(file, error))?,
        Some(_) => None,
    };
    if let Some(found) = of_mmtests {
        let name = path.to_string_lossy();
        let set = mmtests(&name, &found.files, &found.unread, options);
        return set.map_err(StoreError::refused(&*name));
    }
    let refused = |(file, refusal): (String, Refusal)| {
        StoreError::refused(path.join(file).to_string_lossy())(refusal)
    };
    let mut files = Vec::new();
    for file in foreign_files(path).map_err(StoreError::io(path))? {
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        let text = read(&file)?;
        // An unrelated folder is not read to its end.
        if let (true, None, Err(Refusal(why))) = (files.is_empty(), format, Format::guess(&text)) {
            let why = format!("{why}; and the folder has no run file (*{SUFFIX})");
            return Err(refused((name, Refusal(why))));
        }
        files.push((name, text));
    }
    let set = import::folder::dataset(&path.to_string_lossy(), &files, format, options);
    let mut set = set.map_err(refused)?;
    // A relative path may lack the part that names the test.
    if let Ok(whole) = path.canonicalize() {
        import::lkp::add_path_facts(&mut set, &whole);
    }
    Ok(set)
}

/// A run's path below the folder, without suffix. For a single file, `folder` is the file itself.
pub fn run_name(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).ok().filter(|name| !name.as_os_str().is_empty());
    let name = below.unwrap_or(file).to_string_lossy().into_owned();
    name.trim_end_matches(SUFFIX).to_owned()
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
    let read = || -> io::Result<String> {
        let mut bytes = Vec::new();
        match path == Path::new("-") {
            true => drop(io::stdin().read_to_end(&mut bytes)?),
            false => bytes = read_patiently(path)?,
        }
        encoded_text::decode(bytes)
    };
    read().map_err(StoreError::io(path))
}
