//! Several result files of another program as one set of trials.

use analysis::{Dataset, Trial, distinct, grouped};

use super::{Format, Options, Refusal};

pub(super) const WHOLE_FILE: &str = "the whole file";

/// Reads files (name and text) as one set called `name`. All must have the same format and
/// factors; trials are named by their files. The error names the first refused file and the
/// reason; copies of earlier files are refused unless `options` allow repeats.
pub(crate) fn dataset(
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
        let part = super::dataset(file, text, Some(found), options).map_err(refused)?;
        notes.extend(part.notes.iter().map(|note| (note.clone(), file.as_str())));
        add(&mut set, file, part, index == 0).map_err(|reason| refused(Refusal::whole(reason)))?;
    }
    if set.trials.iter().all(|trial| trial.started_unix_ns.is_some()) {
        set.trials.sort_by_key(|trial| trial.started_unix_ns);
    }
    // With the files' names, unless all share the note.
    let named = |(note, of): (String, Vec<&str>)| match of.len() < files.len() {
        true => format!("{}: {note}", of.join(", ")),
        false => note,
    };
    set.notes = grouped(notes).into_iter().map(named).collect();
    Ok(set)
}

fn add(set: &mut Dataset, file: &str, part: Dataset, is_first: bool) -> Result<(), String> {
    if is_first {
        set.factors.clone_from(&part.factors);
    }
    let names = |set: &Dataset| set.factors.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    let (this, others) = (names(&part), names(set));
    if this != others {
        return Err(format!("it varies {this:?}, the files before it {others:?}"));
    }
    for (factor, of_part) in set.factors.iter_mut().zip(part.factors) {
        let known = std::mem::take(&mut factor.levels);
        factor.levels = distinct(known.into_iter().chain(of_part.levels));
    }
    for (response, meaning) in part.responses {
        let known = set.responses.entry(response.clone()).or_insert_with(|| meaning.clone());
        if *known != meaning {
            let (this, that) = (&meaning.unit, &known.unit);
            return Err(format!("{response} is in {this:?}, in the files before it in {that:?}"));
        }
    }
    let named = |trial: Trial| {
        let name = match trial.name.as_str() {
            WHOLE_FILE => file.to_owned(),
            within => format!("{file}: {within}"),
        };
        Trial { name, ..trial }
    };
    set.trials.extend(part.trials.into_iter().map(named));
    Ok(())
}
