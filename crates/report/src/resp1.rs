//! The printed formats of the resp1 response benchmark.
//!
//! # Columns
//! Positions count from 1. `w` is the width of the longest test name, but at least 11.
//!
//! | columns | first format | second format |
//! |---|---|---|
//! | 1 | blank | blank |
//! | 2 … 1+w | test, left-aligned | test, left-aligned |
//! | next 4 × 11 | low, high, median, average in ms | the same |
//! | next 8 | S.D. in **s** | raw ratio |
//! | next 8 | ratio | ratio of the 1-S.D. averages |
//!
//! Numbers are right-aligned with three decimals; the first position of each number's columns is
//! always a blank, so a number that is too wide shifts the rest of its line and never touches its
//! neighbour. A value that is not known is `-`.
//!
//! Above the rows stand two heading lines: the underlined group names, right-aligned with the last
//! column of their group, and the column names, right-aligned with their columns. As in the
//! published outputs these begin with a blank too: `grep '^ '` yields heading and rows, the base
//! output. Everything optional (the title line, verbose lines) begins in column 1.

use model::resp1::{Resp1Format, Resp1Row, Resp1Table};

const DELAY_HEADING: &str = "_____________ delay ms. ____________";
const RATIO_HEADING: &str = "___ Ratio ___";
/// Least width of the test names.
const TEST_WIDTH: usize = 11;
/// Width of a delay, without the blank before it.
const DELAY_WIDTH: usize = 10;
/// Width of an S.D. or a ratio, without the blank before it.
const RATIO_WIDTH: usize = 7;

/// The table in the first format: delays in ms, S.D. in s, ratio. Ends in a newline.
///
/// The title stands first, then the heading, the rows and the extras. A row without S.D. shows `-`.
#[must_use]
pub fn first_format(table: &Resp1Table) -> String {
    print(table, ["S.D.", "ratio"], "", |row| [row.sd_s, Some(row.ratio_raw)])
}

/// The table in the second format: delays in ms, raw ratio, ratio of the 1-S.D. averages. Ends in
/// a newline.
///
/// The title stands first, then the heading, the rows and the extras. A row without the second
/// ratio shows `-`.
#[must_use]
pub fn second_format(table: &Resp1Table) -> String {
    print(table, ["raw", "S.D."], RATIO_HEADING, |row| [Some(row.ratio_raw), row.ratio_sd])
}

/// The table in the format that it has: [`first_format`] or [`second_format`].
#[must_use]
pub fn printed(table: &Resp1Table) -> String {
    match table.format {
        Resp1Format::First => first_format(table),
        Resp1Format::Second => second_format(table),
    }
}

/// Prints a table whose last two columns are `names`, with the values that `last` gives.
fn print(
    table: &Resp1Table,
    names: [&str; 2],
    ratio_heading: &str,
    last: impl Fn(&Resp1Row) -> [Option<f64>; 2],
) -> String {
    let width = table.rows.iter().map(|row| row.test.chars().count()).max().unwrap_or(0);
    let width = width.max(TEST_WIDTH);
    let delays = 4 * (DELAY_WIDTH + 1);
    let ratios = 2 * (RATIO_WIDTH + 1);
    let groups = format!(" {:<width$}{DELAY_HEADING:>delays$}{ratio_heading:>ratios$}", "");
    let delay_names = ["low", "high", "median", "average"];
    let heading = line("Test", width, delay_names.map(str::to_owned), names.map(str::to_owned));
    let mut text = String::new();
    if let Some(title) = title(table) {
        text.push_str(&title);
        text.push('\n');
    }
    text.push_str(groups.trim_end());
    text.push('\n');
    text.push_str(&heading);
    for row in &table.rows {
        let delays = [row.low_ms, row.high_ms, row.median_ms, row.average_ms];
        let test: String =
            row.test.chars().map(|c| if c.is_whitespace() { '-' } else { c }).collect();
        text.push_str(&line(&test, width, delays.map(decimals), last(row).map(known)));
    }
    for extra in table.extras.iter().flat_map(|extra| extra.lines()) {
        let extra = extra.trim();
        if !extra.is_empty() {
            text.push_str(extra);
            text.push('\n');
        }
    }
    text
}

/// One line of the base output, newline included.
fn line(test: &str, width: usize, delays: [String; 4], ratios: [String; 2]) -> String {
    let mut text = format!(" {test:<width$}");
    for cell in delays {
        text.push_str(&format!(" {cell:>DELAY_WIDTH$}"));
    }
    for cell in ratios {
        text.push_str(&format!(" {cell:>RATIO_WIDTH$}"));
    }
    text.push('\n');
    text
}

fn decimals(value: f64) -> String {
    format!("{value:.3}")
}

fn known(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), decimals)
}

/// The title line with the facts that are known, in the published wording; `None` if none is.
fn title(table: &Resp1Table) -> Option<String> {
    let mut text = "Starting".to_owned();
    if let Some(cpus) = table.cpus {
        text.push_str(&format!(" {cpus} CPU"));
    }
    text.push_str(" run");
    let bare = text.len();
    if let Some(memory_mb) = table.memory_mb {
        text.push_str(&format!(" with {memory_mb} MB RAM"));
    }
    if let Some(points) = table.minimum_points {
        text.push_str(&format!(", minimum {points} data points"));
    }
    if let Some(interval_s) = table.interval_s {
        text.push_str(&format!(" at {interval_s} sec intervals"));
    }
    (table.cpus.is_some() || text.len() > bare).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(test: &str, delays: [f64; 4], sd_s: Option<f64>, raw: f64, sd: Option<f64>) -> Resp1Row {
        let [low_ms, high_ms, median_ms, average_ms] = delays;
        let test = test.to_owned();
        Resp1Row {
            test,
            low_ms,
            high_ms,
            median_ms,
            average_ms,
            sd_s,
            ratio_raw: raw,
            ratio_sd: sd,
        }
    }

    fn table(format: Resp1Format, memory_mb: u64, rows: Vec<Resp1Row>) -> Resp1Table {
        Resp1Table {
            cpus: Some(1),
            memory_mb: Some(memory_mb),
            minimum_points: Some(5),
            interval_s: Some(20.0),
            format,
            rows,
            extras: Vec::new(),
        }
    }

    /// The first table of the resp1 manual (2003).
    fn manual_first() -> Resp1Table {
        let data: [(&str, [f64; 4], f64, f64); 7] = [
            ("noload", [178.743, 233.056, 184.435, 192.526], 0.023, 1.000),
            ("smallwrite", [189.085, 322.913, 232.981, 237.789], 0.044, 1.235),
            ("largewrite", [187.308, 1997.804, 243.612, 576.542], 0.688, 2.995),
            ("cpuload", [178.544, 259.127, 179.017, 196.635], 0.035, 1.021),
            ("spawnload", [178.450, 258.380, 178.761, 194.615], 0.036, 1.011),
            ("8ctx-mem", [178.899, 1571.854, 182.922, 463.700], 0.620, 2.409),
            ("2ctx-mem", [178.917, 5611.114, 185.104, 1540.410], 2.351, 8.001),
        ];
        let rows = data.map(|(test, delays, sd_s, raw)| row(test, delays, Some(sd_s), raw, None));
        table(Resp1Format::First, 124, rows.to_vec())
    }

    /// The second table of the resp1 manual (2003).
    fn manual_second() -> Resp1Table {
        let data: [(&str, [f64; 4], f64, f64); 7] = [
            ("noload", [242.375, 252.947, 245.237, 246.150], 1.000, 1.000),
            ("smallwrite", [331.007, 1840.243, 344.869, 746.631], 3.033, 1.933),
            ("largewrite", [313.113, 8067.703, 922.303, 2504.440], 10.174, 4.549),
            ("cpuload", [362.457, 467.524, 369.683, 387.730], 1.575, 1.502),
            ("spawnload", [312.127, 420.631, 322.017, 337.934], 1.373, 1.296),
            ("8ctx-mem", [4918.723, 16471.092, 12337.373, 11201.385], 45.506, 57.219),
            ("2ctx-mem", [11951.979, 19299.983, 15779.539, 15656.751], 63.607, 64.023),
        ];
        let rows = data.map(|(test, delays, raw, sd)| row(test, delays, None, raw, Some(sd)));
        table(Resp1Format::Second, 91, rows.to_vec())
    }

    #[test]
    fn first_manual_table() {
        insta::assert_snapshot!(first_format(&manual_first()), @r"
        Starting 1 CPU run with 124 MB RAM, minimum 5 data points at 20 sec intervals
                            _____________ delay ms. ____________
         Test               low       high     median    average    S.D.   ratio
         noload         178.743    233.056    184.435    192.526   0.023   1.000
         smallwrite     189.085    322.913    232.981    237.789   0.044   1.235
         largewrite     187.308   1997.804    243.612    576.542   0.688   2.995
         cpuload        178.544    259.127    179.017    196.635   0.035   1.021
         spawnload      178.450    258.380    178.761    194.615   0.036   1.011
         8ctx-mem       178.899   1571.854    182.922    463.700   0.620   2.409
         2ctx-mem       178.917   5611.114    185.104   1540.410   2.351   8.001
        ");
    }

    #[test]
    fn second_manual_table_with_verbose_lines() {
        let mut table = manual_second();
        table.extras =
            vec!["smallwrite: 455 MB written".to_owned(), " \n  41.7 loops/s".to_owned()];
        insta::assert_snapshot!(second_format(&table), @r"
        Starting 1 CPU run with 91 MB RAM, minimum 5 data points at 20 sec intervals
                            _____________ delay ms. ____________   ___ Ratio ___
         Test               low       high     median    average     raw    S.D.
         noload         242.375    252.947    245.237    246.150   1.000   1.000
         smallwrite     331.007   1840.243    344.869    746.631   3.033   1.933
         largewrite     313.113   8067.703    922.303   2504.440  10.174   4.549
         cpuload        362.457    467.524    369.683    387.730   1.575   1.502
         spawnload      312.127    420.631    322.017    337.934   1.373   1.296
         8ctx-mem      4918.723  16471.092  12337.373  11201.385  45.506  57.219
         2ctx-mem     11951.979  19299.983  15779.539  15656.751  63.607  64.023
        smallwrite: 455 MB written
        41.7 loops/s
        ");
    }

    #[test]
    fn base_output_begins_with_a_blank_and_nothing_else_does() {
        let mut table = manual_second();
        table.extras = vec!["  indented".to_owned()];
        let text = second_format(&table);
        let base: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).collect();
        assert_eq!(base.len(), 2 + table.rows.len());
        assert!(base[1].starts_with(" Test "), "{}", base[1]);
        let widths: Vec<usize> = base.iter().map(|line| line.len()).collect();
        assert_eq!(widths, [72; 9]);
    }

    #[test]
    fn unknown_facts_are_left_out() {
        let mut table = manual_second();
        (table.cpus, table.minimum_points, table.interval_s) = (None, None, Some(0.5));
        assert!(second_format(&table).starts_with("Starting run with 91 MB RAM at 0.5 sec "));
        (table.memory_mb, table.interval_s) = (None, None);
        assert!(second_format(&table).starts_with("  "), "no title at all");
        assert!(first_format(&table).contains("       -"), "no S.D. in the second format");
    }

    #[test]
    fn wide_values_never_touch() {
        let mut table = manual_second();
        table.rows[1] = row("a-load-with-a-long-name", [1e12; 4], None, 1e9, Some(1e9));
        let text = second_format(&table);
        let wide = text.lines().nth(4).unwrap_or_default();
        assert_eq!(wide.split_whitespace().count(), 7, "{wide}");
    }
}
