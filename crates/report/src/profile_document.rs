//! Profiles of deterministic guests as documents.

use model::units::format_duration;
use profile::{
    AreaCounts, Counts, CriticalPath, Difference, FunctionCounts, Profile, Response, Selection,
};
use render::{Block, Cell, Document, Section, Table, Tone, Verdict};
use serde::Serialize;

use crate::charts::flame_chart;
use crate::critical_path_table::critical_path_table;

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
    functions: Vec<FunctionCounts>,
    responses: Vec<ResponseData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    critical_path: Option<CriticalPath>,
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
    document.push(function_table(view, &counts, &functions, all.as_ref()));
    if matches!(selection, Selection::Run) && !profile.responses.all.is_empty() {
        document.push(response_table(profile));
    }
    let critical_path =
        critical(profile, selection).and_then(|response| profile.critical_path(&response));
    critical_path.iter().for_each(|path| document.push(critical_path_table(path)));
    let frames = profile::flame(profile, &counts, counts.total / LEAST_PART);
    let chart = Block::Chart(Box::new(flame_chart(&frames, counts.total)));
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
        functions,
        responses: responses.collect(),
        critical_path,
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

fn part(profile: &Profile, selection: &Selection) -> String {
    match selection {
        Selection::Run => "the whole run".to_owned(),
        Selection::Between(from_ns, to_ns) => {
            format!("{} to {}", format_duration(*from_ns), format_duration(*to_ns))
        }
        Selection::Responses(responses) => match &responses[..] {
            [one] => format!("response {}, {}", one.index, format_duration(one.delay_ns())),
            all => format!("{} of {} responses", all.len(), profile.responses.all.len()),
        },
    }
}

fn sentence(view: &ProfileView<'_>, counts: &Counts, functions: &[FunctionCounts]) -> String {
    let first = functions.first().map_or(String::new(), |function| {
        let percent = 100.0 * share(function.own, counts.total);
        format!(", most of them ({percent:.1} %) in {}", function.name)
    });
    let part = part(view.profile, view.selection);
    format!("{}: {} instructions{first}", part, render::format::grouped(counts.total))
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
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
    let caption = match functions.len() > view.most_functions {
        true => format!("{} of {} functions", view.most_functions, functions.len()),
        false => String::new(),
    };
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
    let head = ["slowest responses", "delay", "instructions meanwhile", "most in"];
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

/// Which functions account for the difference between two profiles.
pub fn profile_difference_document(
    first: &ProfileView<'_>,
    second: &ProfileView<'_>,
) -> Document<'static> {
    let [one, other] = [first, second].map(|view| {
        let counts = view.profile.select(view.selection);
        view.profile.functions(&counts)
    });
    let difference = Difference::between(&one, &other);
    let more = difference.second as i64 - difference.first as i64;
    let direction = if more < 0 { "fewer" } else { "more" };
    let text = format!(
        "{} executes {} instructions {direction} than {} ({} against {})",
        second.run_id,
        render::format::grouped(more.unsigned_abs()),
        first.run_id,
        render::format::grouped(difference.second),
        render::format::grouped(difference.first),
    );
    let mut document = Document {
        title: format!("From {} to {}", first.run_id, second.run_id),
        verdicts: vec![Verdict { text, tone: Tone::Plain }],
        ..Document::default()
    }
    .with_facts([
        ("part", part(first.profile, first.selection)),
        ("counts of the first", first.proof.to_owned()),
        ("counts of the second", second.proof.to_owned()),
    ]);
    document.push(difference_table(&difference, first.most_functions));
    document.with_data(difference)
}

fn difference_table(difference: &Difference, most: usize) -> Table {
    let head = ["function", "first", "second", "difference", "share of the difference", ""];
    let caption = match difference.functions.len() > most {
        true => format!("{most} of {} functions that differ", difference.functions.len()),
        false => String::new(),
    };
    let mut table = Table::new(caption, head);
    let signed = |more: i64| {
        let sign = if more < 0 { "-" } else { "+" };
        Cell::Figure(format!("{sign}{}", render::format::grouped(more.unsigned_abs())))
    };
    let share = |share: Option<f64>| Cell::decimals(share.map(|share| 100.0 * share), 1);
    for function in difference.functions.iter().take(most) {
        let mark = match (function.first, function.second) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "",
        };
        table.row([
            Cell::from(&function.name),
            function.first.map(Cell::grouped).into(),
            function.second.map(Cell::grouped).into(),
            signed(function.more),
            share(function.share),
            mark.into(),
        ]);
    }
    let rest = difference.functions.iter().skip(most);
    let (count, more) = rest.fold((0, 0), |(count, more), it| (count + 1, more + it.more));
    if count > 0 {
        let all = difference.second as i64 - difference.first as i64;
        let part = (all != 0).then(|| more as f64 / all as f64);
        let name = format!("{count} others");
        let blank = Cell::blank;
        table.row([name.into(), blank(), blank(), signed(more), share(part), "".into()]);
    }
    table
}
