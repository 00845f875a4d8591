//! The driver of an A/B comparison: one factor of two levels, block after block, until the verdict
//! is certain.

use std::path::{Path, PathBuf};

use analysis::ab::{AbLook, AbRequest};
use stats::{Look, looks};

use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::experiment::Experiment;
use crate::laboratory::Laboratory;
use crate::results_folder::named_or;
use crate::typed_ab::TypedAb;

/// Length of the hash that distinguishes comparisons of one factor.
const HASH_LETTERS: usize = 8;
/// Most unnamed folders of one comparison.
const MOST_FOLDERS: u32 = 10_000;

/// A comparison of two levels in progress.
pub struct Ab {
    experiment: Experiment,
    request: AbRequest,
    typed: TypedAb,
    name: String,
    /// The current folder, in which commands run and paths begin.
    home: PathBuf,
    /// Whether the results folder was named.
    is_named: bool,
}

impl Ab {
    /// A comparison as it was typed; a ratio within `margin` does not matter, and `alpha` is the
    /// chance of a wrong verdict over all looks. Fails for what cannot be set or contradicts itself.
    pub fn new(typed: &TypedAb, margin: f64, alpha: f64, output: Option<&Path>) -> Result<Self> {
        let home = std::env::current_dir()
            .map_err(|error| ExperimentError::WrongUse(format!("the current folder: {error}")))?;
        let (plan, text) = typed.plan("ab", &home, Path::new(""))?;
        let blocks = plan.seeds.len() as u32;
        let looks = match typed.is_fixed() {
            true => vec![Look { blocks, level: alpha }],
            false => looks(blocks, alpha),
        };
        // Other blocks, margin or alpha are another comparison: to change them after a look would
        // make the error rate larger.
        let hash = format!("{text} {margin} {alpha} {}", looks.len());
        let hash = blake3::hash(hash.as_bytes()).to_hex();
        let factor = typed.factor.clone();
        let name = format!("ab-{factor}-{}", &hash[..HASH_LETTERS]);
        let response = plan.responses[0].clone();
        let request = AbRequest { factor, response, margin, looks };
        let folder = named_or(output, &name);
        let mut experiment = experiment(typed, &name, &home, folder)?;
        experiment.ab = Some(request.recorded(alpha));
        experiment.planned()?;
        Ok(Self {
            experiment,
            request,
            typed: typed.clone(),
            name,
            home,
            is_named: output.is_some(),
        })
    }

    /// The results folder.
    pub fn folder(&self) -> &Path {
        &self.experiment.folder
    }

    /// The factor.
    pub fn factor(&self) -> &str {
        &self.request.factor
    }

    /// The plan (TOML), with the most blocks.
    pub fn plan_text(&self) -> &str {
        self.experiment.text()
    }

    /// Continues with the folder's runs of this comparison, if any. Without a named folder, a
    /// comparison that is over is repeated in a new one. Fails when the folder holds another one.
    pub fn open(&mut self) -> Result<()> {
        for number in 2..MOST_FOLDERS {
            self.experiment.open()?;
            if self.is_named || !self.experiment.has_former() || !self.is_over() {
                break;
            }
            let folder = named_or(None, &format!("{}-{number}", self.name));
            let mut next = experiment(&self.typed, &self.name, &self.home, folder)?;
            next.ab = self.experiment.ab.take();
            self.experiment = next;
        }
        Ok(())
    }

    /// Whether the folder's runs have a verdict.
    fn is_over(&self) -> bool {
        let set = store::observations(&self.folder().to_string_lossy());
        set.is_ok_and(|set| matches!(self.request.last_look(&set), Ok(Some(_))))
    }

    /// Runs block after block until a look has a verdict or no block is left; `last` is always the
    /// last look. Fails when a level cannot be run or has no such response, or the user stopped it.
    pub fn run(&mut self, last: &mut Option<AbLook>, driver: &mut Driver<'_>) -> Result<()> {
        let seeds = self.experiment.plan.seeds.clone();
        let mut lab = self.experiment.set_up(driver)?;
        let outcome = (0..self.request.looks.len()).try_for_each(|position| {
            if last.as_ref().is_some_and(|look| look.stop.is_some()) {
                return Ok(());
            }
            let blocks = self.request.looks[position].blocks as usize;
            self.experiment.plan.seeds = seeds[..blocks].to_vec();
            lab.plan.seeds.clone_from(&self.experiment.plan.seeds);
            *last = Some(self.look(position, &mut lab, driver)?);
            Ok(())
        });
        lab.machines.close(driver);
        outcome
    }

    /// Runs the missing runs of a look's blocks, and looks.
    fn look(
        &self,
        position: usize,
        lab: &mut Laboratory,
        driver: &mut Driver<'_>,
    ) -> Result<AbLook> {
        let not_measured = |why: String| ExperimentError::NotMeasured(why);
        self.experiment.record()?;
        let carried = lab.make_missing(self.folder(), driver)?;
        if carried.interrupted {
            return Err(ExperimentError::Interrupted);
        }
        if let Some((run, why)) = carried.refused.first_key_value() {
            return Err(not_measured(format!("{run}: {why}")));
        }
        if carried.found > 0 && position == 0 {
            driver.note(&format!("{} runs already existed", carried.found));
        }
        let set = store::observations(&self.folder().to_string_lossy())?;
        let look = self.request.look(&set, position);
        // Runs that did not begin have no response at all, and a better reason.
        let began = set.trials.iter().any(|trial| !trial.values.is_empty());
        let why = set.trials.iter().filter(|_| !began).find_map(|trial| trial.remark());
        let look = look.map_err(|error| {
            let why = why.unwrap_or_else(|| error.to_string());
            not_measured(format!("nothing was compared: {why}"))
        })?;
        driver.note(&look.so_far());
        Ok(look)
    }
}

fn experiment(typed: &TypedAb, name: &str, home: &Path, folder: PathBuf) -> Result<Experiment> {
    // Commands of a revision run below it.
    let folder = without_parents(home.join(folder));
    let (plan, text) = typed.plan(name, home, &folder)?;
    Ok(Experiment::of_plan(plan, text, folder))
}

/// The same folder without `..`, as its name is shown and part of the plan; as it is if its parent
/// does not exist yet.
fn without_parents(folder: PathBuf) -> PathBuf {
    let name = folder.file_name().map(ToOwned::to_owned);
    let parent = folder.parent().and_then(|parent| parent.canonicalize().ok());
    parent.zip(name).map_or(folder, |(parent, name)| parent.join(name))
}
