//! The sweep that the arguments ask for.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::sweep::Spacing;
use anyhow::{Context, anyhow};
use experiment::{
    CellPlan, PlanError, PlanFactor, PlanLevel, Setting, SweepDraft, SweepPlan, parse_sweep,
};

use crate::Failure;
use crate::sweep_args::SweepArgs;

/// How the name of a plan ends.
const PLAN: &str = ".toml";
/// Letters of the hash that tells sweeps without a name apart.
const HASH: usize = 8;

/// A sweep to be made.
pub(super) struct Asked {
    pub(super) plan: SweepPlan,
    /// Where the paths of the plan begin.
    pub(super) plan_folder: PathBuf,
    /// Whether all its measurements are exactly repeatable.
    pub(super) deterministic: bool,
}

/// Reads the plan or puts one together, with what the arguments change of it.
pub(super) fn read(args: &SweepArgs) -> Result<Asked, Failure> {
    let what = args.what.as_deref().unwrap_or_default();
    let (mut draft, plan_folder) = match what.ends_with(PLAN) {
        true => (of_file(what)?, Path::new(what).parent().unwrap_or(Path::new("")).to_owned()),
        false => (of_word(what)?, PathBuf::new()),
    };
    change(&mut draft, args);
    let is_named = draft.name.is_some();
    let wrong = |error: PlanError| Failure::WrongUse(anyhow!("{what}: {error}"));
    let mut plan = draft.finish().map_err(wrong)?;
    if !is_named {
        plan.name = format!("{}-{}", plan.name, hash(&plan));
    }
    let cells = plan.cells(&plan_folder).map_err(wrong)?;
    let deterministic = cells.iter().all(CellPlan::is_deterministic);
    Ok(Asked { plan, plan_folder, deterministic })
}

fn of_file(path: &str) -> Result<SweepDraft, Failure> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("read the plan {path}"))
        .map_err(Failure::WrongUse)?;
    parse_sweep(&text).map_err(|error| Failure::WrongUse(anyhow!("{path}: {error}")))
}

/// A job, a probe or a load by its name.
fn of_word(word: &str) -> Result<SweepDraft, Failure> {
    let parameter = if workloads::find_job(word).is_some() {
        "job"
    } else if workloads::find_probe(word).is_some() {
        "probe"
    } else if workloads::find_load(word).is_some() {
        "load"
    } else {
        let names = workloads::jobs().map(|job| job.name);
        let names = names.chain(workloads::probes().map(|probe| probe.name));
        let names: Vec<&str> =
            names.chain(workloads::loads_and_provocations().map(|load| load.name)).collect();
        return Err(Failure::WrongUse(anyhow!(
            "neither job, probe nor load is named {word:?}, and a plan's name ends in {PLAN}; \
             there are {}",
            names.join(", ")
        )));
    };
    Ok(SweepDraft { base: vec![setting(parameter, word)], ..SweepDraft::default() })
}

fn setting(parameter: &str, value: &str) -> Setting {
    Setting { parameter: parameter.to_owned(), value: value.to_owned() }
}

/// What the arguments say goes before what the plan says.
fn change(draft: &mut SweepDraft, args: &SweepArgs) {
    let named = [("subject", &args.subject), ("load", &args.load)];
    let named = named.into_iter().filter_map(|(name, value)| Some(setting(name, value.as_ref()?)));
    draft.base.extend(named);
    draft.base.extend(args.set.iter().map(|(name, value)| setting(name, value)));
    let search = &args.search;
    let spacing = match (search.linear, search.geometric) {
        (true, _) => Some(Spacing::Linear),
        (_, true) => Some(Spacing::Geometric),
        _ => None,
    };
    if let Some((name, values)) = &args.by {
        let level = |value: &String| PlanLevel {
            name: value.clone(),
            settings: vec![setting(name, value)],
            build: None,
        };
        let levels = values.iter().map(level).collect();
        draft.by = Some(PlanFactor { name: name.clone(), levels });
    }
    or(&mut draft.over, search.over.as_ref());
    or(&mut draft.range, search.range.as_ref());
    or(&mut draft.spacing, spacing.as_ref());
    or(&mut draft.resolution, search.resolution.as_ref());
    or(&mut draft.coarse, search.coarse.as_ref());
    or(&mut draft.passes, search.passes.as_ref());
    or(&mut draft.budget, search.budget.as_ref());
    or(&mut draft.least_rise, search.least_rise.as_ref());
    or(&mut draft.present, search.present.as_ref());
    or(&mut draft.response, search.response.as_ref());
}

fn or<T: Clone>(own: &mut Option<T>, typed: Option<&T>) {
    if let Some(typed) = typed {
        *own = Some(typed.clone());
    }
}

/// What tells sweeps of one parameter apart: everything but how they are searched.
fn hash(plan: &SweepPlan) -> String {
    let text = format!("{:?} {:?} {:?}", plan.over, plan.base, plan.by);
    blake3::hash(text.as_bytes()).to_hex()[..HASH].to_owned()
}
