//! Several result files of another program as one set of trials.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use analysis::quantity::{Quantity, scaled};
use analysis::{Dataset, Direction, Factor, Response, Trial, distinct, grouped, listed};
use itertools::Itertools;

use crate::dataset::{Options, Refusal};
use crate::format::{Format, dataset};
use crate::lkp;
use crate::measurement::WHOLE_FILE;

/// The package of a Go benchmark, which names the work even where each file has one.
const PACKAGE: &str = "pkg";

/// The files of a result root or run of lkp-tests, else the visible files of a folder by name. Fails
/// when the folder is unreadable.
pub fn result_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if let Some(files) = lkp::files(folder)? {
        return Ok(files);
    }
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let mut files = entries(folder)?;
    files.retain(|path| path.is_file() && !is_hidden(path));
    Ok(files)
}

/// The paths of all entries, by name. Fails when the folder is unreadable.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.map(|it| it.path())).collect::<io::Result<_>>()?;
    found.sort();
    Ok(found)
}

/// Reads files (name and text) as one set called `name`. All must have the same format and
/// factors; trials are named by their files. The error names the first refused file and the
/// reason; copies of earlier files are refused unless `options` allow repeats.
pub fn folder_dataset(
    name: &str,
    files: &[(String, String)],
    format: Option<Format>,
    options: &Options,
) -> Result<Dataset, (String, Refusal)> {
    let mut set = Dataset { name: name.to_owned(), ..Dataset::default() };
    let mut first = None;
    let mut notes: Vec<(String, &str)> = Vec::new();
    for (index, (file, text)) in files.iter().enumerate() {
        let refused = |refusal| (file.clone(), refusal);
        let copied = files[..index].iter().find(|(_, earlier)| earlier == text);
        if let Some((earlier, _)) = copied.filter(|_| !options.allow_repeats) {
            let reason = format!(
                "a copy of {earlier}, not a second measurement (--allow-repeats accepts it)"
            );
            return Err(refused(Refusal::whole(reason)));
        }
        let found = format.map_or_else(|| Format::guess(text), Ok).map_err(refused)?;
        let (first_file, first_format) = *first.get_or_insert((file, found));
        if found.name != first_format.name {
            let (this, that) = (found.name, first_format.name);
            let reason = format!("is of {this}, but {first_file} of {that}: give each a folder");
            return Err(refused(Refusal::whole(reason)));
        }
        let part = dataset(file, text, Some(found), options).map_err(refused)?;
        notes.extend(part.notes.iter().map(|note| (note.clone(), file.as_str())));
        add(&mut set, file, part, index == 0).map_err(|reason| refused(Refusal::whole(reason)))?;
    }
    let packages = set.trials.iter().filter_map(|trial| trial.identity.get(PACKAGE));
    if distinct(packages).len() > 1 {
        add_factors(&mut set, &[Factor { name: PACKAGE.to_owned(), levels: Vec::new() }]);
    }
    if set.trials.iter().all(|trial| trial.started_unix_ns.is_some()) {
        set.trials.sort_by_key(|trial| trial.started_unix_ns);
    }
    // With the files' names, unless all share the note.
    let named = |(note, of): (String, Vec<&str>)| match of.len() < files.len() {
        true => format!("{}: {note}", listed(&of)),
        false => note,
    };
    set.notes = grouped(notes).into_iter().map(named).collect();
    Ok(set)
}

fn add(set: &mut Dataset, file: &str, part: Dataset, is_first: bool) -> Result<(), String> {
    let mut part = part;
    if is_first {
        set.factors.clone_from(&part.factors);
    }
    add_factors(set, &part.factors);
    add_factors(&mut part, &set.factors);
    // Two sets have the same factors now; without levels are those that only the other one has.
    let names = |set: &Dataset| {
        let varied = set.factors.iter().filter(|factor| !factor.levels.is_empty());
        varied.map(|it| it.name.clone()).sorted().collect::<Vec<_>>()
    };
    let (this, others) = (names(&part), names(set));
    if this != others {
        return Err(format!("it varies {this:?}, the files before it {others:?}"));
    }
    for of_part in &part.factors {
        if let Some(factor) = set.factors.iter_mut().find(|it| it.name == of_part.name) {
            let known = std::mem::take(&mut factor.levels);
            factor.levels = distinct(known.into_iter().chain(of_part.levels.clone()));
        }
    }
    for (response, meaning) in std::mem::take(&mut part.responses) {
        let known = set.responses.entry(response.clone()).or_insert_with(|| meaning.clone());
        convert(&mut part, &response, &meaning, known)?;
    }
    let named = |trial: Trial| {
        let name = match trial.name.as_str() {
            WHOLE_FILE => file.to_owned(),
            within => format!("{file}: {within}"),
        };
        let session = trial.session.map(|session| format!("{file}: {session}"));
        Trial { name, session, ..trial }
    };
    set.trials.extend(part.trials.into_iter().map(named));
    Ok(())
}

/// Makes the factors of other files levels of trials whose identity has them.
fn add_factors(set: &mut Dataset, others: &[Factor]) {
    for Factor { name, .. } in others {
        if set.factor(name).is_some() {
            continue;
        }
        let mut levels = Vec::new();
        for trial in &mut set.trials {
            if let Some(level) = trial.identity.get(name) {
                levels.push(level.clone());
                trial.levels.insert(name.clone(), level.clone());
            }
        }
        set.factors.push(Factor { name: name.clone(), levels: distinct(levels) });
    }
}

/// Converts the values of a response into the unit that is known from other files. Fails where the
/// units measure different things, or the directions contradict each other.
fn convert(
    part: &mut Dataset,
    name: &str,
    meaning: &Response,
    known: &mut Response,
) -> Result<(), String> {
    if meaning.unit != known.unit {
        let (this, that) = (&meaning.unit, &known.unit);
        let factor = Quantity::of_unit(this).in_units_of(&Quantity::of_unit(that));
        let factor = factor
            .ok_or_else(|| format!("{name} is in {this:?}, in the files before it in {that:?}"))?;
        let values = part.trials.iter_mut().flat_map(|trial| &mut trial.values);
        for values in values.filter(|values| values.response == name) {
            values.samples.iter_mut().for_each(|it| it.value = scaled(it.value, factor));
        }
    }
    match (known.direction, meaning.direction) {
        (Direction::Unknown, direction) => known.direction = direction,
        (one, other) if one != other && other != Direction::Unknown => {
            let (this, that) = (other.word(), one.word());
            return Err(format!("{this} of {name} is better, in the files before it {that}"));
        }
        _ => {}
    }
    Ok(())
}
