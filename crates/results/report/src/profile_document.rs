//! Profiles of deterministic guests as documents.

use model::units::format_duration;
use profile::{
    AreaCounts, CallStacks, Counted, Counts, CriticalPath, Death, FunctionCounts, Profile,
    Response, Selection, TaskCounts,
};
use render::{Block, Cell, Document, Section, Table, Tone, Verdict};
use serde::Serialize;

use crate::charts::{flame_chart, timeline_chart};
use crate::critical_path_table::critical_path_table;
use crate::figures::{most_of, share};
use crate::memory_profile::MemoryData;
use crate::task_table::task_table;

/// The slowest responses that are listed.
const LISTED_RESPONSES: usize = 5;
/// The part of all instructions that a frame of a flame graph has at least.
const LEAST_PART: u64 = 1000;

/// A profile as it is shown.
pub struct ProfileView<'a> {
    /// The name of the run.
    pub run_id: &'a str,
    /// Why its counts are those of the run.
    pub proof: &'a str,
    /// The profile.
    pub profile: &'a Profile,
    /// The part of the run that is shown.
    pub selection: &'a Selection,
    /// The machine whose TLBs were simulated.
    pub memory: Option<&'a str>,
    /// Most functions in the table.
    pub most_functions: usize,
}

#[derive(Serialize)]
struct ProfileData {
    run_id: String,
    proof: String,
    part: String,
    instructions: u64,
    areas: Vec<AreaCounts>,
    tasks: Vec<TaskCounts>,
    functions: Vec<FunctionCounts>,
    responses: Vec<ResponseData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    critical_path: Option<CriticalPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    death: Option<Death>,
}

#[derive(Serialize)]
struct ResponseData {
    #[serde(flatten)]
    response: Response,
    instructions: u64,
}

/// Which functions execute how much: of the run, or of some responses against all of them.
pub fn profile_document(view: &ProfileView<'_>) -> Document<'static> {
    let ProfileView { run_id, profile, selection, .. } = view;
    let counts = profile.select(selection);
    let functions = profile.functions(&counts);
    let all = match selection {
        Selection::Run | Selection::Between(..) => None,
        Selection::Responses(_) => {
            Some(profile.select(&Selection::Responses(profile.responses.all.clone())))
        }
    };
    let part = part(profile, selection);
    let mut document = Document {
        title: format!("Profile of {run_id}"),
        verdicts: vec![Verdict { text: sentence(view, &counts, &functions), tone: Tone::Plain }],
        ..Document::default()
    }
    .with_facts([("part", part.clone()), ("counts", view.proof.to_owned())]);
    document.push(area_table(profile, &counts, all.as_ref()));
    let tasks = profile.by_task(selection);
    document.push(task_table(&tasks));
    document.push(function_table(view, &counts, &functions, all.as_ref()));
    let memory = view.memory.map(|machine| MemoryData::of(machine, profile, selection));
    memory.iter().for_each(|memory| document.blocks.extend(memory.blocks(view.most_functions)));
    if matches!(selection, Selection::Run) && !profile.responses.all.is_empty() {
        document.push(response_table(profile));
    }
    let critical_path =
        critical(profile, selection).and_then(|response| profile.critical_path(&response));
    if let Some(path) = &critical_path {
        document.push(critical_path_table(path));
        let chart = Block::Chart(Box::new(timeline_chart(path)));
        document.sections.push(Section::new("timeline", "Critical path", vec![chart]));
    }
    let death = profile.death();
    let stack = death.iter().map(last_stack);
    let sections = stack.map(|stack| Section::new("death", "Where the kernel died", stack));
    document.sections.extend(sections);
    let frames = profile::flame(*profile, &counts, counts.total / LEAST_PART);
    let chart = Block::Chart(Box::new(flame_chart(&frames, counts.total, Counted::Instructions)));
    document.sections.push(Section::new("flame", "Call stacks", vec![chart]));
    let responses = profile.responses.all.iter().map(|response| ResponseData {
        response: *response,
        instructions: profile.instructions_in(&Selection::Responses(vec![*response])),
    });
    document.with_data(ProfileData {
        run_id: view.run_id.to_owned(),
        proof: view.proof.to_owned(),
        part,
        instructions: counts.total,
        areas: profile.by_area(&counts),
        tasks,
        functions,
        responses: responses.collect(),
        critical_path,
        memory,
        death,
    })
}

/// The response whose critical path is shown: the selected one, or the slowest.
fn critical(profile: &Profile, selection: &Selection) -> Option<Response> {
    match selection {
        Selection::Between(..) => None,
        Selection::Run => slowest(&profile.responses.all),
        Selection::Responses(selected) => slowest(selected),
    }
}

fn slowest(responses: &[Response]) -> Option<Response> {
    let key = |response: &&Response| (response.delay_ns(), std::cmp::Reverse(response.index));
    responses.iter().max_by_key(key).copied()
}

pub(crate) fn part(profile: &Profile, selection: &Selection) -> String {
    match selection {
        Selection::Run => "the whole run".to_owned(),
        Selection::Between(from_ns, to_ns) => {
            format!("{} to {}", format_duration(*from_ns), format_duration(*to_ns))
        }
        Selection::Responses(responses) => {
            let noun = if profile.responses.are_commands { "command" } else { "response" };
            match &responses[..] {
                [one] => format!("{noun} {}, {}", one.index, format_duration(one.delay_ns())),
                all => format!("{} of {} {noun}s", all.len(), profile.responses.all.len()),
            }
        }
    }
}

fn sentence(view: &ProfileView<'_>, counts: &Counts, functions: &[FunctionCounts]) -> String {
    let first = functions.first().map_or(String::new(), |function| {
        let percent = 100.0 * share(function.own, counts.total);
        format!(", most of them ({percent:.1} %) in {}", function.name)
    });
    let part = part(view.profile, view.selection);
    let limit = match view.profile.has_more_users() {
        true => "; functions of programs with too many call stacks are counted for their callers",
        false => "",
    };
    format!("{}: {} instructions{first}{limit}", part, render::format::grouped(counts.total))
}

/// The last call stack of a kernel that died.
fn last_stack(death: &Death) -> Vec<Block> {
    let in_function = match &death.function {
        Some(function) => format!(" The exception was in {function}."),
        None => String::new(),
    };
    let text = format!("{}.{in_function} The last call stack, the outermost first:", death.cause);
    let stack: Vec<&str> = death.stack.iter().rev().map(String::as_str).collect();
    vec![Block::Sentence(text), Block::Verbatim(stack.join("\n"))]
}

fn area_table(profile: &Profile, counts: &Counts, all: Option<&Counts>) -> Table {
    let mut head = vec!["executed for", "instructions", "share"];
    head.extend(all.map(|_| "share in all responses"));
    let mut table = Table::new("", head);
    let of_all = all.map(|all| (profile.by_area(all), all.total));
    for AreaCounts { area, instructions } in profile.by_area(counts) {
        let mut row = vec![
            Cell::from(area.name()),
            Cell::grouped(instructions),
            Cell::Share(share(instructions, counts.total)),
        ];
        if let Some((areas, total)) = &of_all {
            let found = areas.iter().find(|other| other.area == area);
            row.push(Cell::Share(share(found.map_or(0, |other| other.instructions), *total)));
        }
        table.row(row);
    }
    table
}

fn function_table(
    view: &ProfileView<'_>,
    counts: &Counts,
    functions: &[FunctionCounts],
    all: Option<&Counts>,
) -> Table {
    let mut head = vec!["function", "own", "share", "with callees", "entries"];
    head.extend(all.map(|_| "share in all responses"));
    let caption = most_of(view.most_functions, functions.len(), "functions");
    let mut table = Table::new(caption, head);
    let of_all = all.map(|all| (view.profile.functions(all), all.total));
    for function in functions.iter().take(view.most_functions) {
        let mut row = vec![
            Cell::from(&function.name),
            Cell::grouped(function.own),
            Cell::Share(share(function.own, counts.total)),
            Cell::Share(share(function.with_callees, counts.total)),
            Cell::grouped(function.entries),
        ];
        if let Some((functions, total)) = &of_all {
            let found = functions.iter().find(|other| other.name == function.name);
            row.push(Cell::Share(share(found.map_or(0, |other| other.own), *total)));
        }
        table.row(row);
    }
    table
}

/// The slowest responses.
fn response_table(profile: &Profile) -> Table {
    let mut slowest = profile.responses.all.clone();
    slowest.sort_by_key(|response| (std::cmp::Reverse(response.delay_ns()), response.index));
    slowest.truncate(LISTED_RESPONSES);
    let slowest_ones = match profile.responses.are_commands {
        true => "slowest commands",
        false => "slowest responses",
    };
    let head = [slowest_ones, "delay", "instructions meanwhile", "most in"];
    let mut table = Table::new("", head);
    for response in slowest {
        let counts = profile.select(&Selection::Responses(vec![response]));
        let functions = profile.functions(&counts);
        let delay_ns = response.delay_ns() as f64;
        let delay = match response.is_complete {
            true => model::Observation::exact(delay_ns),
            false => model::Observation::at_least(delay_ns),
        };
        table.row([
            Cell::from(response.index.to_string()),
            Cell::Duration(delay),
            Cell::grouped(counts.total),
            functions.first().map(|function| function.name.clone()).into(),
        ]);
    }
    table
}
