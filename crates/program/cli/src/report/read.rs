//! Reads anything with results for a report.

use std::collections::BTreeMap;
use std::mem;
use std::path::{Path, PathBuf};

use analysis::Dataset;
use analysis::ab::{AbLook, AbRequest};
use analysis::attribution::{Options, attribute};
use analysis::comparison::{Comparison, Request, compare};
use curves::{CurveOptions, Curves, curves_of_table};
use model::{Manifest, ManifestRun, Run};
use report::page::{Input, Material};
use results::manifest;
use results::run_files::{read_run, run_files, run_name};
use stats::Settings;
use store::curve;
use store::observations::{
    Content, content, is_foreign, observations_as, observations_in, of_runs,
};
use store::reference::add_conditions;

use crate::{settings, sweep};

/// The factor of the responsiveness matrix.
const LOAD: &str = "load";

#[derive(Default)]
pub(super) struct Results {
    inputs: Vec<Input<'static>>,
    /// Curves of each input that is a sweep, one entry per input.
    curves: Vec<Option<Curves>>,
    comparison: Option<Comparison>,
    /// The looks at a growing comparison, if it is the only input.
    looks: Vec<AbLook>,
    notes: Vec<String>,
    /// Runs that need not be read again, by the paths of their files.
    known: BTreeMap<PathBuf, Run>,
}

impl Results {
    /// Reads results; `factor` is what is compared within one of them.
    pub(super) fn read(
        whats: &[String],
        factor: Option<&str>,
        margin: f64,
    ) -> anyhow::Result<Self> {
        let mut results = Self::default();
        let mut sets = Vec::new();
        for (what, name) in whats.iter().zip(names(whats)) {
            sets.push(results.add(what, name.clone(), name)?);
        }
        // What was named counts, not what the comparison was made with.
        let is_asked = factor.is_some() || settings::is_given("margin");
        let factor = factor.map(str::to_owned).or_else(|| match &sets[..] {
            [Some(set)] => only_factor(set),
            _ => None,
        });
        let several = whats.len() > 1;
        if !several
            && !is_asked
            && let Some(last) = results.looks.last()
        {
            results.comparison = Some(last.comparison.clone());
            return Ok(results);
        }
        results.looks.clear();
        if several || factor.is_some() {
            let sets: Vec<Dataset> = sets.into_iter().flatten().collect();
            let settings = Settings { margin, ..Settings::default() };
            let request = Request { factor, settings, ..Request::default() };
            match compare(&sets, &request) {
                Ok(found) => results.comparison = Some(found),
                Err(why) => results.notes.push(format!("Nothing was compared: {why}.")),
            }
        }
        Ok(results)
    }

    /// Reads a folder for a page in it; `known` need not be read again. The page does not depend on
    /// the folder's name: equal runs make equal folders.
    pub(super) fn of_folder(
        folder: &str,
        known: BTreeMap<PathBuf, Run>,
        name: &str,
    ) -> anyhow::Result<Self> {
        let mut results = Self { known, ..Self::default() };
        results.add(folder, name.to_owned(), ".".to_owned())?;
        Ok(results)
    }

    /// Adds `what` under the title `name`, and as `typed` in commands; its observations, if it is
    /// no sweep.
    fn add(&mut self, what: &str, name: String, typed: String) -> anyhow::Result<Option<Dataset>> {
        let path = Path::new(what);
        let is_file = !path.is_dir() && !what.starts_with("reference:");
        let content = is_file.then(|| content(what)).transpose()?;
        let mut input = Input { typed, ..Input::new(name.as_str()) };
        let planned = if path.is_dir() { manifest::read(path)? } else { None };
        let curves = curves_of(what, planned.as_ref(), content.as_ref(), &name)?;
        let mut set = None;
        let content = match content {
            Some(Content::Run(run)) => {
                self.known.insert(path.to_owned(), *run);
                None
            }
            text => text,
        };
        if self.known.contains_key(path) || (path.is_dir() && !is_foreign(path)) {
            let runs = self.recorded(path, planned.as_ref(), &mut input)?;
            if curves.is_none() {
                set = Some(of_runs(&name, &runs, planned.clone()));
            }
            input.runs = runs.into_iter().map(|(_, run)| run).collect();
        } else if curves.is_none() {
            let options = formats::Options::default();
            let mut read = match content {
                Some(text) => observations_in(what, text, None, &options)?,
                None => observations_as(what, None, &options)?,
            };
            read.name.clone_from(&name);
            set = Some(read);
        }
        if let (Some(set), Some(request)) =
            (&set, planned.as_ref().and_then(AbRequest::of_manifest))
        {
            match request.all_looks(set) {
                Ok(looks) => self.looks = looks,
                Err(why) => self.notes.push(format!("{name}: nothing was compared: {why}.")),
            }
        }
        if let Some(manifest) = planned {
            let command = match (&manifest.sweep, curves.is_some()) {
                (Some(_), true) => "thrashlab sweep plan.toml",
                _ => "thrashlab experiment plan.toml",
            };
            input.plan = Some((command.to_owned(), manifest.plan));
        }
        if let Some(set) = &set {
            self.attribute(set, &mut input);
        }
        self.inputs.push(input);
        self.curves.push(curves);
        Ok(set)
    }

    /// Puts the change between levels down to its factors, where there are any.
    fn attribute(&mut self, set: &Dataset, input: &mut Input<'static>) {
        if !set.factors.iter().any(|factor| factor.name != LOAD && factor.levels.len() > 1) {
            return;
        }
        let mut set = set.clone();
        add_conditions(&mut set);
        match attribute(&set, &Options::default()) {
            Ok(found) => input.attribution = Some(found),
            Err(why) => self.notes.push(format!("{}: not attributed: {why}.", input.name)),
        }
    }

    /// The runs of a file or folder by their paths in it, also added to `input`. Of an experiment,
    /// those in its manifest.
    fn recorded(
        &mut self,
        path: &Path,
        planned: Option<&Manifest>,
        input: &mut Input<'static>,
    ) -> anyhow::Result<Vec<(String, Run)>> {
        let cells = planned.map(|manifest| {
            let named = manifest.runs.iter().map(|run| (run.run_id.as_str(), run));
            named.collect::<BTreeMap<_, _>>()
        });
        let mut runs = Vec::new();
        for file in run_files(path)? {
            let name = run_name(path, &file);
            let cell = match cells.as_ref().map(|cells| cells.get(name.as_str())) {
                Some(None) => continue,
                Some(Some(run)) => cell(run),
                None => String::new(),
            };
            let run = match self.known.remove(&file) {
                Some(run) => run,
                None => read_run(&file)?,
            };
            // One after the other: whole, thousands of runs would not fit into memory.
            input.add(cell, run);
            runs.extend(input.runs.pop().map(|run| (name, run)));
        }
        Ok(runs)
    }

    /// The input of a report; to be called once.
    pub(super) fn material(&mut self) -> Material<'_> {
        let mut inputs: Vec<Input<'_>> = mem::take(&mut self.inputs);
        for (input, curves) in inputs.iter_mut().zip(&self.curves) {
            let view = |curves| sweep::view(curves, &sweep::settings_of(curves), None);
            input.sweep = curves.as_ref().map(view);
        }
        let shipped = vm::NAMED.iter().filter_map(|(name, _)| vm::load(name).ok());
        Material {
            inputs,
            comparison: self.comparison.take(),
            looks: mem::take(&mut self.looks),
            notes: mem::take(&mut self.notes),
            machines: shipped.map(|description| description.machine).collect(),
        }
    }
}

/// The curves of a sweep; those of another experiment with a numeric factor are not sweeps. A file
/// was read before.
fn curves_of(
    what: &str,
    planned: Option<&Manifest>,
    content: Option<&Content>,
    name: &str,
) -> anyhow::Result<Option<Curves>> {
    let options = CurveOptions::default();
    let path = Path::new(what);
    let mut curves = match (planned, content) {
        (Some(manifest), _) if manifest.sweep.is_some() => {
            curve::curves_of_manifest(path, manifest, &options)?
        }
        (Some(_), _) | (None, Some(Content::Run(_))) => return Ok(None),
        (None, None) if path.is_dir() => return Ok(None),
        (None, content) => {
            let found = match content {
                Some(Content::Text(text)) => curves_of_table(what, text, &options).ok(),
                _ => store::curves(what, &options).ok(),
            };
            match found {
                Some(curves) if curves.rows.iter().any(|(_, it)| sweep::has_costs(it)) => curves,
                _ => return Ok(None),
            }
        }
    };
    for (_, curve) in &mut curves.rows {
        name.clone_into(&mut curve.name);
    }
    Ok(Some(curves))
}

/// The only factor besides the load that has several levels.
fn only_factor(set: &Dataset) -> Option<String> {
    let mut varied =
        set.factors.iter().filter(|factor| factor.name != LOAD && factor.levels.len() > 1);
    match (varied.next(), varied.next()) {
        (Some(factor), None) => Some(factor.name.clone()),
        _ => None,
    }
}

/// The last part of each path, so that a report does not depend on the location of its files; the
/// whole path where two would be equal.
fn names(whats: &[String]) -> Vec<String> {
    let short = |what: &String| match what.starts_with("reference:") {
        true => what.clone(),
        false => {
            let absolute = std::path::absolute(what).unwrap_or_else(|_| what.into());
            absolute.file_name().map_or(what.clone(), |name| name.to_string_lossy().into_owned())
        }
    };
    let shorts: Vec<String> = whats.iter().map(short).collect();
    let is_unique = |name: &String| shorts.iter().filter(|other| *other == name).count() == 1;
    let unique = |(what, name): (&String, &String)| match is_unique(name) {
        true => name.clone(),
        false => what.clone(),
    };
    whats.iter().zip(&shorts).map(unique).collect()
}

/// The levels of a run's factors in words; the load has a place of its own.
fn cell(run: &ManifestRun) -> String {
    let levels = run.levels.iter().filter(|(factor, _)| *factor != LOAD);
    levels.map(|(factor, level)| format!("{factor} {level}")).collect::<Vec<_>>().join(", ")
}
