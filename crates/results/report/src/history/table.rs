//! The table of kernels and measures.

use analysis::history::{History, HistoryCell, HistoryData, StepKind};
use render::{Cell, Table, Tone, format};
use stats::median;

/// Columns of a screen, and between two columns of a table.
const COLUMNS: usize = 80;
const GAP: usize = 2;
/// So many kernels all have rows of their own on a screen.
const FEW_KERNELS: usize = 4;
/// A line whose ends are closer than this ratio does not fill its height.
const LEAST_RANGE: f64 = 2.0;

/// All kernels.
pub(super) fn whole_table(data: &HistoryData, history: &History) -> Table {
    let rows: Vec<Vec<usize>> = (0..data.kernels.len()).map(|kernel| vec![kernel]).collect();
    table(data, history, &rows)
}

/// Stretches of kernels between which nothing changed as one row each, in tables that fit a screen. A few
/// kernels have a row each: what is open between them would read as if it were equal.
pub(super) fn grouped_tables(data: &HistoryData, history: &History) -> Vec<Table> {
    let are_few = data.kernels.len() <= FEW_KERNELS;
    let is_start = |kernel: usize| {
        kernel == 0 || are_few || history.steps.iter().any(|step| step.after == kernel)
    };
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for kernel in 0..data.kernels.len() {
        match rows.last_mut() {
            Some(row) if !is_start(kernel) => row.push(kernel),
            _ => rows.push(vec![kernel]),
        }
    }
    fitting(&table(data, history, &rows))
}

/// A table in parts of so many measures as a screen has room for.
fn fitting(table: &Table) -> Vec<Table> {
    let width = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(|cell| cell.text().chars().count());
        cells.chain([table.head[column].chars().count()]).max().unwrap_or(0)
    };
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for column in 1..table.head.len() {
        let needs = GAP + width(column);
        if parts.is_empty() || needs > room {
            parts.push(vec![0]);
            room = COLUMNS.saturating_sub(width(0));
        }
        room = room.saturating_sub(needs);
        parts.iter_mut().last().into_iter().for_each(|part| part.push(column));
    }
    let part = |columns: Vec<usize>| {
        let head = columns.iter().map(|column| table.head[*column].clone());
        let rows = table.rows.iter();
        let rows =
            rows.map(|row| columns.iter().map(|column| row[*column].clone()).collect::<Vec<_>>());
        Table::of("", head, rows)
    };
    parts.into_iter().map(part).collect()
}

/// One line for each measure: its medians along the kernels, on a logarithmic scale of its own.
pub(super) fn line_table(data: &HistoryData) -> Table {
    let mut table = Table::new("Along the kernels", ["measure", "first to last", "least", "most"]);
    for measure in &data.measures {
        let cells = data.kernels.iter().map(|kernel| data.cell(&kernel.name, measure));
        let cells: Vec<Option<&HistoryCell>> = cells.collect();
        let medians: Vec<Option<f64>> =
            cells.iter().map(|cell| cell.and_then(|cell| Some(cell.median()?.value))).collect();
        let known: Vec<f64> = medians.iter().flatten().copied().filter(|it| *it > 0.0).collect();
        let (Some(least), Some(most)) =
            (known.iter().copied().reduce(f64::min), known.iter().copied().reduce(f64::max))
        else {
            continue;
        };
        let line: String = medians
            .iter()
            .zip(&data.kernels)
            .map(|(median, kernel)| match median {
                Some(value) => level(*value, least, most),
                None if data.cell(&kernel.name, measure).is_none() => ' ',
                None => 'x',
            })
            .collect();
        let unit = cells.iter().flatten().map(|cell| cell.unit.as_str()).next().unwrap_or_default();
        let ends = [least, most].map(|value| Cell::Figure(format::quantity(value, unit)));
        table.row([Cell::from(measure), line.into()].into_iter().chain(ends));
    }
    table
}

/// The height of a value between two ends.
fn level(value: f64, least: f64, most: f64) -> char {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let range = (most / least).max(LEAST_RANGE).ln();
    let share = (value / least).max(1.0).ln() / range;
    LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
}

/// How far apart two seeds of a cell typically are: what is large here is chaotic.
pub(super) fn spread_table(data: &HistoryData) -> Table {
    let head = ["kernel"].into_iter().chain(data.measures.iter().map(String::as_str));
    let rows = data.kernels.iter().map(|kernel| {
        let spread = |measure: &String| {
            let spread = data.cell(&kernel.name, measure).and_then(HistoryCell::spread);
            spread.map_or_else(Cell::absent, Cell::Share)
        };
        let cells: Vec<Cell> = data.measures.iter().map(spread).collect();
        [Cell::from(&kernel.name)].into_iter().chain(cells).collect::<Vec<_>>()
    });
    Table::of("Typical distance of two seeds", head, rows)
}

fn table(data: &HistoryData, history: &History, rows: &[Vec<usize>]) -> Table {
    let head = ["kernel"].into_iter().chain(data.measures.iter().map(String::as_str));
    let mut table = Table::new("", head);
    for row in rows {
        let mut cells = vec![Cell::from(name(data, row))];
        cells.extend((0..data.measures.len()).map(|measure| cell(data, history, row, measure)));
        table.row(cells);
    }
    table
}

/// The name of a stretch: its first kernel, and how many more there are.
fn name(data: &HistoryData, row: &[usize]) -> String {
    let first = row.first().map_or("", |kernel| data.kernels[*kernel].name.as_str());
    match row.len() {
        1 => first.to_owned(),
        all => format!("{first} +{}", all - 1),
    }
}

/// A stretch under one measure: the median of its medians, with what happened at its first kernel.
fn cell(data: &HistoryData, history: &History, row: &[usize], measure: usize) -> Cell {
    let cells: Vec<&HistoryCell> = row
        .iter()
        .filter_map(|kernel| data.cell(&data.kernels[*kernel].name, &data.measures[measure]))
        .collect();
    let Some(first) = row.first() else { return Cell::absent() };
    if data.kernels[*first].problem.is_some() {
        return Cell::Text("none".to_owned(), Tone::Bad);
    }
    let died: usize =
        cells.iter().map(|cell| cell.runs.iter().filter(|it| it.has_died).count()).sum();
    let runs: usize = cells.iter().map(|cell| cell.runs.len()).sum();
    if died > 0 {
        return Cell::Text(format!("died {died}/{runs}"), Tone::Bad);
    }
    let medians: Vec<f64> = cells.iter().filter_map(|it| Some(it.median()?.value)).collect();
    let Some(value) = median(&medians) else {
        return match runs {
            0 => Cell::absent(),
            runs => Cell::Text(format!("failed {runs}"), Tone::Bad),
        };
    };
    let unit = cells.first().map_or("", |cell| cell.unit.as_str());
    let is_bound = cells.iter().any(|cell| cell.median().is_some_and(|it| it.is_lower_bound));
    let mark = if is_bound { "≥" } else { "" };
    let (sign, tone) = sign(history, *first, row, measure);
    Cell::Text(format!("{mark}{}{sign}", format::quantity(value, unit)), tone)
}

/// What happened at the first kernel of a stretch, or that a comparison in it is open.
fn sign(history: &History, first: usize, row: &[usize], measure: usize) -> (&'static str, Tone) {
    let here = history.steps.iter().filter(|it| it.measure == Some(measure) && it.after == first);
    let kinds: Vec<StepKind> = here.map(|step| step.kind).collect();
    let has = |kinds_of: &[StepKind]| kinds.iter().any(|kind| kinds_of.contains(kind));
    if has(&[StepKind::Slower, StepKind::Failing]) {
        return ("▲", Tone::Bad);
    }
    if has(&[StepKind::Faster, StepKind::Recovered, StepKind::Succeeding]) {
        return ("▼", Tone::Better);
    }
    if !kinds.is_empty() {
        return ("~", Tone::Doubtful);
    }
    let is_open = history.open().any(|it| it.measure == measure && row.contains(&it.after));
    if is_open { ("?", Tone::Unknown) } else { ("", Tone::Plain) }
}
