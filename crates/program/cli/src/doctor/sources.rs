//! What the doctor reads in place of the running machine, and the files that it writes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Error};
use doctor::{Interval, UnitCosts, diagnose, from_run, recording_line};
use render::Document;
use report::{doctor_document, pmeg_estimate_document};
use results::run_files::read_runs;
use serde::Serialize;
use store::reference;

use super::{DoctorArgs, write_metrics};
use crate::output::show;
use crate::{Failure, OrWrong, Result, print};

/// The published counters of pmegs.
const HATCNT: &str = "sun4/hatcnt";

pub(super) fn from(args: &DoctorArgs, what: &str) -> Result<()> {
    if let Some(name) = what.strip_prefix("reference:") {
        return published(args, name);
    }
    let runs = read_runs(Path::new(what)).or_wrong("read results")?;
    let mut all = Vec::new();
    for (path, run) in &runs {
        let place = path.display().to_string();
        let snapshots = from_run(run).map_err(Error::msg).with_context(|| place.clone());
        let (before, after) = snapshots.map_err(Failure::WrongUse)?;
        // Costs of this machine mean nothing for the one that was measured.
        all.push((place, diagnose(&Interval::new(&before, &after), &UnitCosts::default())));
    }
    let named: Vec<_> = all.iter().map(|(place, found)| (Some(place.as_str()), found)).collect();
    if write_metrics(args, &named)? {
        return Ok(());
    }
    if all.len() > 1 && args.output.file().is_some() {
        let count = all.len();
        return Err(wrong!(
            "--output takes one diagnosis, and {what} has {count} runs: name a run"
        ));
    }
    for (index, (place, found)) in all.iter().enumerate() {
        if index > 0 && args.output.is_text() {
            print("\n")?;
        }
        let document = doctor_document(found, args.top, args.verbose);
        show(&Document { title: place.clone(), ..document }, &args.output)?;
    }
    Ok(())
}

fn published(args: &DoctorArgs, name: &str) -> Result<()> {
    let wrong = |why: String| wrong!("reference:{name}: {why}");
    if name != HATCNT {
        return Err(wrong(format!("this is not a set of counters; use reference:{HATCNT}")));
    }
    let cells = reference::find(name).and_then(reference::Reference::cells).unwrap_or_default();
    let word = |number: &str| {
        let row = cells.iter().find(|row| row.first() == Some(&number));
        let value = row.and_then(|row| row.get(1)?.parse::<u64>().ok());
        value.ok_or_else(|| wrong(format!("there is no counter {number}")))
    };
    show(&pmeg_estimate_document(word("4")?, word("5")?), &args.output)
}

/// A new file for a recording; an existing one is never overwritten.
pub(super) fn create(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.or_wrong(format!("create {}", path.display()))
}

pub(super) fn record(
    args: &DoctorArgs,
    recording: &mut Option<File>,
    value: &impl Serialize,
) -> Result<()> {
    let (Some(file), Some(path)) = (recording, &args.record) else { return Ok(()) };
    let line = recording_line(value).context("write the recording")?;
    Ok(file.write_all(line.as_bytes()).with_context(|| format!("write {}", path.display()))?)
}
