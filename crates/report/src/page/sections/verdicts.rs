//! What was found, in a sentence a result, and what was measured where.

use std::collections::BTreeSet;

use doctor::{Finding, Price, Severity};
use render::{Tone, Verdict};

use super::super::Input;
use crate::charts::{Data, found, tile_verdict, tone};
use crate::comparison::conclusion;
use crate::diagnosis::price_text;
use crate::sweep_text::knee_sentence;
use analysis::{Setup, seeds, seeds_text};

/// Most sentences on the responsiveness of single measurements.
const MOST_READINGS: usize = 6;

/// The results, the most important first.
pub(super) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let mut all = Vec::new();
    if let Some(comparison) = &data.material.comparison {
        all.push(conclusion(comparison));
    }
    for one in data.measurements.iter().take(MOST_READINGS) {
        let label = data.label(one);
        let prefix = if label.is_empty() { String::new() } else { format!("{label}: ") };
        let tones = one.matrix.rows.iter().map(|row| tile_verdict(row, one.reference_ns()).1);
        let worst = tones.max_by_key(|tone| match tone {
            Tone::Bad => 3,
            Tone::Doubtful => 2,
            Tone::Unknown => 1,
            _ => 0,
        });
        let tone = match worst {
            Some(tone @ (Tone::Bad | Tone::Doubtful | Tone::Unknown)) => tone,
            _ => Tone::Good,
        };
        all.push(Verdict { text: format!("{prefix}{}", one.matrix.reading), tone });
    }
    for input in &data.material.inputs {
        let prefix = match data.material.inputs.len() {
            1 => String::new(),
            _ => format!("{}: ", input.name),
        };
        let plain = |text: String| Verdict { text: format!("{prefix}{text}"), tone: Tone::Plain };
        if let Some(view) = &input.sweep {
            for row in &view.rows {
                let label =
                    if row.label.is_empty() { String::new() } else { format!("{}: ", row.label) };
                all.push(plain(format!(
                    "{label}{}",
                    knee_sentence(row.curve, &row.found, view.least_rise)
                )));
            }
        }
        let sentences = input.attribution.as_ref().map(crate::attribution_text::conclusions);
        all.extend(sentences.into_iter().flatten().take(3).map(plain));
    }
    let is_more_than_a_note = |finding: &Finding| finding.severity() != Severity::Note;
    if let Some(worst) = found(data).first().filter(|worst| is_more_than_a_note(worst.finding)) {
        let finding = worst.finding;
        all.push(Verdict {
            text: format!(
                "{} {} under {}: {}.",
                match finding.price {
                    Price::Known(_) => "Most time was lost to",
                    Price::Unknown { .. } => "What costs most may be",
                },
                finding.rule,
                worst.load,
                price_text(&finding.price),
            ),
            tone: tone(finding.severity()),
        });
    }
    all
}

/// What was measured where.
pub(super) fn facts(data: &Data<'_>) -> Vec<(String, String)> {
    let several = data.material.inputs.len() > 1;
    let name = |input: &Input<'_>, fact: &str| match several {
        true => format!("{} {fact}", input.name),
        false => fact.to_owned(),
    };
    let mut facts = Vec::new();
    for input in &data.material.inputs {
        if let Some(view) = &input.sweep
            && let Some(row) = view.rows.first()
        {
            facts.push((
                name(input, "sweep"),
                format!("{} over {}", row.curve.response, row.curve.parameter),
            ));
            if !view.place.is_empty() {
                facts.push((name(input, "place"), view.place.replace('\n', "; ")));
            }
        }
        let headers: Vec<&model::Header> = input.headers().collect();
        let Some(first) = headers.first() else { continue };
        if input.sweep.is_none() {
            let places: BTreeSet<String> =
                headers.iter().map(|header| Setup::new(header, Vec::new()).place()).collect();
            let measures: BTreeSet<&str> =
                headers.iter().map(|header| header.spec.measure.name()).collect();
            let text = match places.len() {
                1 => places.into_iter().collect(),
                several => format!("{several} different ones"),
            };
            facts.push((name(input, "place"), text));
            let measures: Vec<&str> = measures.into_iter().collect();
            facts.push((name(input, "measured"), measures.join(", ")));
        }
        let seeds = seeds_text(&seeds(headers.iter().copied()));
        facts.push((name(input, "runs"), format!("{}, {seeds}", headers.len())));
        // In virtual time the day means nothing.
        if !first.is_deterministic() {
            facts.push((name(input, "begun"), date(first.started_unix_ns)));
        }
    }
    facts
}

/// `2026-11-22 08:28 UTC`.
fn date(unix_ns: u64) -> String {
    let minutes = unix_ns / 60_000_000_000;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    let (year, month, day) = civil(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

/// The date of a day since 1 January 1970 (H. Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_336_116_213_373_190), "2026-11-22 08:28 UTC");
    }
}
