//! A session as a document.

use analysis::session::{CPU, CommandRow, Figures};
use analysis::{Session, seeds_text};
use itertools::Itertools;
use model::units::format_duration;
use model::{EndStatus, Tools};
use render::{Cell, Document, Table, Tone, Verdict, format};

use crate::remarks::{remarks, skipped};

/// Columns: heading, names whose means are added, and divisor.
const COLUMNS: [(&str, &[&str], f64); 7] = [
    ("user ms", &["user_ns"], 1e6),
    ("system ms", &["system_ns"], 1e6),
    ("minor", &["minor_faults"], 1.0),
    ("major", &["major_faults"], 1.0),
    ("switches", &["voluntary_switches", "involuntary_switches"], 1.0),
    ("read", &["read_blocks"], 1.0),
    ("written", &["written_blocks"], 1.0),
];

/// The performance measure, a table per load, the first passes, and remarks; `verbose` adds users.
pub(crate) fn session_document(session: &Session, verbose: bool) -> Document<'static> {
    let title = format!("Session: {}", session.setup.place);
    let verdicts = vec![Verdict { text: session.reading.clone(), tone: Tone::Plain }];
    let mut document = Document { title, verdicts, ..Document::of(vec![setup(session).into()]) };
    for measure in &session.measures {
        let rows = session.commands.iter().filter(|row| row.load == measure.load).collect_vec();
        document.push(command_table(&measure.load, &rows, verbose));
    }
    document.blocks.extend(skipped(&session.remarks));
    document.push(pass_table(session));
    document.blocks.extend(remarks(notes(session), &session.remarks, verbose));
    document
}

fn setup(session: &Session) -> String {
    let setup = &session.setup;
    let tools = match setup.tools {
        Tools::Auto => "no tools were chosen",
        Tools::System => "tools of the subject",
        Tools::Builtin => "our own tools",
    };
    let (script, version) = (&setup.script, setup.version);
    let users = format::counted(setup.users as usize, "user");
    let (think, seeds) = (format_duration(setup.think_ns), seeds_text(&setup.seeds));
    format!("script {script} (version {version}), {users}, think time {think}, {tools}, {seeds}")
}

/// A row for each command and kind of invocation in script order, and their sum.
fn command_table(load: &str, rows: &[&CommandRow], verbose: bool) -> Table {
    let head = ["command", "invocation", "n", "failed", "wall ms"].into_iter();
    let mut table = Table::new(load, head.chain(COLUMNS.map(|(name, ..)| name)));
    for row in rows {
        let users = row.by_user.iter().filter(|_| verbose);
        let users = users.map(|(user, [first, later])| (format!("  user {user}"), first, later));
        for (name, first, later) in
            [(row.command.clone(), &row.first, &row.later)].into_iter().chain(users)
        {
            for (kind, figures) in [("first", first), ("later", later)] {
                if figures.count > 0 {
                    let wall = scaled(figures.wall_median_ns, 1e6);
                    let mean = |names: &[&str]| figures.mean(names);
                    table.row(cells([&name, kind], [figures.count, figures.failed], wall, mean));
                }
            }
        }
    }
    // Sum of one invocation per command; none if a part is missing.
    let firsts = || rows.iter().map(|row| &row.first);
    let [count, failed] = [|it: &Figures| it.count, |it: &Figures| it.failed];
    let counts = [firsts().map(count).sum(), firsts().map(failed).sum()];
    let sum = |names: &[&str]| firsts().map(|figures| figures.mean(names)).sum();
    table.row(cells(["all once", "first"], counts, Cell::absent(), sum));
    table
}

fn scaled(value: Option<f64>, unit: f64) -> Cell {
    Cell::decimals(value.map(|value| value / unit), 1)
}

fn cells(
    names: [&str; 2],
    counts: [usize; 2],
    wall: Cell,
    mean: impl Fn(&[&str]) -> Option<f64>,
) -> impl Iterator<Item = Cell> {
    let figures = COLUMNS.map(|(_, names, unit)| scaled(mean(names), unit));
    names.map(Cell::from).into_iter().chain(counts.map(Cell::from)).chain([wall]).chain(figures)
}

/// A row per run: its users, and their mean, which is the performance measure.
fn pass_table(session: &Session) -> Table {
    let users = || 0..session.setup.users;
    let head = ["load", "run"].map(str::to_owned).into_iter();
    let head = head.chain(users().map(|user| format!("user {user}"))).chain(["mean".to_owned()]);
    let mut table = Table::new("CPU time of the first pass, in s", head);
    let seconds = |ns: Option<f64>| Cell::decimals(ns.map(|ns| ns / 1e9), 3);
    for measure in &session.measures {
        let own = || session.passes.iter().filter(|pass| pass.load == measure.load);
        let mut row = |run: &str, user: &dyn Fn(u32) -> Cell, mean: Option<f64>| {
            let names = [Cell::from(&measure.load), Cell::from(run)];
            table.row(names.into_iter().chain(users().map(user)).chain([seconds(mean)]));
        };
        let runs = own().map(|pass| pass.run_id.as_str()).dedup().collect_vec();
        for run in &runs {
            let of_user = |user: u32| {
                let pass = own().find(|pass| pass.run_id == *run && pass.user == user);
                seconds(pass.map(|pass| pass.cpu_ns as f64))
            };
            row(run, &of_user, measure.runs_ns.get(*run).copied());
        }
        if runs.len() > 1 {
            row("all", &|_| Cell::blank(), measure.mean_ns);
        }
    }
    table
}

fn notes(session: &Session) -> Vec<String> {
    let mut notes = vec![
        "The mean of the first passes is the performance measure (CPU time of a user and of all \
         that the user started)."
            .to_owned(),
        "Wall: median; all else: means. First: by each user. Faults: minor without, major with \
         I/O. Read, written: blocks of 512 bytes."
            .to_owned(),
    ];
    let ended = session.measures.iter().filter(|row| row.status != EndStatus::Complete);
    notes.extend(ended.map(|row| format!("{}: a run ended as {:?}", row.load, row.status)));
    let is_failed = |it: &&CommandRow| {
        let all = it.first.count + it.later.count;
        all > 0 && all == it.first.failed + it.later.failed
    };
    let failed = session.commands.iter().filter(is_failed);
    notes.extend(failed.map(|CommandRow { load, command, .. }| {
        format!("{load}: {command} always failed: its figures are those of a failure")
    }));
    if session.commands.iter().all(|row| row.first.mean(&CPU).is_none()) {
        notes.push("No command was finished.".to_owned());
    }
    notes
}
