//! The driver of an A/B comparison: one factor of two levels, block after block, until the verdict
//! is certain.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::Dataset;
use analysis::ab::{AbLook, AbRequest};
use model::units::{format_duration, format_percent};
use stats::{Look, looks, most_blocks};

use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::event::Event;
use crate::experiment::Experiment;
use crate::laboratory::Laboratory;
use crate::plan::plan_text;
use crate::results_folder::{current_folder, named_or};
use crate::typed::Setting;
use crate::typed_ab::{AbPlan, TypedAb};

/// Length of the hash that distinguishes comparisons of one factor.
const HASH_LETTERS: usize = 8;
/// Most unnamed folders of one comparison.
const MOST_FOLDERS: u32 = 10_000;
/// Blocks of the first look.
const FIRST_LOOK: u32 = 4;
/// Blocks of the first look where a run is a single repetition, whose error no others show.
const FIRST_LOOK_OF_SINGLES: u32 = 6;
/// Folder of the runs that warm the machine up, below that of the results. Hidden: they count for
/// nothing.
const WARM_UP: &str = ".warm-up";
/// Time that a run takes besides its repetitions, in ns.
const OVERHEAD_NS: f64 = 30e6;

/// A comparison of two levels in progress.
pub struct Ab {
    experiment: Experiment,
    request: AbRequest,
    what: AbPlan,
    name: String,
    /// Whether the results folder was named.
    is_named: bool,
    /// Chance of a wrong verdict over all looks and responses.
    alpha: f64,
}

impl Ab {
    /// A comparison as it was typed, with these settings of both levels; a ratio within `margin` does
    /// not matter, and `alpha` is the chance of a wrong verdict over all looks. Fails for what cannot
    /// be set or contradicts itself.
    pub fn new(
        typed: &TypedAb,
        base: Vec<Setting>,
        margin: f64,
        alpha: f64,
        output: Option<&Path>,
    ) -> Result<Self> {
        let what = AbPlan::new(typed, base, current_folder()?)?;
        let plan = what.plan("ab", Path::new(""))?;
        let blocks = plan.seeds.len() as u32;
        let share = alpha / plan.responses.len() as f64;
        let first = if what.is_short() { FIRST_LOOK_OF_SINGLES } else { FIRST_LOOK };
        let looks = match typed.is_fixed() {
            true => vec![Look { blocks, level: share }],
            false => looks(first, blocks, share),
        };
        // Other blocks, margin or alpha are another comparison: to change them after a look would
        // make the error rate larger.
        let hash = format!("{} {margin} {alpha} {}", plan_text(&plan), looks.len());
        let hash = blake3::hash(hash.as_bytes()).to_hex();
        let factor = typed.factor.clone();
        let name = format!("ab-{factor}-{}", &hash[..HASH_LETTERS]);
        let response = plan.responses[0].clone();
        let second = plan.responses.get(1).cloned();
        let request = AbRequest { factor, response, second, margin, looks };
        let folder = named_or(output, &name);
        let mut experiment = experiment(&what, &name, folder)?;
        experiment.ab = Some(request.recorded(alpha));
        experiment.planned()?;
        Ok(Self { experiment, request, what, name, is_named: output.is_some(), alpha })
    }

    /// The results folder.
    pub fn folder(&self) -> &Path {
        &self.experiment.folder
    }

    /// What is known if it was interrupted before the first look, in a sentence.
    pub fn seen_before_looks(&self) -> Option<String> {
        let set = store::observations(&self.folder().to_string_lossy()).ok()?;
        self.request.seen_before_looks(&set)
    }

    /// The plan (TOML), with the most blocks.
    pub fn plan_text(&self) -> &str {
        self.experiment.text()
    }

    /// Whether a command is timed in the current folder: a guest and another machine do not have it.
    pub fn is_in_this_folder(&self) -> bool {
        self.what.is_in_this_folder()
    }

    /// The command lines that are its levels, if all that happens is that they are executed on this
    /// machine.
    pub fn lines_of_this_machine(&self) -> Option<[&str; 2]> {
        self.what.lines_of_this_machine()
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
            let mut next = experiment(&self.what, &self.name, folder)?;
            next.ab = self.experiment.ab.take();
            self.experiment = next;
        }
        Ok(())
    }

    /// Whether the folder's runs have a verdict.
    fn is_over(&self) -> bool {
        let set = store::observations(&self.folder().to_string_lossy());
        set.is_ok_and(|set| matches!(self.planned(&set).last_look(&set), Ok(Some(_))))
    }

    /// The request with the looks that follow from the times of the first blocks.
    fn planned(&self, set: &Dataset) -> AbRequest {
        let mut request = self.request.clone();
        if self.what.chooses_most_blocks() {
            let (first, level) = (request.looks[0].blocks, self.alpha / self.responses() as f64);
            let times_ns = request.block_times_ns(set, first);
            let times_ns = times_ns.iter().map(|time_ns| time_ns + 2.0 * OVERHEAD_NS);
            request.looks = looks(first, most_blocks(&times_ns.collect::<Vec<_>>()), level);
        }
        request
    }

    fn responses(&self) -> usize {
        1 + usize::from(self.request.second.is_some())
    }

    /// Runs block after block until a look has a verdict or no block is left; `last` is always the
    /// last look. Fails when a level cannot be run or has no such response, or the user stopped it.
    pub fn run(&mut self, last: &mut Option<AbLook>, driver: &mut Driver<'_>) -> Result<()> {
        let mut lab = self.experiment.set_up(driver)?;
        let outcome = self.all_looks(last, &mut lab, driver);
        lab.machines.close(driver);
        outcome
    }

    fn all_looks(
        &mut self,
        last: &mut Option<AbLook>,
        lab: &mut Laboratory,
        driver: &mut Driver<'_>,
    ) -> Result<()> {
        let seeds = match self.what.chooses_most_blocks() {
            true => (1..=u64::from(most_blocks(&[1.0]))).collect(),
            false => self.experiment.plan.seeds.clone(),
        };
        if self.what.is_short() && !self.experiment.has_former() {
            self.warm_up(lab, driver)?;
        }
        let begun = Instant::now();
        for position in 0.. {
            let Some(next) = self.request.looks.get(position) else { break };
            lab.plan.seeds = seeds[..next.blocks as usize].to_vec();
            let look = self.look(position, lab, driver)?;
            let each_ns = begun.elapsed().as_nanos() as f64 / f64::from(look.blocks);
            let is_over = look.stop.is_some();
            if !is_over {
                let text = format!("{}{}", look.so_far(), left(&look, each_ns));
                (driver.on_event)(&Event::Look { text: &text });
            }
            *last = Some(look);
            if is_over {
                break;
            }
        }
        Ok(())
    }

    /// One run of each level that counts for nothing: what the first of all runs reads is read.
    fn warm_up(&self, lab: &mut Laboratory, driver: &mut Driver<'_>) -> Result<()> {
        let folder = self.folder().join(WARM_UP);
        fs::create_dir_all(&folder).map_err(|error| {
            ExperimentError::NotMeasured(format!("{}: {error}", folder.display()))
        })?;
        lab.plan.seeds.truncate(1);
        let carried = lab.make_missing(&folder, driver);
        let _ = fs::remove_dir_all(&folder);
        match carried?.interrupted {
            true => Err(ExperimentError::Interrupted),
            false => Ok(()),
        }
    }

    /// Runs the missing runs of a look's blocks, and looks. Before the first look the number of
    /// blocks is chosen.
    fn look(
        &mut self,
        position: usize,
        lab: &mut Laboratory,
        driver: &mut Driver<'_>,
    ) -> Result<AbLook> {
        let not_measured = |why: String| ExperimentError::NotMeasured(why);
        self.experiment.record(&lab.plan)?;
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
        if position == 0 && self.what.chooses_most_blocks() {
            self.request = self.planned(&set);
            self.experiment.ab = Some(self.request.recorded(self.alpha));
            self.experiment.record(&lab.plan)?;
        }
        let look = self.request.look(&set, position);
        // Runs that did not begin have no response at all, and a better reason.
        let began = set.trials.iter().any(|trial| !trial.values.is_empty());
        let why = set.trials.iter().filter(|_| !began).find_map(|trial| trial.remark());
        look.map_err(|error| {
            let why = why.unwrap_or_else(|| error.to_string());
            not_measured(format!("nothing was compared: {why}"))
        })
    }
}

/// How long it takes until it is certain, if it continues as it looks.
fn left(look: &AbLook, each_ns: f64) -> String {
    let left = look.blocks_left().map(|blocks| f64::from(blocks) * each_ns);
    let margin = format_percent(look.comparison.margin);
    left.map_or_else(String::new, |left_ns| {
        let seconds = (left_ns / 1e9).ceil().max(1.0) as u64 * 1_000_000_000;
        format!("; about {} more for a difference of {margin}", format_duration(seconds))
    })
}

fn experiment(what: &AbPlan, name: &str, folder: PathBuf) -> Result<Experiment> {
    // Commands of a revision run below it.
    let folder = without_parents(current_folder()?.join(folder));
    let plan = what.plan(name, &folder)?;
    let text = plan_text(&plan);
    Ok(Experiment::of_plan(plan, text, folder))
}

/// The path of a folder without `..`, as its name is shown and part of the plan; unchanged if its
/// parent does not exist yet.
fn without_parents(folder: PathBuf) -> PathBuf {
    let name = folder.file_name().map(ToOwned::to_owned);
    let parent = folder.parent().and_then(|parent| parent.canonicalize().ok());
    parent.zip(name).map_or(folder, |(parent, name)| parent.join(name))
}
