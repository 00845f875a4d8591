//! The runs of an experiment by the levels of its factors: what is measured at one level is no
//! repetition of what is measured at another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::grouped;
use model::{Manifest, ManifestFactor, Run};
use render::{Block, Document, Section};
use results::manifest;
use results::run_files::run_name;

use crate::{OrWrong, Result};

/// The level of each factor.
pub(crate) type Levels = BTreeMap<String, String>;

/// Factors whose levels are rows of a table of commands.
const COMMANDS: [&str; 2] = ["command", "command.run"];

/// The runs of a folder in groups of equal levels, in the order of the first run of each. Without an
/// experiment there is one group without levels.
pub(crate) fn by_levels(
    folder: &Path,
    runs: Vec<(PathBuf, Run)>,
) -> Result<Vec<(Levels, Vec<Run>)>> {
    let planned = levels_of_runs(manifest_of(folder)?);
    let of = |path: &Path| planned.get(&run_name(folder, path)).cloned().unwrap_or_default();
    Ok(grouped(runs.into_iter().map(|(path, run)| (of(&path), run))))
}

/// The runs of a folder in groups of equal levels, in the order of the levels. Factors that tables
/// show themselves, loads and commands, do not count, nor do those of one level.
pub(crate) fn by_shown_levels(
    folder: &Path,
    runs: Vec<(PathBuf, Run)>,
) -> Result<Vec<(Levels, Vec<Run>)>> {
    let Some(manifest) = manifest_of(folder)? else { return by_levels(folder, runs) };
    let factors = manifest.factors.clone();
    let planned = levels_of_runs(Some(manifest));
    let of = |path: &Path| planned.get(&run_name(folder, path));
    let is_load = |factor: &str| {
        runs.iter().all(|(path, run)| {
            let load = run.header.as_ref().map(|header| &header.spec.load.name);
            of(path).is_none_or(|levels| levels.get(factor) == load)
        })
    };
    let is_shown = |name: &str| COMMANDS.contains(&name) || is_load(name);
    let varied: Vec<_> =
        factors.iter().filter(|it| it.levels.len() > 1 && !is_shown(&it.name)).collect();
    let shown = |path: &Path| -> Levels {
        let level = |name: &str| of(path)?.get(name).cloned();
        let levels = varied.iter().filter_map(|it| Some((it.name.clone(), level(&it.name)?)));
        levels.collect()
    };
    let levels: Vec<Levels> = runs.iter().map(|(path, _)| shown(path)).collect();
    let mut groups = grouped(levels.into_iter().zip(runs.into_iter().map(|(_, run)| run)));
    let rank = |levels: &Levels| -> Vec<Option<usize>> {
        let at = |it: &&ManifestFactor| {
            it.levels.iter().position(|level| levels.get(&it.name) == Some(level))
        };
        varied.iter().map(at).collect()
    };
    groups.sort_by_key(|(levels, _)| rank(levels));
    Ok(groups)
}

/// One document of those of several groups, a section each.
pub(crate) fn joined<'a>(documents: Vec<(Levels, Document<'a>)>) -> Document<'a> {
    let mut joined = Document::default();
    let mut data = Vec::new();
    for (at, (levels, document)) in documents.into_iter().enumerate() {
        let named: Vec<String> =
            levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
        let title = if named.is_empty() { "not of the plan".to_owned() } else { named.join(", ") };
        let titled = (!document.title.is_empty()).then_some(Block::Sentence(document.title));
        let verdicts = document.verdicts.into_iter().map(|verdict| Block::Sentence(verdict.text));
        let facts: Vec<String> =
            document.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let facts = (!facts.is_empty()).then_some(Block::List(facts));
        let blocks = titled.into_iter().chain(verdicts).chain(facts).chain(document.blocks);
        joined.sections.push(Section {
            id: format!("level-{at}"),
            title,
            blocks: blocks.collect(),
        });
        joined.sections.extend(document.sections);
        data.push(document.data.map(|data| (levels, data)));
    }
    let data: Option<Vec<_>> = data.into_iter().collect();
    joined.data = data.map(|data| -> Data<'a> { Box::new(move || in_json(&data)) });
    joined
}

type Data<'a> = Box<dyn Fn() -> serde_json::Result<String> + 'a>;

/// The results of all groups, each with its levels.
fn in_json(data: &[(Levels, Data<'_>)]) -> serde_json::Result<String> {
    let one = |(levels, data): &(Levels, Data<'_>)| -> serde_json::Result<String> {
        Ok(format!("{{\"levels\":{},\"result\":{}}}", serde_json::to_string(levels)?, data()?))
    };
    let all: Vec<String> = data.iter().map(one).collect::<Result<_, _>>()?;
    Ok(format!("[{}]", all.join(",")))
}

fn manifest_of(folder: &Path) -> Result<Option<Manifest>> {
    let found = if folder.is_dir() { manifest::read(folder) } else { Ok(None) };
    found.or_wrong("read the plan of the runs")
}

fn levels_of_runs(manifest: Option<Manifest>) -> BTreeMap<String, Levels> {
    let planned = manifest.into_iter().flat_map(|it| it.runs);
    planned.map(|run| (run.run_id, run.levels)).collect()
}
