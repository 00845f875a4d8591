//! Each step in words, with its evidence and the command that repeats it.

use analysis::explained::{ExplainedDifference, Part};
use analysis::history::{
    ConfigChange, Evidence, HistoryData, NOT_RECORDED, StateChange, StateValue, Step,
    StepFunctions, StepKind,
};
use model::units::format_size;
use render::{Block, Cell, Table, format};

/// How the words for a clock that counts instructions begin.
pub(super) const INSTRUCTIONS: &str = "virtual time of instructions";
/// Most states and parts in a sentence.
const MOST: usize = 2;
/// A part is named from this share of the difference on.
const NAMED_FROM: f64 = 0.2;

/// A step in a few words.
pub(super) fn title(data: &HistoryData, step: &Step) -> String {
    let after = &data.kernels[step.after].name;
    match (measure(data, step), step.kind) {
        (None, _) => format!("{after} does not run"),
        (Some(name), StepKind::Died) => format!("{after} dies under {name}"),
        (Some(name), kind) => format!("{name}: {} with {after}", word(kind)),
    }
}

/// A step in one sentence, the difference of states first.
pub(super) fn sentence(data: &HistoryData, step: &Step) -> String {
    let text = match step.kind {
        StepKind::Died | StepKind::Recovered => return death(data, step),
        StepKind::Failing | StepKind::Succeeding => failing(data, step),
        StepKind::Slower | StepKind::Faster => {
            let causes = format!("{}{}", parts(step), culprit(step));
            format!("{}{}{causes}", moved(data, step), ratio(data, step))
        }
        StepKind::MoreVariable | StepKind::LessVariable => {
            let spread = step.ratio.map_or_else(String::new, |ratio| {
                format!(": the spread over seeds is {}", format::times(ratio.ratio))
            });
            format!("{}{spread}", moved(data, step))
        }
    };
    format!("{}{text}{}.", states(step), place(data, step))
}

/// Whether a kernel dies or lives again under a measure.
pub(super) fn is_death(step: &Step) -> bool {
    matches!(step.kind, StepKind::Died | StepKind::Recovered) && step.measure.is_some()
}

fn death(data: &HistoryData, step: &Step) -> String {
    match step.measure {
        Some(_) => deaths(data, &[step]),
        None => {
            let after = &data.kernels[step.after].name;
            format!("{after} does not run: {}.", cause(step))
        }
    }
}

fn cause(step: &Step) -> &str {
    step.cause.as_deref().unwrap_or("the cause is unknown")
}

/// Measures under which one kernel dies, or lives again, in one sentence.
pub(super) fn deaths(data: &HistoryData, steps: &[&Step]) -> String {
    let Some(first) = steps.first() else { return String::new() };
    let after = &data.kernels[first.after].name;
    let names = steps.iter().map(|step| {
        let name = measure(data, step).unwrap_or_default();
        match step.failed.filter(|_| step.kind == StepKind::Died) {
            Some((died, runs)) => format!("{name} ({died} of {runs} seeds)"),
            None => name.to_owned(),
        }
    });
    let names = format::and(names);
    match first.kind {
        StepKind::Died => format!("{after} dies under {names}: {}.", cause(first)),
        _ => format!("{after} lives under {names} again."),
    }
}

fn failing(data: &HistoryData, step: &Step) -> String {
    let [before, after] = names(data, step);
    let name = measure(data, step).unwrap_or_default();
    let more = if step.kind == StepKind::Failing { "more" } else { "less" };
    let cause = step.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    let failed = step
        .failed
        .map_or_else(String::new, |(failed, runs)| format!(" ({failed} of {runs} runs)"));
    format!("{name} fails {more} often with {after}{failed} than with {before}{cause}")
}

fn moved(data: &HistoryData, step: &Step) -> String {
    let [before, after] = names(data, step);
    let name = measure(data, step).unwrap_or_default();
    format!("{name} is {} with {after} than with {before}", word(step.kind))
}

/// The ratio with its interval, and what it counts.
fn ratio(data: &HistoryData, step: &Step) -> String {
    let Some(ratio) = step.ratio else { return String::new() };
    let clock = step.measure.and_then(|measure| {
        let cell = data.cell(&data.kernels[step.after].name, &data.measures[measure])?;
        cell.clock.starts_with(INSTRUCTIONS).then_some(" in instructions")
    });
    let interval = format::ratio_interval(Some((ratio.low, ratio.high)));
    format!(": {} {interval}{}", format::times(ratio.ratio), clock.unwrap_or_default())
}

/// What most of the difference consists of.
fn parts(step: &Step) -> String {
    let Some(found) = &step.explained else { return String::new() };
    let all = found.delay.difference_ns;
    let named: Vec<String> = largest(found)
        .into_iter()
        .filter(|(_, difference)| difference / all >= NAMED_FROM)
        .take(MOST)
        .map(|(part, difference)| format!("{} {}", signed(difference), part.title()))
        .collect();
    if named.is_empty() {
        return String::new();
    }
    format!("; of {} on average {}", signed(all), format::and(named))
}

/// The function that most of the difference in instructions is in.
fn culprit(step: &Step) -> String {
    let culprit = step.functions.as_ref().and_then(|it| it.culprit.as_ref());
    culprit.map_or_else(String::new, |(name, share)| {
        let share = format::share(*share);
        format!("; {share} of the instructions in {name} and what it calls")
    })
}

/// The parts of a difference, the largest first.
fn largest(found: &ExplainedDifference) -> Vec<(Part, f64)> {
    let mut parts: Vec<(Part, f64)> =
        found.parts.iter().map(|(part, it)| (*part, it.difference_ns)).collect();
    parts.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    parts
}

fn signed(duration_ns: f64) -> String {
    format::signed(format::duration(duration_ns))
}

/// The states that differ, which come before everything else.
fn states(step: &Step) -> String {
    if step.states.is_empty() {
        return String::new();
    }
    let more = step.states.len().saturating_sub(MOST);
    let mut named: Vec<String> = step.states.iter().take(MOST).map(change).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    format!("The states differ ({}): ", named.join(", "))
}

fn change(change: &StateChange) -> String {
    let text = |value: &StateValue| match value {
        StateValue::Setting(text) => text.clone(),
        StateValue::Bytes(bytes) => format_size(bytes.round() as u64),
    };
    format!("{} {} → {}", change.name, text(&change.first), text(&change.second))
}

/// Where it may be, if that is wider than two neighbours.
fn place(data: &HistoryData, step: &Step) -> String {
    let Some((first, last)) = step.between else { return String::new() };
    let [first, last] = [first, last].map(|kernel| &data.kernels[kernel].name);
    format!(" (most likely there, certainly between {first} and {last})")
}

/// The evidence of a step as parts of its section.
pub(super) fn details(data: &HistoryData, step: &Step) -> Vec<Block> {
    let mut blocks = vec![Block::Sentence(sentence(data, step))];
    let mut notes = vec![match step.evidence {
        Evidence::Fact => "A fact: equal inputs give equal bytes, so it repeats.".to_owned(),
        Evidence::Neighbours => "Shown by the two neighbours alone (Mann and Whitney).".to_owned(),
        Evidence::ChangePoint => {
            "A change point: shown by all kernels on both sides, by ranks.".to_owned()
        }
    }];
    if !step.states.is_empty() {
        let all: Vec<String> = step.states.iter().map(change).collect();
        notes.push(format!(
            "The states differ before the measured part: {}. The step may be that difference.",
            all.join(", ")
        ));
    }
    if step.evidence != Evidence::Fact {
        notes.push(format!("Not recorded, so not compared: {NOT_RECORDED}."));
    }
    let configurations: Vec<String> = step
        .configurations
        .iter()
        .map(|it| format!("{} {} → {}", it.name, it.first, it.second))
        .collect();
    if !configurations.is_empty() {
        notes.push(format!("The configurations differ: {}.", configurations.join(", ")));
    }
    blocks.extend(step.explained.as_ref().map(|found| part_table(found).into()));
    blocks.extend(step.functions.as_ref().map(|found| function_table(found).into()));
    blocks.push(Block::Notes(notes));
    blocks.push(Block::Command(command(data, step)));
    let tests: Vec<Block> = step
        .configurations
        .iter()
        .filter_map(variant)
        .filter_map(|setting| Some(Block::Command(factor_command(data, step, &setting)?)))
        .collect();
    if !tests.is_empty() {
        blocks.push(
            "Is it the configuration? The kernel after the step, also as it was before:".into(),
        );
        blocks.extend(tests);
    }
    blocks
}

/// The setting of the machine that gives a kernel what it had before, where there is a switch.
fn variant(change: &ConfigChange) -> Option<String> {
    let before = change.first.split(' ').next()?;
    match change.name.as_str() {
        "MGLRU" | "zswap" if change.second == "no" || before == "no" => None,
        "MGLRU" => Some(format!("lru_gen={before}")),
        "zswap" => Some(format!("zswap={before}")),
        "THP" if before != "no" => Some(format!("thp={before}")),
        "preemption" if change.second.contains("dynamic") => {
            Some(format!("cmdline=preempt={before}"))
        }
        _ => None,
    }
}

/// The command that measures the kernel after a step as it is, and with a setting.
fn factor_command(data: &HistoryData, step: &Step, setting: &str) -> Option<String> {
    let name = measure(data, step)?;
    let typed = model::shown::quoted(&data.kernels[step.after].typed);
    let suite = match data.suite.typed.as_str() {
        "" => String::new(),
        typed => format!(" {typed}"),
    };
    let (setting, name) = (model::shown::quoted(setting), model::shown::quoted(name));
    Some(format!("thrashlab history {typed} --variant {setting}{suite} --measure {name}"))
}

fn part_table(found: &ExplainedDifference) -> Table {
    let mut table = Table::new("Mean delay by cause", ["part", "before", "after", "difference"]);
    let row = |name: &str, it: &analysis::explained::PartDifference| {
        let difference = Cell::Figure(signed(it.difference_ns));
        [name.into(), Cell::duration(it.first_ns), Cell::duration(it.second_ns), difference]
    };
    for (part, _) in largest(found) {
        if let Some(it) = found.parts.get(&part).filter(|it| it.first_ns + it.second_ns > 0.0) {
            table.row(row(part.title(), it));
        }
    }
    table.row(row("all", &found.delay));
    table
}

/// The functions that differ most, with what each accounts for.
fn function_table(found: &StepFunctions) -> Table {
    let title =
        format!("Instructions by function, mean of {}", format::counted(found.seeds, "seed"));
    let mut table = Table::new(&title, ["function", "before", "after", "difference"]);
    let count = |count: Option<u64>| Cell::from(count.map(format::grouped));
    let signed = |[before, after]: [Option<u64>; 2]| {
        let [before, after] = [before, after].map(|it| it.unwrap_or(0));
        let sign = if after < before { "-" } else { "+" };
        Cell::Figure(format!("{sign}{}", format::grouped(after.abs_diff(before))))
    };
    for (name, own) in &found.functions {
        table.row([Cell::from(name.as_str()), count(own[0]), count(own[1]), signed(*own)]);
    }
    let all = found.instructions.map(Some);
    table.row(["all".into(), count(all[0]), count(all[1]), signed(all)]);
    table
}

/// The command that repeats a step: its two kernels and its measure, with the same seeds.
pub(super) fn command(data: &HistoryData, step: &Step) -> String {
    let kernels = step.before.into_iter().chain([step.after]);
    let kernels =
        kernels.filter(|kernel| data.kernels[*kernel].problem.is_none() || *kernel == step.after);
    let kernels: Vec<_> = kernels.map(|kernel| &data.kernels[kernel]).collect();
    let typed = kernels.iter().map(|kernel| model::shown::quoted(&kernel.typed));
    let mut words: Vec<String> = ["thrashlab", "history"].map(str::to_owned).into();
    words.extend(analysis::distinct(typed));
    for setting in analysis::distinct(kernels.iter().flat_map(|kernel| &kernel.settings)) {
        words.extend(["--variant".to_owned(), model::shown::quoted(setting)]);
    }
    if !data.suite.typed.is_empty() {
        words.push(data.suite.typed.clone());
    }
    if let Some(name) = measure(data, step) {
        words.extend(["--measure".to_owned(), model::shown::quoted(name)]);
        let cell = data.cell(&data.kernels[step.after].name, name);
        if let Some(cell) = cell.filter(|cell| cell.runs.len() != data.settings.seeds as usize) {
            words.extend(["--seeds".to_owned(), cell.runs.len().to_string()]);
        }
    }
    words.join(" ")
}

fn measure<'a>(data: &'a HistoryData, step: &Step) -> Option<&'a str> {
    step.measure.map(|measure| data.measures[measure].as_str())
}

/// The names of the kernels before and after a step.
fn names<'a>(data: &'a HistoryData, step: &Step) -> [&'a str; 2] {
    let before = step.before.map_or("", |before| data.kernels[before].name.as_str());
    [before, &data.kernels[step.after].name]
}

fn word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Died => "dies",
        StepKind::Recovered => "lives again",
        StepKind::Failing => "fails more often",
        StepKind::Succeeding => "fails less often",
        StepKind::Slower => "slower",
        StepKind::Faster => "faster",
        StepKind::MoreVariable => "more variable",
        StepKind::LessVariable => "less variable",
    }
}
