//! The comparison of two levels as it is typed, and the plan that it becomes.

use std::path::{Path, PathBuf};

use clap::Args;
use kernel_build::{Git, commit};
use model::BASELINE;
use model::shown::quoted;

use crate::job::{FOLDER, first_metric, set_folder, times_command};
use crate::plan::{Plan, PlanError, PlanFactor, PlanLevel, is_parameter};
use crate::subject_arg::is_here;
use crate::typed::{Seeds, Setting, last, once, seeds, set_default};

/// Factors whose subject is a machine of its own.
const OF_MACHINE: [&str; 6] = ["kernel", "machine", "cmdline", "overlay", "root", "thp"];
/// The factors besides parameters: command lines, which are also the name of their job, and
/// revisions.
const COMMAND: &str = model::COMMAND;
const GIT: &str = "git";
/// The parameter that command lines set.
const RUN: &str = "command.run";
/// The parameter that names commands; two names are those of the levels.
const NAME: &str = "command.name";
/// Folder of the checked-out revisions, below that of the results. Hidden: it holds no runs.
const CHECKOUTS: &str = ".checkouts";
/// Most letters of a level's name, which is part of the names of files.
const LONGEST_NAME: usize = 60;
/// Most blocks by default.
const MOST_BLOCKS: u32 = 40;
/// Parameter: least time that the repetitions of a run take together.
const LEAST: &str = "command.least";
/// Its value in short runs: a multiple of what starting a run costs.
const LEAST_OF_SHORT: &str = "50ms";
/// Letters of a commit's name that a folder has.
const COMMIT_LETTERS: usize = 12;

/// What is compared, and with how many blocks.
#[derive(Args, Clone, Debug)]
pub struct TypedAb {
    /// What differs: a parameter of plans (kernel, sysctl.NAME, sandbox.memory, load, vmtest.NAME,
    /// …), `thp` of a guest, `command` (A and B are command lines) or `git` (revisions of the
    /// current repository)
    #[arg(value_name = "FACTOR")]
    pub(crate) factor: String,

    /// The first level: the reference
    #[arg(value_name = "A")]
    first: String,

    /// The second level
    #[arg(value_name = "B")]
    second: String,

    /// A command that builds each level, run by `sh -c`: with `git` in the revision's folder, else
    /// in the current one; {level} stands for A or B
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,

    /// The cost of work: the response that decides [default: delay_ns of a probe, touch_ns of vmtest and touch, else
    /// elapsed_ns]
    #[arg(long, value_name = "RESPONSE")]
    response: Option<String>,

    /// Blocks, each a pass through all cells: exactly this many, with one look at the end
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    blocks: Option<u32>,

    /// Seeds of the blocks: exactly these; 20 (1 to 20), 5..9 or 1,2,7
    #[arg(long, value_name = "SEEDS", value_parser = seeds, conflicts_with = "blocks")]
    seeds: Option<Seeds>,

    /// Most blocks, each a run of A and one of B, unless the verdict is certain before [default: 40;
    /// for a command on this machine as many as a minute has, 40 to 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000),
        conflicts_with_all = ["blocks", "seeds"])]
    max_blocks: Option<u32>,
}

impl TypedAb {
    /// The subject that this factor needs, if it needs one; `Some(None)` = its levels are subjects.
    pub fn needed_subject(&self) -> Option<Option<&'static str>> {
        match self.factor.as_str() {
            "subject" => Some(None),
            factor => OF_MACHINE.contains(&factor).then_some(Some("vm")),
        }
    }

    /// The job that this factor names.
    pub fn work(&self) -> Option<Setting> {
        (self.factor == COMMAND).then(|| ("job".to_owned(), COMMAND.to_owned()))
    }

    /// Whether the number of blocks is fixed, so that there is one look.
    pub(crate) fn is_fixed(&self) -> bool {
        self.blocks.is_some() || self.seeds.is_some()
    }
}

/// A comparison of two levels, complete but for the folder of its results.
pub(crate) struct AbPlan {
    typed: TypedAb,
    /// Settings of both levels, each parameter once, by name.
    base: Vec<Setting>,
    names: [String; 2],
    /// The current folder, in which commands run and paths begin.
    home: PathBuf,
}

impl AbPlan {
    /// The comparison of what was typed, with these settings of both levels. Fails for settings that
    /// contradict each other.
    pub(crate) fn new(
        typed: &TypedAb,
        mut base: Vec<Setting>,
        home: PathBuf,
    ) -> Result<Self, PlanError> {
        if typed.factor == COMMAND && last(&base, RUN).is_some() {
            let why = "ab command A B: the command lines are A and B, and nothing follows --";
            return Err(PlanError::Wrong(why.to_owned()));
        }
        // Revisions run in folders of their own.
        if typed.factor != GIT {
            set_folder(&mut base, &home).map_err(PlanError::Wrong)?;
        }
        if is_short(&base) {
            set_default(&mut base, LEAST, LEAST_OF_SHORT);
        }
        let named: Vec<String> =
            last(&base, NAME).into_iter().flat_map(str::lines).map(str::to_owned).collect();
        let names = match <[String; 2]>::try_from(named) {
            Ok(names) => {
                base.retain(|(name, _)| name != NAME);
                names
            }
            Err(_) => [typed.first.clone(), typed.second.clone()],
        };
        Ok(Self { typed: typed.clone(), base: once(base), names, home })
    }

    /// The command lines that are its levels, if all that happens is that they are executed in the
    /// current folder of this machine.
    pub(crate) fn lines_of_this_machine(&self) -> Option<[&str; 2]> {
        let is_usual = |(name, value): &Setting| match name.as_str() {
            "job" => value == COMMAND,
            "subject" => value == "host",
            "load" => value == BASELINE,
            FOLDER => self.home == Path::new(value),
            LEAST => value == LEAST_OF_SHORT,
            _ => false,
        };
        let typed = &self.typed;
        let is_plain = typed.factor == COMMAND && typed.build.is_none();
        let is_plain = is_plain && self.base.iter().all(is_usual);
        is_plain.then_some([typed.first.as_str(), typed.second.as_str()])
    }

    /// Whether a command is timed in the current folder.
    pub(crate) fn is_in_this_folder(&self) -> bool {
        last(&self.base, FOLDER).is_some_and(|folder| self.home == Path::new(folder))
    }

    /// Whether a run is as short as it can be.
    pub(crate) fn is_short(&self) -> bool {
        is_short(&self.base)
    }

    /// Whether the most blocks follow from the times of the first ones.
    pub(crate) fn chooses_most_blocks(&self) -> bool {
        self.is_short() && self.typed.max_blocks.is_none() && !self.typed.is_fixed()
    }

    /// The plan with the most blocks, whose results are in `folder`. Fails for an unknown factor, a
    /// setting that contradicts another, or a revision that does not exist.
    pub(crate) fn plan(&self, name: &str, folder: &Path) -> Result<Plan, PlanError> {
        let TypedAb { factor, first, second, blocks, max_blocks, .. } = &self.typed;
        let names = level_names(&self.names[0], &self.names[1]);
        let levels = names.into_iter().zip([first, second]);
        let levels = levels.map(|(name, value)| self.level(name, value, folder));
        let levels = levels.collect::<Result<_, _>>()?;
        let factor = PlanFactor { name: factor.clone(), levels };
        let most = blocks.or(*max_blocks).unwrap_or(MOST_BLOCKS);
        let seeds = self.typed.seeds.clone().unwrap_or_else(|| (1..=u64::from(most)).collect());
        let mut plan = Plan::of_factor(name, self.base.clone(), factor, seeds);
        plan.responses = match &self.typed.response {
            Some(response) => vec![response.clone()],
            None => usual_responses(&plan.base, self.is_short()),
        };
        plan.checked()
    }

    fn level(&self, name: String, value: &str, folder: &Path) -> Result<PlanLevel, PlanError> {
        let build = self.typed.build.as_ref().map(|build| build.replace("{level}", value));
        let setting = |parameter: &str| vec![(parameter.to_owned(), value.to_owned())];
        let settings = match self.typed.factor.as_str() {
            COMMAND => setting(RUN),
            "thp" => setting("subject.thp"),
            GIT => return revision(name, value, build, &self.home, folder),
            parameter if is_parameter(parameter) => setting(parameter),
            other => {
                let why = format!(
                    "{other:?} is neither a parameter of plans (docs/experiments.md lists them) \
                     nor thp, command or git"
                );
                return Err(PlanError::Wrong(why));
            }
        };
        Ok(PlanLevel { name, settings, build })
    }
}

/// Whether these settings time a command on a machine, without a service or a setup that each run
/// would repeat.
fn is_short(base: &[Setting]) -> bool {
    let is_named = |name: &str| last(base, &format!("{COMMAND}.{name}")).is_some();
    times_command(base) && is_here(base) && !["runs", "setup", "service"].into_iter().any(is_named)
}

/// The level of a revision: a clone of its own that shares the repository's objects, so that
/// nothing is written to the repository.
fn revision(
    name: String,
    revision: &str,
    build: Option<String>,
    home: &Path,
    folder: &Path,
) -> Result<PlanLevel, PlanError> {
    let commit = commit(home, revision).map_err(PlanError::Wrong)?;
    let path = |question: &str| {
        let lines = Git::at(home).lines(&["rev-parse", question]).map_err(PlanError::Wrong)?;
        Ok(lines.into_iter().next().unwrap_or_default())
    };
    let (repo, below) = (path("--show-toplevel")?, path("--show-prefix")?);
    let checkout = folder.join(CHECKOUTS).join(&commit[..COMMIT_LETTERS.min(commit.len())]);
    let here = checkout.join(below).to_string_lossy().into_owned();
    let [repo, checkout, there] = [&repo, &*checkout.to_string_lossy(), &here].map(quoted);
    let clone = format!("git clone --quiet --shared --no-checkout {repo} {checkout}");
    let check_out = format!("git -C {checkout} checkout --quiet --detach {commit}");
    let build = build.map_or_else(String::new, |build| format!(" && cd {there} && (\n{build}\n)"));
    let build = format!("{{ test -d {checkout} || {clone}; }} && {check_out}{build}");
    Ok(PlanLevel { name, settings: vec![(FOLDER.to_owned(), here)], build: Some(build) })
}

/// Names of the levels, which differ and are not too long for names of files.
fn level_names(first: &str, second: &str) -> [String; 2] {
    let short = |text: &str| text.chars().take(LONGEST_NAME).collect::<String>();
    let (one, other) = (short(first), short(second));
    match one == other {
        false => [one, other],
        true => [format!("{one} (first)"), format!("{other} (second)")],
    }
}

/// The usual deciding responses of what these settings time: of a command that is timed on a machine
/// the elapsed time, and the CPU time for where others take the CPU.
fn usual_responses(base: &[Setting], is_short: bool) -> Vec<String> {
    let usual = match last(base, "job") {
        None => "delay_ns",
        Some("vmtest" | "touch") => "touch_ns",
        Some(_) => "elapsed_ns",
    };
    match first_metric(base) {
        Some(metric) => vec![metric],
        None if is_short && usual == "elapsed_ns" => {
            vec![usual.to_owned(), "cpu_ns".to_owned()]
        }
        None => vec![usual.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::plan::{parse_plan, plan_text};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ab: TypedAb,
    }

    fn plan(line: &[&str], base: &[(&str, &str)]) -> Result<(Plan, String), PlanError> {
        let line = Line::try_parse_from(["ab"].iter().chain(line)).unwrap();
        let base = line
            .ab
            .work()
            .into_iter()
            .chain(base.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let what = AbPlan::new(&line.ab, base.collect(), "/home/me".into())?;
        let plan = what.plan("name", Path::new("/results"))?;
        let text = plan_text(&plan);
        assert_eq!(parse_plan(&text).as_ref(), Ok(&plan), "{text}");
        Ok((plan, text))
    }

    fn settings(plan: &Plan, level: usize) -> Vec<String> {
        let of_level = plan.base.iter().chain(&plan.factors[0].levels[level].settings);
        of_level.map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn a_parameter_becomes_a_plan_of_two_levels() {
        let base = [("job", "touch"), ("touch.footprint", "8M"), ("load", "cpuload")];
        let (found, text) = plan(&["touch.pages", "small", "thp"], &base).unwrap();
        assert_eq!(found.seeds.len(), 40);
        assert_eq!(found.responses, ["touch_ns"]);
        let both = ["job=touch", "load=cpuload", "touch.footprint=8M"];
        assert_eq!(settings(&found, 1)[..3], both);
        assert_eq!(settings(&found, 1)[3], "touch.pages=thp");
        assert!(text.contains("blocks = 40") && !text.contains("seeds"), "{text}");
        let (seeded, text) = plan(&["load", "noload", "cpuload", "--seeds", "3,5"], &[]).unwrap();
        assert_eq!((seeded.seeds, seeded.responses), (vec![3, 5], vec!["delay_ns".to_owned()]));
        assert!(text.contains("seeds = [3, 5]"), "{text}");
    }

    #[test]
    fn commands_run_in_the_current_folder_and_words_stay_words() {
        let bench = [("job", "command"), ("command.run", "./bench --fast")];
        let (found, _) = plan(&["sysctl.vm.swappiness", "60", "10"], &bench).unwrap();
        let expected = [
            "command.folder=/home/me",
            "command.least=50ms",
            "command.run=./bench --fast",
            "job=command",
        ];
        assert_eq!(settings(&found, 0)[..4], expected);
        // CPU time is declared too, as others may take the CPU.
        assert_eq!(found.responses, ["elapsed_ns", "cpu_ns"]);
        let (found, _) = plan(&["command", "./old", "./new -x"], &[]).unwrap();
        assert_eq!(settings(&found, 1).last().unwrap(), "command.run=./new -x");
        assert_eq!(found.factors[0].levels[1].name, "./new -x");
        let options = [(NAME, "old\nnew"), ("command.prepare", "sync")];
        let (found, _) = plan(&["command", "./a", "./b"], &options).unwrap();
        assert_eq!(found.factors[0].levels[0].name, "old");
        let mut both =
            vec!["command.folder=/home/me", "command.least=50ms", "command.prepare=sync"];
        both.extend(["job=command", "command.run=./b"]);
        assert_eq!(settings(&found, 1), both);
        let told = plan(&["command", "./a", "./b"], &bench).unwrap_err().to_string();
        assert!(told.contains("nothing follows --"), "{told}");
    }

    #[test]
    fn a_level_against_itself_has_two_names_and_long_ones_are_cut() {
        assert_eq!(level_names("a", "a"), ["a (first)", "a (second)"]);
        assert_eq!(level_names("a", "b"), ["a", "b"]);
        let long = "x".repeat(300);
        let [one, other] = level_names(&format!("{long}a"), &format!("{long}b"));
        assert!(one != other && one.chars().count() <= LONGEST_NAME + 10, "{one}");
    }

    #[test]
    fn a_machine_of_its_own_is_the_subject_where_it_is_needed() {
        let needed = |factor: &str| {
            Line::try_parse_from(["ab", factor, "a", "b"]).unwrap().ab.needed_subject()
        };
        assert_eq!(["thp", "subject", "load"].map(needed), [Some(Some("vm")), Some(None), None]);
        let base = [("subject", "vm"), ("job", "vmtest")];
        let (found, _) = plan(&["thp", "always", "never"], &base).unwrap();
        assert!(settings(&found, 0).contains(&"subject.thp=always".to_owned()), "{found:?}");
        let told = plan(&["colour", "red", "blue"], &[]).unwrap_err().to_string();
        assert!(told.contains("\"colour\" is neither"), "{told}");
    }
}
