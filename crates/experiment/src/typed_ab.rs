//! The comparison of two levels as it is typed, and the plan that it becomes.

use std::path::Path;

use clap::Args;
use kernel_build::{Git, commit};
use model::shown::quoted;

use crate::job::{TypedJob, first_metric};
use crate::plan::{Plan, PlanError, PlanFactor, PlanLevel, is_parameter, parse_plan, plan_text};
use crate::subject_arg::is_here;
use crate::typed::{Seeds, Setting, seeds, setting};

/// Factors whose subject is a machine of its own.
const OF_MACHINE: [&str; 6] = ["kernel", "machine", "cmdline", "overlay", "root", "thp"];
/// The factors besides parameters: command lines, revisions.
const COMMAND: &str = "command";
const GIT: &str = "git";
/// The parameters that they set.
const RUN: &str = "command.run";
const FOLDER: &str = "command.folder";
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

    /// The command that is timed: --job command with this command line, in the current folder
    #[arg(value_name = "COMMAND", last = true, conflicts_with_all = ["job", "probe"])]
    command: Vec<String>,

    /// The load in the background
    #[arg(long, value_name = "LOAD")]
    load: Option<String>,

    /// Time work instead of a probe: vmtest, vmtest:24M, touch:pages=thp, session
    #[arg(long, value_name = "JOB", conflicts_with = "probe")]
    job: Option<TypedJob>,

    /// The interaction that is timed [default: response]
    #[arg(long, value_name = "PROBE")]
    probe: Option<String>,

    /// Where to run: as with `thrashlab run` [default of kernel, machine, cmdline, overlay, root and thp:
    /// vm]
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,

    /// Another parameter of the plan, as in plans: touch.pattern=chase, profile=quick
    #[arg(long, value_name = "PARAM=VALUE", value_parser = setting)]
    set: Vec<Setting>,

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

    /// Names of the two levels, if they are not their values.
    #[arg(skip)]
    names: Option<[String; 2]>,

    /// Settings of both levels that are typed as options of a command.
    #[arg(skip)]
    of_command: Vec<Setting>,
}

impl TypedAb {
    /// With a subject that is the user's default, if `is_default`: what was named otherwise, or is
    /// needed, is stronger.
    #[must_use]
    pub fn with_default_subject(mut self, is_default: bool) -> Self {
        let is_set = self.is_set("subject");
        let is_needed = OF_MACHINE.contains(&self.factor.as_str()) || self.factor == "subject";
        self.subject.take_if(|_| is_default && (is_set || is_needed));
        self
    }

    /// The command lines that are its levels, if all that happens is that they are executed on this
    /// machine.
    pub fn lines_of_this_machine(&self) -> Option<[&str; 2]> {
        let is_host = self.subject.as_deref().is_none_or(|subject| subject == "host");
        let is_plain = self.factor == "command"
            && is_host
            && self.build.is_none()
            && self.load.as_deref().is_none_or(|load| load == "noload")
            && self.set.is_empty()
            && self.of_command.is_empty();
        is_plain.then_some([self.first.as_str(), self.second.as_str()])
    }

    /// With options of the command that is timed: two names are those of the levels.
    #[must_use]
    pub fn with_options(mut self, names: &[String], mut settings: Vec<Setting>) -> Self {
        if let [first, second] = names {
            self.names = Some([first.clone(), second.clone()]);
            settings.retain(|(name, _)| name != NAME);
        }
        self.of_command = settings;
        self
    }

    /// Whether a command is timed.
    pub fn is_timed(&self) -> bool {
        self.factor == COMMAND || !self.command.is_empty()
    }

    fn is_set(&self, name: &str) -> bool {
        self.set.iter().any(|(known, _)| known == name)
    }

    /// Whether a command is timed in the current folder: a guest and another machine do not have it.
    pub fn is_in_this_folder(&self) -> bool {
        let is_of_machine = OF_MACHINE.contains(&self.factor.as_str());
        let is_here = match &self.subject {
            Some(subject) => is_here(subject),
            None => !is_of_machine && !self.is_set("subject"),
        };
        self.is_timed() && is_here && self.factor != GIT && !self.is_set(FOLDER)
    }

    /// Whether a run is as short as it can be: a command on a machine, without a service or a setup that
    /// each run would repeat.
    pub(crate) fn is_short(&self) -> bool {
        let is_named = |name: &str| {
            let name = format!("{COMMAND}.{name}");
            self.of_command.iter().chain(&self.set).any(|(known, _)| *known == name)
        };
        let is_on_machine = match &self.subject {
            Some(subject) => is_here(subject),
            None => !OF_MACHINE.contains(&self.factor.as_str()) && !self.is_set("subject"),
        };
        self.is_timed() && is_on_machine && !["runs", "setup", "service"].into_iter().any(is_named)
    }

    /// Whether the most blocks follow from the times of the first ones.
    pub(crate) fn chooses_most_blocks(&self) -> bool {
        self.is_short() && self.max_blocks.is_none() && !self.is_fixed()
    }

    /// Whether the number of blocks is fixed, so that there is one look.
    pub(crate) fn is_fixed(&self) -> bool {
        self.blocks.is_some() || self.seeds.is_some()
    }

    /// The seeds of the most blocks.
    fn seeds(&self) -> Seeds {
        let most = self.blocks.or(self.max_blocks).unwrap_or(MOST_BLOCKS);
        self.seeds.clone().unwrap_or_else(|| (1..=u64::from(most)).collect())
    }

    /// The plan and its text. `home` is the current folder, and `folder` that of the results for a
    /// name. Fails for an unknown factor, a setting that contradicts another, or a revision that
    /// does not exist.
    pub(crate) fn plan(
        &self,
        name: &str,
        home: &Path,
        folder: &Path,
    ) -> Result<(Plan, String), PlanError> {
        let base = self.base(home)?;
        let [first, second] = match &self.names {
            Some([first, second]) => [first, second],
            None => [&self.first, &self.second],
        };
        let names = level_names(first, second);
        let values = [&*self.first, &*self.second];
        let levels = names.into_iter().zip(values);
        let level = |(name, value): (String, &str)| self.level(name, value, home, folder);
        let factor = PlanFactor {
            name: self.factor.clone(),
            levels: levels.map(level).collect::<Result<_, _>>()?,
        };
        let mut plan = Plan::of_factor(name, base, factor, self.seeds());
        plan.responses = match &self.response {
            Some(response) => vec![response.clone()],
            None => usual_responses(&plan.base, self.is_short()),
        };
        let text = plan_text(&plan);
        // What is written must be what is run, and as good as a plan from a file.
        Ok((parse_plan(&text)?, text))
    }

    /// The settings of both levels.
    fn base(&self, home: &Path) -> Result<Vec<Setting>, PlanError> {
        let mut base = Vec::new();
        let mut add = |name: &str, value: &str| base.push((name.to_owned(), value.to_owned()));
        let is_of_machine = OF_MACHINE.contains(&self.factor.as_str());
        match &self.subject {
            Some(subject) => add("subject", subject),
            None if is_of_machine && !self.is_set("subject") => add("subject", "vm"),
            None => {}
        }
        let named = [("load", &self.load), ("probe", &self.probe)];
        for (name, value) in named {
            value.iter().for_each(|value| add(name, value));
        }
        if let Some(job) = &self.job {
            add("job", &job.name);
            for (name, value) in &job.settings {
                add(&format!("{}.{name}", job.name), value);
            }
        }
        let is_command = self.factor == COMMAND;
        if is_command && !self.command.is_empty() {
            let why = "ab command A B: the command lines are A and B, and nothing follows --";
            return Err(PlanError::Wrong(why.to_owned()));
        }
        if !self.command.is_empty() {
            add(RUN, &workloads::command_text(&self.command).map_err(PlanError::Wrong)?);
        }
        let is_timed = self.is_timed();
        if is_timed {
            add("job", COMMAND);
        }
        if self.is_in_this_folder() {
            add(FOLDER, &home.to_string_lossy());
        }
        if self.is_short() {
            add(LEAST, LEAST_OF_SHORT);
        }
        base.extend(self.of_command.iter().chain(&self.set).cloned());
        Ok(base)
    }

    fn level(
        &self,
        name: String,
        value: &str,
        home: &Path,
        folder: &Path,
    ) -> Result<PlanLevel, PlanError> {
        let build = self.build.as_ref().map(|build| build.replace("{level}", value));
        let setting = |parameter: &str| vec![(parameter.to_owned(), value.to_owned())];
        let settings = match self.factor.as_str() {
            COMMAND => setting(RUN),
            "thp" => setting("subject.thp"),
            GIT => return revision(name, value, build, home, folder),
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
    let job = base.iter().rev().find(|(name, _)| name == "job");
    let usual = match job.map(|(_, job)| job.as_str()) {
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

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ab: TypedAb,
    }

    fn plan(line: &[&str]) -> Result<(Plan, String), PlanError> {
        let line = Line::try_parse_from(["ab"].iter().chain(line)).unwrap();
        line.ab.plan("name", Path::new("/home/me"), Path::new("/results"))
    }

    fn settings(plan: &Plan, level: usize) -> Vec<String> {
        let of_level = plan.base.iter().chain(&plan.factors[0].levels[level].settings);
        of_level.map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn a_parameter_becomes_a_plan_of_two_levels() {
        let line =
            ["touch.pages", "small", "thp", "--job", "touch:footprint=8M", "--load", "cpuload"];
        let (found, text) = plan(&line).unwrap();
        assert_eq!(found.seeds.len(), 40);
        assert_eq!(found.responses, ["touch_ns"]);
        let both = ["job=touch", "load=cpuload", "touch.footprint=8M"];
        assert_eq!(settings(&found, 1)[..3], both);
        assert_eq!(settings(&found, 1)[3], "touch.pages=thp");
        assert_eq!(parse_plan(&text).unwrap(), found, "{text}");
        assert!(text.contains("blocks = 40") && !text.contains("seeds"), "{text}");
        let (seeded, text) = plan(&["load", "noload", "cpuload", "--seeds", "3,5"]).unwrap();
        assert_eq!((seeded.seeds, seeded.responses), (vec![3, 5], vec!["delay_ns".to_owned()]));
        assert!(text.contains("seeds = [3, 5]"), "{text}");
    }

    #[test]
    fn commands_run_in_the_current_folder_and_words_stay_words() {
        let line = ["sysctl.vm.swappiness", "60", "10", "--", "./my bench", "--fast", "it's"];
        let (found, _) = plan(&line).unwrap();
        let expected = [
            "command.folder=/home/me",
            "command.least=50ms",
            "command.run='./my bench' --fast \"it's\"",
            "job=command",
        ];
        assert_eq!(settings(&found, 0)[..4], expected);
        // CPU time is declared too, as others may take the CPU.
        assert_eq!(found.responses, ["elapsed_ns", "cpu_ns"]);
        let (found, _) = plan(&["command", "./old", "./new -x"]).unwrap();
        assert_eq!(settings(&found, 1).last().unwrap(), "command.run=./new -x");
        assert_eq!(found.factors[0].levels[1].name, "./new -x");
        let line = Line::try_parse_from(["ab", "command", "./a", "./b"]).unwrap();
        let names = ["old", "new"].map(str::to_owned);
        let options = [(NAME, "old\nnew"), ("command.prepare", "sync")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let named = line.ab.with_options(&names, options.into());
        let (found, _) = named.plan("name", Path::new("/home/me"), Path::new("/results")).unwrap();
        assert_eq!(found.factors[0].levels[0].name, "old");
        let mut both =
            vec!["command.folder=/home/me", "command.least=50ms", "command.prepare=sync"];
        both.extend(["job=command", "command.run=./b"]);
        assert_eq!(settings(&found, 1), both);
        let told = plan(&["command", "./a", "./b", "--", "./c"]).unwrap_err().to_string();
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
    fn a_machine_of_its_own_is_the_default_where_it_is_needed() {
        let (found, _) = plan(&["thp", "always", "never", "--job", "vmtest"]).unwrap();
        assert!(settings(&found, 0).contains(&"subject=vm".to_owned()), "{found:?}");
        assert!(settings(&found, 0).contains(&"subject.thp=always".to_owned()), "{found:?}");
        let told = plan(&["colour", "red", "blue"]).unwrap_err().to_string();
        assert!(told.contains("\"colour\" is neither"), "{told}");
        let default = |line: &[&str]| {
            let line = Line::try_parse_from(["ab"].iter().chain(line)).unwrap();
            line.ab.with_default_subject(true).subject
        };
        assert_eq!(default(&["kernel", "a", "b", "--subject", "sandbox"]), None);
        let kept = default(&["load", "noload", "cpuload", "--subject", "sandbox"]);
        assert_eq!(kept.as_deref(), Some("sandbox"));
    }
}
