//! The responsiveness matrix as a table of resp1.

use analysis::responsiveness::{Matrix, Row};
use model::BASELINE;
use model::resp1::{Resp1Format, Resp1Row, Resp1Table};
use model::units::format_size;
use stats::{mean, one_sd_mean, quantile, standard_deviation};

/// The matrix as resp1 would have printed it, without loads that were not measured.
pub fn resp1_table(matrix: &Matrix, format: Resp1Format, mut extras: Vec<String>) -> Resp1Table {
    let base = matrix.rows.iter().find(|row| row.load == BASELINE).map(at_bounds);
    let base = [mean, one_sd_mean].map(|mean| base.as_deref().and_then(mean));
    let censored = matrix.rows.iter().filter(|row| row.censored > 0);
    extras.extend(censored.map(|row| {
        let (load, count) = (&row.load, row.censored);
        format!("{load}: responses given up, counted with the time that they had taken: {count}")
    }));
    let rows = matrix.rows.iter().filter_map(|row| resp1_row(row, format, base)).collect();
    let setup = &matrix.setup;
    Resp1Table {
        cpus: setup.cpus_milli.and_then(|milli| u32::try_from(milli.div_ceil(1000)).ok()),
        memory_mb: Some(setup.memory_bytes >> 20),
        minimum_points: Some(setup.points),
        interval_s: Some(setup.interval_ns as f64 / 1e9),
        format,
        rows,
        extras,
    }
}

/// Delays in ns, with lower bounds as values: resp1 has no columns for bounds.
fn at_bounds(row: &Row) -> Vec<f64> {
    row.delays_ns.iter().map(|delay| delay.value).collect()
}

/// `base` are the mean and the 1-S.D. mean without load.
fn resp1_row(row: &Row, format: Resp1Format, base: [Option<f64>; 2]) -> Option<Resp1Row> {
    let delays_ns = &at_bounds(row);
    let average_ns = mean(delays_ns)?;
    let sd_s = standard_deviation(delays_ns).map(|sd_ns| sd_ns / 1e9);
    let ratio_sd = one_sd_mean(delays_ns).zip(base[1]).map(|(load, base)| load / base);
    Some(Resp1Row {
        test: row.load.clone(),
        low_ms: quantile(delays_ns, 0.0)? / 1e6,
        high_ms: row.max_ns? / 1e6,
        median_ms: row.median_ns? / 1e6,
        average_ms: average_ns / 1e6,
        sd_s: sd_s.filter(|_| format == Resp1Format::First),
        ratio_raw: average_ns / base[0]?,
        ratio_sd: ratio_sd.filter(|_| format == Resp1Format::Second),
    })
}

/// The additions of resp1's verbose option: S.D., size written, loops and circles per second.
pub fn verbose_lines(matrix: &Matrix) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &matrix.rows {
        let per_second = |name: &str| {
            let amount = *row.totals.get(name)? as f64;
            let elapsed_ns = *row.totals.get("elapsed_ns").filter(|elapsed_ns| **elapsed_ns > 0)?;
            Some(format!("{:.1} {name} per second", amount * 1e9 / elapsed_ns as f64))
        };
        let sd_ns = standard_deviation(&at_bounds(row));
        let written = row.totals.get("written_bytes");
        let texts = [
            sd_ns.map(|sd_ns| format!("S.D. {:.3} ms", sd_ns / 1e6)),
            written.map(|written_bytes| format!("{} written", format_size(*written_bytes))),
            per_second("loops"),
            per_second("circles"),
        ];
        lines.extend(texts.into_iter().flatten().map(|text| format!("{}: {text}", row.load)));
    }
    lines
}
