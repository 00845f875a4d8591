//! The responsiveness matrix as a terminal table.

use model::BASELINE;
use model::units::{format_duration, format_size};

use crate::claim::claims;
use crate::columns::aligned;
use crate::matrix::{DELIVERED_AT_LEAST, Machine, Matrix, Row, STALL_FACTOR, Setup};
use crate::unavailable::unavailable_notes;
use crate::why_slow_text::why_slow_table;
use render::format::ratio as ratio_text;

/// The subject whose loads take less than its memory.
const HOST: &str = "host";

/// The whole result: heading, table, reading, and what a reader must know.
#[must_use]
pub fn matrix_text(matrix: &Matrix, verbose: bool) -> String {
    let mut text = heading(matrix);
    text.push('\n');
    let head = [
        "load",
        "n",
        "median",
        "p90",
        "max",
        "ratio",
        "95 % interval",
        "stalled",
        "delivered",
        "reading",
    ];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(matrix.rows.iter().map(cells_of));
    cells.extend(matrix.skipped.iter().map(|(load, reason)| {
        let mut row = vec![load.clone(), "0".to_owned()];
        row.extend(std::iter::repeat_n("-".to_owned(), 7));
        row.push(format!("skipped: {reason}"));
        row
    }));
    text.push_str(&aligned(&cells));
    let why_slow = why_slow_table(matrix);
    if !why_slow.is_empty() {
        text.push_str(&format!("\n{why_slow}"));
    }
    text.push_str(&format!("\n{}\n", matrix.reading));
    for note in notes(matrix, verbose) {
        text.push_str(&format!("{note}\n"));
    }
    text
}

fn heading(matrix: &Matrix) -> String {
    let setup = &matrix.setup;
    format!(
        "Responsiveness under load: {}\nprobe {}, {} points {} apart ({} profile), {}\n",
        place(setup),
        setup.probe,
        setup.points,
        format_duration(setup.interval_ns),
        setup.profile,
        seeds_text(&setup.seeds)
    )
}

/// `sandbox of 512M, 2 CPUs, no swap, Linux 6.1`.
pub(crate) fn place(setup: &Setup) -> String {
    let mut parts = vec![
        match (&setup.machine, setup.subject.as_str()) {
            (Some(machine), _) => machine_text(machine, setup.memory_bytes),
            (None, HOST) => format!("{HOST}, loads sized for {}", format_size(setup.memory_bytes)),
            (None, subject) => format!("{subject} of {}", format_size(setup.memory_bytes)),
        },
        setup.remote.clone().unwrap_or_default(),
        setup.cpus_milli.map_or_else(String::new, cpus),
        match setup.swap_bytes {
            Some(0) => "no swap".to_owned(),
            Some(swap_bytes) => format!("swap {}", format_size(swap_bytes)),
            None => String::new(),
        },
        setup.kernel.clone().map_or_else(String::new, |kernel| format!("Linux {kernel}")),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// `deterministic machine p2-350 of 96M, in it a sandbox of 64M`, `simulated sparcstation1 of 24M,
/// hat old`.
fn machine_text(machine: &Machine, memory_bytes: u64) -> String {
    if let Some(settings) = &machine.simulated {
        let settings = settings.iter().map(|(name, value)| format!(", {name} {value}"));
        let (name, memory) = (&machine.name, format_size(memory_bytes));
        return format!("simulated {name} of {memory}{}", settings.collect::<String>());
    }
    let kind = if machine.deterministic {
        "deterministic machine"
    } else {
        "machine under KVM (not deterministic)"
    };
    let sandbox = machine.sandbox_bytes.map_or_else(String::new, |size_bytes| {
        format!(", in it a sandbox of {}", format_size(size_bytes))
    });
    format!("{kind} {} of {}{sandbox}", machine.name, format_size(memory_bytes))
}

/// `seed 1`, `seeds 1..5`, `seeds 1,3`.
pub(crate) fn seeds_text(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seed".to_owned(),
        [seed] => format!("seed {seed}"),
        [first, .., last] if last - first + 1 == seeds.len() as u64 => {
            format!("seeds {first}..{last}")
        }
        several => {
            let texts: Vec<String> = several.iter().map(u64::to_string).collect();
            format!("seeds {}", texts.join(","))
        }
    }
}

/// `2 CPUs`, `1 CPU`, `0.5 CPUs`.
fn cpus(cpus_milli: u64) -> String {
    let plural = if cpus_milli == 1000 { "" } else { "s" };
    format!("{} CPU{plural}", cpus_milli as f64 / 1000.0)
}

fn cells_of(row: &Row) -> Vec<String> {
    let count = row.delays_ns.len();
    let stalled = match count {
        0 => "-".to_owned(),
        _ => format!("{:.0} %", 100.0 * row.stalled as f64 / count as f64),
    };
    let (ratio, interval) = match row.ratio {
        Some(found) => {
            let short = if found.confidence < 0.9499 { "*" } else { "" };
            let interval = match found.says_nothing() {
                true => format!("– ({})", found.needs_text()),
                false => {
                    format!("{} .. {}{short}", ratio_text(found.low), ratio_text(found.high))
                }
            };
            (format!("{}{}", found.mark(), ratio_text(found.ratio)), interval)
        }
        None if row.load == BASELINE && count > 0 => ("1".to_owned(), String::new()),
        None => ("-".to_owned(), String::new()),
    };
    let delivered =
        row.delivered.map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", 100.0 * part));
    let [median, p90, max] = row.delay_texts();
    vec![
        row.load.clone(),
        count.to_string(),
        median,
        p90,
        max,
        ratio,
        interval,
        stalled,
        delivered,
        row.reading.clone(),
    ]
}

fn notes(matrix: &Matrix, verbose: bool) -> Vec<String> {
    let rows = &matrix.rows;
    let mut notes = vec![format!(
        "Delays count from the intended start. Stalled: more than {STALL_FACTOR:.0} times the \
         noload median."
    )];
    notes.extend(claims(rows.iter().filter_map(|row| Some((row.load.as_str(), row.ratio?)))));
    if matrix.setup.subject == HOST {
        notes.push(format!(
            "On the host the loads are sized for {}, so that they do not thrash it: a sandbox \
             shows that (or host:mem=SIZE, at your risk).",
            format_size(matrix.setup.memory_bytes)
        ));
    }
    if rows.iter().any(|row| row.ratio.is_some_and(|ratio| ratio.confidence < 0.9499)) {
        notes.push("* Too few points for 95 %: the widest interval that they allow.".to_owned());
    }
    if rows.iter().any(|row| (1..10).contains(&row.delays_ns.len())) {
        notes.push(
            "p90 of fewer than 10 points is interpolated between the largest two.".to_owned(),
        );
    }
    if rows.iter().any(|row| row.delivered.is_some_and(|part| part < DELIVERED_AT_LEAST)) {
        notes.push(format!(
            "A load that delivered less than {:.0} % of its dose is not the load it is named after.",
            100.0 * DELIVERED_AT_LEAST
        ));
    }
    notes.extend(matrix.warnings.iter().map(|warning| format!("warning: {warning}")));
    notes.extend(unavailable_notes(&matrix.missed, verbose));
    notes
}
