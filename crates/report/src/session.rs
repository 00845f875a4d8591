//! A session as a document.

use analysis::session::{CPU, CommandRow, Figures};
use analysis::{Session, seeds_text};
use model::units::format_duration;
use model::{EndStatus, Tools};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};

use crate::remarks::remarks;

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

/// The whole result: the performance measure, a table a load, the first passes, and what a reader
/// must know; `verbose` adds every user by himself.
#[must_use]
pub fn session_document(session: &Session, verbose: bool) -> Document<'_> {
    let mut document = Document {
        title: format!("Session: {}", session.setup.place),
        verdicts: vec![Verdict { text: session.reading.clone(), tone: Tone::Plain }],
        ..Document::default()
    };
    document.push(Block::Sentence(setup(session)));
    for measure in &session.measures {
        let rows: Vec<&CommandRow> =
            session.commands.iter().filter(|row| row.load == measure.load).collect();
        document.push(command_table(&measure.load, &rows, verbose));
    }
    let skipped = session.remarks.skipped.iter();
    document
        .blocks
        .extend(skipped.map(|(load, reason)| Block::Sentence(format!("{load} skipped: {reason}"))));
    document.push(pass_table(session));
    document.blocks.extend(remarks(notes(session), &session.remarks, verbose));
    document.with_data(session)
}

fn setup(session: &Session) -> String {
    let setup = &session.setup;
    let tools = match setup.tools {
        Tools::Auto => "no tools were chosen",
        Tools::System => "tools of the subject",
        Tools::Builtin => "our own tools",
    };
    format!(
        "script {} (version {}), {}, think time {}, {tools}, {}",
        setup.script,
        setup.version,
        format::counted(setup.users as usize, "user"),
        format_duration(setup.think_ns),
        seeds_text(&setup.seeds)
    )
}

/// A row a command and kind of invocation, in the script's order, and their sum.
fn command_table(load: &str, rows: &[&CommandRow], verbose: bool) -> Table {
    let head = ["command", "invocation", "n", "failed", "wall ms"].into_iter();
    let mut table = Table::new(load, head.chain(COLUMNS.map(|(name, ..)| name)));
    for row in rows {
        let users = row.by_user.iter().filter(|_| verbose);
        let users = users.map(|(user, [first, later])| (format!("  user {user}"), first, later));
        for (name, first, later) in
            std::iter::once((row.command.clone(), &row.first, &row.later)).chain(users)
        {
            for (kind, figures) in [("first", first), ("later", later)] {
                if figures.count > 0 {
                    table.row(cells(&name, kind, figures));
                }
            }
        }
    }
    table.row(sum(rows));
    table
}

fn figure(value: Option<f64>, unit: f64) -> Cell {
    value.map(|value| Cell::figure(format!("{:.1}", value / unit))).into()
}

fn cells(name: &str, kind: &str, figures: &Figures) -> Vec<Cell> {
    let mut cells = vec![
        Cell::from(name),
        Cell::from(kind),
        Cell::from(figures.count),
        Cell::from(figures.failed),
        figure(figures.wall_median_ns, 1e6),
    ];
    cells.extend(COLUMNS.map(|(_, names, unit)| figure(figures.mean(names), unit)));
    cells
}

/// All commands once: the sum of the means of first invocations.
fn sum(rows: &[&CommandRow]) -> Vec<Cell> {
    let firsts = || rows.iter().map(|row| &row.first);
    let mut cells = vec![
        Cell::from("all once"),
        Cell::from("first"),
        Cell::from(firsts().map(|figures| figures.count).sum::<usize>()),
        Cell::from(firsts().map(|figures| figures.failed).sum::<usize>()),
        Cell::absent(),
    ];
    // A sum without one of its parts would be another sum.
    cells.extend(
        COLUMNS.map(|(_, names, unit)| {
            figure(firsts().map(|figures| figures.mean(names)).sum(), unit)
        }),
    );
    cells
}

/// A row a run: its users, and their mean, which is the performance measure.
fn pass_table(session: &Session) -> Table {
    let users = || 0..session.setup.users;
    let head = ["load", "run"].map(str::to_owned).into_iter();
    let head = head.chain(users().map(|user| format!("user {user}"))).chain(["mean".to_owned()]);
    let mut table = Table::new("CPU time of the first pass, in s", head);
    let seconds =
        |ns: Option<f64>| Cell::from(ns.map(|ns| Cell::figure(format!("{:.3}", ns / 1e9))));
    for measure in &session.measures {
        let own = || session.passes.iter().filter(|pass| pass.load == measure.load);
        let mut runs: Vec<&str> = own().map(|pass| pass.run_id.as_str()).collect();
        runs.dedup();
        for run in &runs {
            let mut row = vec![Cell::from(&measure.load), Cell::from(*run)];
            row.extend(users().map(|user| {
                let pass = own().find(|pass| pass.run_id == *run && pass.user == user);
                seconds(pass.map(|pass| pass.cpu_ns as f64))
            }));
            row.push(seconds(measure.runs_ns.get(*run).copied()));
            table.row(row);
        }
        if runs.len() > 1 {
            let mut row = vec![Cell::from(&measure.load), Cell::from("all")];
            row.extend(users().map(|_| Cell::figure("")));
            row.push(seconds(measure.mean_ns));
            table.row(row);
        }
    }
    table
}

fn notes(session: &Session) -> Vec<String> {
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
    notes
}
