//! Steps that are kernels built from source: commits, patches or files of a source, or options of a
//! configuration.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::bisect::{Axis, BisectError, BisectResult, Measured, Target, bisect_exactly};
use clap::{ArgGroup, Args};
use keep::Cache;
use kernel_build::{
    BuildControl, BuildError, KernelBuilder, KernelOption, KernelState, SourceHistory, differences,
};
use kernels::Kernel;
use vm::VmRequest;

use super::levels::{LevelSteps, StepsOfPlan};
use super::{Check, Steps};
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::plan::{Plan, PlanFactor, PlanLevel, parse_plan_along, plan_text};
use crate::results_folder::{read_plan, wrong_plan};
use crate::subject_arg::{SubjectArg, vm_spec};
use crate::typed::{Seeds, Setting, seeds, setting};

/// The factor whose levels are the kernels, and the parameter that it sets.
const FACTOR: &str = "kernel";
/// Seeds of each kernel, where no plan names others.
const USUAL_SEEDS: &str = "3";
/// Most options that are found to matter only together.
const MOST_TOGETHER: usize = 4;

/// Which kernels are the steps.
#[derive(Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("kernels").args(["kernel_git", "kernel_patches", "kernel_config"])),
)]
pub struct StepsOfKernels {
    /// Build the commits of a kernel's repository, and find the one that changed it
    #[arg(long, num_args = 2, value_names = ["REPO", "GOOD..BAD"], conflicts_with = "run")]
    kernel_git: Option<Vec<String>>,

    /// Apply a series of patches to a kernel's source one by one: the folder of a file `series`; or
    /// another source, whose differences are taken file by file
    #[arg(long, num_args = 2, value_names = ["SOURCE", "SERIES"], conflicts_with = "run")]
    kernel_patches: Option<Vec<String>>,

    /// Find the option that makes the difference between two configurations, or those that do together
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "run")]
    kernel_config: Option<Vec<String>>,

    /// The source of --kernel-config: a folder, an archive, deb:linux-source-6.12 [default: that of A's
    /// package]
    #[arg(long, value_name = "SOURCE", requires = "kernel_config")]
    kernel_source: Option<String>,

    /// The configuration of --kernel-git and --kernel-patches: a kernel or a file [default: that of
    /// the subject's kernel]
    #[arg(long, value_name = "FROM", requires = "kernels", conflicts_with = "kernel_config")]
    config: Option<String>,

    /// A parameter of kernels without a plan, such as load=largewrite [default: subject=vm]
    #[arg(
        long,
        value_name = "PARAM=VALUE",
        value_parser = setting,
        requires = "kernels",
        conflicts_with = "plan"
    )]
    set: Vec<Setting>,

    /// How many seeds kernels without a plan have, or which
    #[arg(
        long,
        value_name = "SEEDS",
        value_parser = seeds,
        default_value = USUAL_SEEDS,
        requires = "kernels",
        conflicts_with = "plan"
    )]
    seeds: Seeds,
}

/// The two words of the option that was typed.
enum Requested<'a> {
    Git { repository: &'a str, range: &'a str },
    Patches { source: &'a str, series: &'a str },
    Config { ends: [&'a str; 2] },
}

impl StepsOfKernels {
    /// Whether kernels are the steps.
    pub fn is_requested(&self) -> bool {
        self.requested().is_some()
    }

    fn requested(&self) -> Option<Requested<'_>> {
        match [&self.kernel_git, &self.kernel_patches, &self.kernel_config].map(pair) {
            [Some([repository, range]), ..] => Some(Requested::Git { repository, range }),
            [_, Some([source, series]), _] => Some(Requested::Patches { source, series }),
            [.., ends] => ends.map(|ends| Requested::Config { ends }),
        }
    }
}

/// The words of an option that has two.
fn pair(words: &Option<Vec<String>>) -> Option<[&str; 2]> {
    match words.as_deref() {
        Some([one, other]) => Some([one, other]),
        _ => None,
    }
}

/// Steps that are kernels built from source, in deterministic guests.
pub struct KernelSteps {
    kind: Kind,
    builder: KernelBuilder,
    /// The steps by name, in order.
    states: Vec<(String, KernelState)>,
    levels: LevelSteps,
}

/// What the steps are states of.
enum Kind {
    Source(SourceHistory),
    /// The options that differ, in their order; step n has the first n of them.
    Options(Vec<KernelOption>),
}

impl KernelSteps {
    /// The steps of a request. Sources are read and unpacked. Fails when one of them, the plan or the
    /// configuration cannot be read, or the plan is not of guests.
    pub fn new(
        request: &StepsOfKernels,
        of_plan: StepsOfPlan,
        driver: &mut Driver<'_>,
    ) -> Result<Self> {
        let kernels_dir = Cache::of_user().kernels();
        let guest = request.guest(&of_plan)?;
        let modules = vm::modules_of(&guest.machine);
        let sources = KernelBuilder::folder(&kernels_dir);
        let builder_of = |repository: &Path, config: &str| {
            KernelBuilder::new(repository, config, &modules, &kernels_dir)
        };
        let base = || match &request.config {
            Some(name) => config_of(name, &kernels_dir),
            None => config_of(&vm_spec(&guest).0.kernel, &kernels_dir),
        };
        let of_source = |history: SourceHistory, config: &str| {
            let states = history.states.iter();
            let states = states.map(|it| (it.name.clone(), KernelState::of(it))).collect();
            Ok((builder_of(&history.repository, config)?, states, Kind::Source(history)))
        };
        let (builder, states, kind): (_, Vec<_>, _) = match request.requested() {
            None => return Err(ExperimentError::WrongUse("no kernels are named".to_owned())),
            Some(Requested::Git { repository, range }) => {
                let config = base()?;
                let history = SourceHistory::of_git(Path::new(repository), range);
                history.and_then(|history| of_source(history, &config)).map_err(failed)?
            }
            Some(Requested::Patches { source, series }) => {
                let config = base()?;
                with_control(driver, |control| {
                    SourceHistory::of_series(source, series, &sources, control)
                        .and_then(|history| of_source(history, &config))
                })?
            }
            Some(Requested::Config { ends }) => {
                let source = match &request.kernel_source {
                    Some(source) => source.clone(),
                    None => source_of(ends[0], &kernels_dir)?,
                };
                let [first, last] = ends.map(|end| config_of(end, &kernels_dir));
                let (first, last) = (first?, last?);
                with_control(driver, |control| {
                    let history = SourceHistory::of_source(&source, &sources, control)?;
                    let state = KernelState::of(&history.states[0]);
                    let other = builder_of(&history.repository, &last)?;
                    let builder = builder_of(&history.repository, &first)?;
                    let after = other.options(&state, control)?;
                    let options = differences(&builder.options(&state, control)?, &after);
                    let states = states_of(ends[0], &state, &options);
                    Ok((builder, states, Kind::Options(options)))
                })?
            }
        };
        let levels: Result<Vec<PlanLevel>> =
            states.iter().map(|(name, state)| level(name, &builder.place(state))).collect();
        let (plan, folder) = request.plan(&of_plan, levels?)?;
        let text = plan_text(&plan);
        let levels = LevelSteps::of_plan(of_plan, plan, folder, text, 0)?;
        Ok(Self { kind, builder, states, levels })
    }

    /// Builds a state and measures it.
    fn measure_state(
        &mut self,
        name: &str,
        state: &KernelState,
        driver: &mut Driver<'_>,
    ) -> Result<Measured> {
        driver.note(&format!("building {FACTOR} {name}"));
        let built = with_control(driver, |control| match self.builder.build(state, control) {
            Err(BuildError::Broken(why)) => Ok(Err(why)),
            built => built.map(Ok),
        })?;
        match built {
            Err(why) => Ok(Measured::Skip(format!("does not build: {why}"))),
            Ok(folder) => self.levels.measure_level(&level(name, &folder)?, driver),
        }
    }

    /// Measures options that are taken alone, and adds others until they make the difference.
    fn check_options(
        &mut self,
        options: &[KernelOption],
        found: &BisectResult,
        step: usize,
        driver: &mut Driver<'_>,
    ) -> Result<Vec<Check>> {
        let (mut together, mut checks) = (vec![step - 1], Vec::new());
        loop {
            let state = self.with_options(options, 0, &together);
            let names: Vec<String> = together.iter().map(|it| shown(&options[*it])).collect();
            let what = format!("only {}", names.join(" and "));
            let measured = self.measure_state(&what, &state, driver)?;
            let is_like_last = is_like_last(found, &measured, self.states.len());
            let is_answer = is_like_last != Ok(false);
            checks.push(Check { what, is_like_last, expects_last: true });
            if is_answer || together.len() == MOST_TOGETHER {
                return Ok(checks);
            }
            // The first options that make the difference together with these: the last of them does.
            let count = together.iter().min().copied().unwrap_or(0) + 1;
            let target = if found.by_outcome { Target::Change } else { self.levels.target() };
            let mut measure = |first: usize| {
                let state = self.with_options(options, first, &together);
                let name = format!("{} and the first {first}", names.join(" and "));
                self.measure_state(&name, &state, driver)
            };
            match bisect_exactly(count, target, 1, &[], &mut measure).map(|more| more.changed) {
                Ok(Some((first, last))) if first == last => together.push(first - 1),
                Err(BisectError::Measurement(error)) => return Err(error),
                _ => return Ok(checks),
            }
        }
    }

    /// The first of two configurations with the first options of the other one, and some of the others.
    fn with_options(
        &self,
        options: &[KernelOption],
        first: usize,
        others: &[usize],
    ) -> KernelState {
        let mut state = self.states[0].1.clone();
        state.options.extend_from_slice(&options[..first]);
        state.options.extend(others.iter().map(|other| options[*other].clone()));
        state
    }
}

impl Steps for KernelSteps {
    fn axis(&self) -> Axis {
        let of_levels = self.levels.axis();
        let steps = self.states.iter().map(|(name, _)| name.clone()).collect();
        Axis { name: FACTOR.to_owned(), steps, ..of_levels }
    }

    fn is_exact(&self) -> bool {
        self.levels.is_exact()
    }

    fn target(&self) -> Target {
        self.levels.target()
    }

    fn repeatable_run(&self, step: usize) -> Option<PathBuf> {
        self.levels.repeatable_run(step)
    }

    fn has_code(&self) -> bool {
        matches!(self.kind, Kind::Source(_))
    }

    fn likely(&self, functions: &[(String, f64)]) -> Result<Vec<f64>> {
        match &self.kind {
            Kind::Options(_) => Ok(Vec::new()),
            Kind::Source(history) => history.likely(functions).map_err(failed),
        }
    }

    fn measure(&mut self, step: usize, driver: &mut Driver<'_>) -> Result<Measured> {
        let (name, state) = self.states[step].clone();
        self.measure_state(&name, &state, driver)
    }

    fn check(
        &mut self,
        found: &BisectResult,
        step: usize,
        driver: &mut Driver<'_>,
    ) -> Result<Vec<Check>> {
        let history = match &self.kind {
            Kind::Options(options) => {
                let options = options.clone();
                return self.check_options(&options, found, step, driver);
            }
            // The last state without the last change is the one before.
            Kind::Source(_) if step + 1 == self.states.len() => return Ok(Vec::new()),
            Kind::Source(history) => history,
        };
        let folder = KernelBuilder::folder(&Cache::of_user().kernels());
        let what = format!("all without {}", self.states[step].0);
        let is_like_last = match history.last_without(step, &folder).map_err(failed)? {
            None => Err("later changes are made on top of it".to_owned()),
            Some(rest) => {
                let measured = self.measure_state(&what, &KernelState::of(&rest), driver)?;
                is_like_last(found, &measured, self.states.len())
            }
        };
        Ok(vec![Check { what, is_like_last, expects_last: false }])
    }
}

impl StepsOfKernels {
    /// The plan with these kernels, and the base folder of its paths.
    fn plan(&self, of_plan: &StepsOfPlan, levels: Vec<PlanLevel>) -> Result<(Plan, PathBuf)> {
        let factor = PlanFactor { name: FACTOR.to_owned(), levels };
        let Some(path) = &of_plan.plan else {
            let name = match self.requested() {
                Some(Requested::Git { .. }) => "kernel-git",
                Some(Requested::Patches { .. }) => "kernel-patches",
                _ => "kernel-config",
            };
            let subject = ("subject".to_owned(), "vm".to_owned());
            let base = std::iter::once(subject).chain(self.set.iter().cloned()).collect();
            let plan = Plan::of_factor(name, base, factor, self.seeds.clone()).checked()?;
            return Ok((plan, PathBuf::new()));
        };
        let (text, folder) = read_plan(path)?;
        let plan = parse_plan_along(&text, factor).map_err(|error| wrong_plan(path, error))?;
        Ok((plan, folder))
    }

    /// The guest in which the kernels run.
    fn guest(&self, of_plan: &StepsOfPlan) -> Result<VmRequest> {
        let level = |name: &str| PlanLevel { name: name.to_owned(), ..PlanLevel::default() };
        let (plan, folder) = self.plan(of_plan, vec![level("first"), level("last")])?;
        let cells = plan.cells(&folder).map_err(ExperimentError::Plan)?;
        match cells.into_iter().next().and_then(|cell| cell.subject) {
            Some(SubjectArg::Vm(request)) => Ok(*request),
            _ => Err(ExperimentError::WrongUse(
                "kernels run in guests: set subject = \"vm:machine=p2-350\" or another machine"
                    .to_owned(),
            )),
        }
    }
}

/// The first of two configurations, and after each of the options that differ.
fn states_of(
    first: &str,
    state: &KernelState,
    options: &[KernelOption],
) -> Vec<(String, KernelState)> {
    let name = Path::new(first).file_name().unwrap_or_default().to_string_lossy();
    let mut states = vec![(format!("{name} as it is"), state.clone())];
    for (index, option) in options.iter().enumerate() {
        let options = options[..=index].to_vec();
        states.push((shown(option), KernelState { options, ..state.clone() }));
    }
    states
}

fn shown(option: &KernelOption) -> String {
    format!("{}={}", option.name, option.value)
}

/// The level of a kernel in a folder.
fn level(name: &str, folder: &Path) -> Result<PlanLevel> {
    let path = folder.to_str().ok_or_else(|| {
        ExperimentError::NotMeasured(format!("{}: the cache's path is not UTF-8", folder.display()))
    })?;
    let settings = vec![(FACTOR.to_owned(), path.to_owned())];
    Ok(PlanLevel { name: name.to_owned(), settings, build: None })
}

fn is_like_last(found: &BisectResult, measured: &Measured, steps: usize) -> Result<bool, String> {
    found.resembles_last(measured, steps).ok_or_else(|| match measured {
        Measured::Skip(why) | Measured::Failed(why) => why.clone(),
        _ => "it has no such response".to_owned(),
    })
}

/// A kernel by name, with what it is made of.
fn kernel_of(name: &str, kernels_dir: &Path) -> Result<Kernel> {
    let arg = name.parse().map_err(ExperimentError::WrongUse)?;
    kernels::locate(&arg, kernels_dir)
        .map_err(|error| ExperimentError::NotMeasured(error.to_string()))
}

/// The text of a configuration: a file of options, or that of a kernel.
fn config_of(name: &str, kernels_dir: &Path) -> Result<String> {
    let is_config = |text: &String| !kernel_build::read_options(text).is_empty();
    if let Some(text) = fs::read_to_string(name).ok().filter(is_config) {
        return Ok(text);
    }
    let kernel = kernel_of(name, kernels_dir)?;
    let path = kernel.config_path.ok_or_else(|| {
        ExperimentError::WrongUse(format!(
            "{name}: it has no file of its configuration; name such a file, or a package of a kernel"
        ))
    })?;
    fs::read_to_string(&path)
        .map_err(|error| ExperimentError::NotMeasured(format!("{}: {error}", path.display())))
}

/// The package with the source of a kernel of Debian.
fn source_of(name: &str, kernels_dir: &Path) -> Result<String> {
    let unknown = || {
        ExperimentError::WrongUse(format!(
            "{name}: its source is not known; name it with --kernel-source"
        ))
    };
    if Path::new(name).is_file() {
        return Err(unknown());
    }
    let kernel = kernel_of(name, kernels_dir)?;
    let text = kernel.version_text.ok_or_else(unknown)?;
    debian_source(&text).ok_or_else(unknown)
}

/// The package of a source from a kernel's version: `… Debian 6.1.192-2 (2026-11-14)`.
fn debian_source(version_text: &str) -> Option<String> {
    let mut words = version_text.split_whitespace();
    words.find(|word| *word == "Debian")?;
    let version = words.next()?;
    let mut numbers = version.split('.');
    let line = format!("{}.{}", numbers.next()?, numbers.next()?);
    Some(format!("deb:linux-source-{line}={version}"))
}

/// Lets a build work, with what it needs of a driver.
fn with_control<T>(
    driver: &mut Driver<'_>,
    work: impl FnOnce(&mut BuildControl<'_>) -> Result<T, BuildError>,
) -> Result<T> {
    let agent =
        instrument::program().map_err(|error| ExperimentError::NotMeasured(error.to_string()))?;
    let waiter = driver.waiter;
    let stop = || waiter.stop_requested();
    let mut say = |text: &str| driver.note(text);
    work(&mut BuildControl { agent, stop: &stop, say: &mut say }).map_err(failed)
}

fn failed(error: BuildError) -> ExperimentError {
    match error {
        BuildError::Interrupted => ExperimentError::Interrupted,
        BuildError::Unusable(why) => ExperimentError::WrongUse(why),
        other => ExperimentError::NotMeasured(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use kernel_build::SourceState;

    use super::*;

    #[test]
    fn the_source_of_a_kernel_of_debian_is_a_package() {
        let text = "6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) \
                    12.2.0) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-14)";
        assert_eq!(debian_source(text).as_deref(), Some("deb:linux-source-6.1=6.1.192-2"));
        assert_eq!(debian_source("6.1.0 (me@here) #1 SMP"), None);
    }

    #[test]
    fn each_option_is_a_step_with_those_before_it() {
        let options = kernel_build::read_options("CONFIG_A=y\n# CONFIG_B is not set\n");
        let source = SourceState { name: "source".into(), commit: "1".into(), tree: "2".into() };
        let states = states_of("configs/first", &KernelState::of(&source), &options);
        let named: Vec<_> =
            states.iter().map(|(name, state)| (name.as_str(), state.options.len())).collect();
        assert_eq!(named, [("first as it is", 0), ("A=y", 1), ("B=n", 2)]);
    }
}
