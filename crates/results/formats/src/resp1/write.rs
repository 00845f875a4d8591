//! The printed formats of the resp1 response benchmark.
//!
//! Rows start with a blank and the test in at least 11 columns. Low, high, median and average in
//! ms follow in 11 columns each, then in 8 columns each the S.D. in s and the ratio (first
//! format), or the raw ratio and that of the 1-S.D. averages (second). Numbers have three decimals
//! after a blank, so wide ones shift the rest of the line; unknown ones are `-`.
//!
//! As published, group names, column names and rows begin with a blank, so `grep '^ '` yields the
//! base output. Everything optional (title, verbose lines) begins in column 1.

use model::resp1::{Resp1Format, Resp1Table};

const DELAY_HEADING: &str = "_____________ delay ms. ____________";
const RATIO_HEADING: &str = "___ Ratio ___";
const TEST_WIDTH: usize = 11;
/// Width of a delay, without the blank before it.
const DELAY_WIDTH: usize = 10;
/// Width of an S.D. or a ratio, without the blank before it.
const RATIO_WIDTH: usize = 7;

/// The table in its format: title, heading, rows and extras. Ends in a newline.
pub fn printed(table: &Resp1Table) -> String {
    let is_first = table.format == Resp1Format::First;
    let names = if is_first { ["S.D.", "ratio"] } else { ["raw", "S.D."] };
    let ratio_heading = if is_first { "" } else { RATIO_HEADING };
    let width = table.rows.iter().map(|row| row.test.chars().count()).max().unwrap_or(0);
    let width = width.max(TEST_WIDTH);
    let (delays, ratios) = (4 * (DELAY_WIDTH + 1), 2 * (RATIO_WIDTH + 1));
    let groups = format!(" {:<width$}{DELAY_HEADING:>delays$}{ratio_heading:>ratios$}", "");
    let mut text = title(table).map(|title| title + "\n").unwrap_or_default();
    text += &format!("{}\n", groups.trim_end());
    let delay_names = ["low", "high", "median", "average"];
    text += &line("Test", width, delay_names.map(str::to_owned), names.map(str::to_owned));
    for row in &table.rows {
        let last = match is_first {
            true => [row.sd_s, Some(row.ratio_raw)],
            false => [Some(row.ratio_raw), row.ratio_sd],
        };
        let delays = [row.low_ms, row.high_ms, row.median_ms, row.average_ms].map(decimals);
        let test: String =
            row.test.chars().map(|c| if c.is_whitespace() { '-' } else { c }).collect();
        let last = last.map(|value| value.map_or_else(|| "-".to_owned(), decimals));
        text += &line(&test, width, delays, last);
    }
    let extras = table.extras.iter().flat_map(|extra| extra.lines()).map(str::trim);
    text.extend(extras.filter(|extra| !extra.is_empty()).map(|extra| format!("{extra}\n")));
    text
}

fn line(test: &str, width: usize, delays: [String; 4], ratios: [String; 2]) -> String {
    let delays = delays.map(|cell| format!(" {cell:>DELAY_WIDTH$}")).concat();
    let ratios = ratios.map(|cell| format!(" {cell:>RATIO_WIDTH$}")).concat();
    format!(" {test:<width$}{delays}{ratios}\n")
}

fn decimals(value: f64) -> String {
    format!("{value:.3}")
}

/// The title line from the known facts; `None` if none is known.
fn title(table: &Resp1Table) -> Option<String> {
    let facts = [
        table.cpus.map(|cpus| format!(" {cpus} CPU")),
        Some(" run".to_owned()),
        table.memory_mb.map(|memory_mb| format!(" with {memory_mb} MB RAM")),
        table.minimum_points.map(|points| format!(", minimum {points} data points")),
        table.interval_s.map(|interval_s| format!(" at {interval_s} sec intervals")),
    ];
    let is_known = facts.iter().flatten().count() > 1;
    is_known.then(|| format!("Starting{}", facts.into_iter().flatten().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use model::resp1::Resp1Row;

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
        insta::assert_snapshot!(printed(&manual_first()), @r"
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
        insta::assert_snapshot!(printed(&table), @r"
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
        let text = printed(&table);
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
        assert!(printed(&table).starts_with("Starting run with 91 MB RAM at 0.5 sec "));
        (table.memory_mb, table.interval_s) = (None, None);
        assert!(printed(&table).starts_with("  "), "no title at all");
        table.format = Resp1Format::First;
        assert!(printed(&table).contains("       -"), "no S.D. in the second format");
    }

    #[test]
    fn wide_values_never_touch() {
        let mut table = manual_second();
        table.rows[1] = row("a-load-with-a-long-name", [1e12; 4], None, 1e9, Some(1e9));
        let text = printed(&table);
        let wide = text.lines().nth(4).unwrap_or_default();
        assert_eq!(wide.split_whitespace().count(), 7, "{wide}");
    }
}
