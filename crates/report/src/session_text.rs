//! A session as a terminal table.

use model::units::format_duration;
use model::{EndStatus, Tools};

use crate::columns::aligned;
use crate::matrix_text::seeds_text;
use crate::session::{CPU, CommandRow, Figures, Session};
use crate::unavailable::unavailable_notes;

/// Columns of the figures, with the names whose means they sum, and what they are divided by.
const COLUMNS: [(&str, &[&str], f64); 7] = [
    ("user ms", &["user_ns"], 1e6),
    ("system ms", &["system_ns"], 1e6),
    ("minor", &["minor_faults"], 1.0),
    ("major", &["major_faults"], 1.0),
    ("switches", &["voluntary_switches", "involuntary_switches"], 1.0),
    ("read", &["read_blocks"], 1.0),
    ("written", &["written_blocks"], 1.0),
];

/// The whole result: heading, a table a load, the performance measure, and what a reader must
/// know; `verbose` adds every user by himself.
#[must_use]
pub fn session_text(session: &Session, verbose: bool) -> String {
    let mut text = heading(session);
    for measure in &session.measures {
        let rows: Vec<&CommandRow> =
            session.commands.iter().filter(|row| row.load == measure.load).collect();
        text.push_str(&format!("\n{}\n", measure.load));
        text.push_str(&command_table(&rows, verbose));
    }
    for (load, reason) in &session.skipped {
        text.push_str(&format!("\n{load} skipped: {reason}\n"));
    }
    text.push_str("\nCPU time of the first pass, in s\n");
    text.push_str(&pass_table(session));
    text.push_str(&format!("\n{}\n", session.reading));
    for note in notes(session, verbose) {
        text.push_str(&format!("{note}\n"));
    }
    text
}

fn heading(session: &Session) -> String {
    let setup = &session.setup;
    let tools = match setup.tools {
        Tools::Auto => "no tools were chosen",
        Tools::System => "tools of the subject",
        Tools::Builtin => "our own tools",
    };
    let plural = if setup.users == 1 { "" } else { "s" };
    format!(
        "Session: {}\nscript {} (version {}), {} user{plural}, think time {}, {tools}, {}\n",
        setup.place,
        setup.script,
        setup.version,
        setup.users,
        format_duration(setup.think_ns),
        seeds_text(&setup.seeds)
    )
}

/// A row a command and kind of invocation, in the script's order, and their sum.
fn command_table(rows: &[&CommandRow], verbose: bool) -> String {
    let mut head = vec!["command", "invocation", "n", "failed", "wall ms"];
    head.extend(COLUMNS.map(|(name, ..)| name));
    let mut cells = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for row in rows {
        let kinds = [("first", &row.first), ("later", &row.later)];
        for (kind, figures) in kinds.into_iter().filter(|(_, figures)| figures.count > 0) {
            cells.push(cells_of(&row.command, kind, figures));
        }
        if !verbose {
            continue;
        }
        for (user, [first, later]) in &row.by_user {
            for (kind, figures) in [("first", first), ("later", later)] {
                if figures.count > 0 {
                    cells.push(cells_of(&format!("  user {user}"), kind, figures));
                }
            }
        }
    }
    cells.push(sum(rows));
    aligned(&cells)
}

fn cells_of(name: &str, kind: &str, figures: &Figures) -> Vec<String> {
    let number = |value: Option<f64>, unit: f64| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}", value / unit))
    };
    let mut cells = vec![
        name.to_owned(),
        kind.to_owned(),
        figures.count.to_string(),
        figures.failed.to_string(),
        number(figures.wall_median_ns, 1e6),
    ];
    cells.extend(COLUMNS.map(|(_, names, unit)| number(figures.mean(names), unit)));
    cells
}

/// All commands once: the sum of the means of first invocations.
fn sum(rows: &[&CommandRow]) -> Vec<String> {
    let firsts = || rows.iter().map(|row| &row.first);
    let count: usize = firsts().map(|figures| figures.count).sum();
    let failed: usize = firsts().map(|figures| figures.failed).sum();
    let mut cells = vec![
        "all once".to_owned(),
        "first".to_owned(),
        count.to_string(),
        failed.to_string(),
        "-".to_owned(),
    ];
    cells.extend(COLUMNS.map(|(_, names, unit)| {
        // A sum without one of its parts would be another sum.
        let total: Option<f64> = firsts().map(|figures| figures.mean(names)).sum();
        total.map_or_else(|| "-".to_owned(), |total| format!("{:.1}", total / unit))
    }));
    cells
}

/// A row a run: its users, and their mean, which is the performance measure.
fn pass_table(session: &Session) -> String {
    let mut head = vec!["load".to_owned(), "run".to_owned()];
    head.extend((0..session.setup.users).map(|user| format!("user {user}")));
    head.push("mean".to_owned());
    let mut cells = vec![head];
    let seconds = |value_ns: f64| format!("{:.3}", value_ns / 1e9);
    for measure in &session.measures {
        let own = || session.passes.iter().filter(|pass| pass.load == measure.load);
        let mut runs: Vec<&str> = own().map(|pass| pass.run_id.as_str()).collect();
        runs.dedup();
        for run in &runs {
            let mut row = vec![measure.load.clone(), (*run).to_owned()];
            row.extend((0..session.setup.users).map(|user| {
                let pass = own().find(|pass| pass.run_id == *run && pass.user == user);
                pass.map_or_else(|| "-".to_owned(), |pass| seconds(pass.cpu_ns as f64))
            }));
            row.push(measure.runs_ns.get(*run).map_or_else(|| "-".to_owned(), |ns| seconds(*ns)));
            cells.push(row);
        }
        if runs.len() > 1 {
            let mut row = vec![measure.load.clone(), "all".to_owned()];
            row.extend((0..session.setup.users).map(|_| String::new()));
            row.push(measure.mean_ns.map_or_else(|| "-".to_owned(), seconds));
            cells.push(row);
        }
    }
    aligned(&cells)
}

fn notes(session: &Session, verbose: bool) -> Vec<String> {
    let mut notes = vec![
        "The mean of the first passes is the performance measure (CPU time of a user and of all \
         that he started)."
            .to_owned(),
        "Wall: median; all else: means. First: by each user. Faults: minor without, major with \
         I/O. Read, written: blocks of 512 bytes."
            .to_owned(),
    ];
    for measure in session.measures.iter().filter(|row| row.status != EndStatus::Complete) {
        notes.push(format!("{}: a run ended as {:?}", measure.load, measure.status));
    }
    for row in &session.commands {
        let all = row.first.count + row.later.count;
        let failed = row.first.failed + row.later.failed;
        if all > 0 && all == failed {
            notes.push(format!(
                "{}: {} never worked: its figures are those of a failure",
                row.load, row.command
            ));
        }
    }
    if session.commands.iter().all(|row| row.first.mean(&CPU).is_none()) {
        notes.push("No command was finished.".to_owned());
    }
    notes.extend(session.warnings.iter().map(|warning| format!("warning: {warning}")));
    notes.extend(unavailable_notes(&session.missed, verbose));
    notes
}
