//! The verdicts and facts at the head of a report.

use std::collections::BTreeMap;

use analysis::{Setup, distinct, seeds, seeds_text};
use doctor::{Finding, Price, Severity};
use itertools::Itertools;
use render::{Tone, Verdict};

use super::super::{Input, JobRuns};
use crate::charts::{Data, found, tile_verdict};
use crate::comparison::conclusion;
use crate::diagnosis::{price_text, severity_word};
use crate::job_document;

const MOST_READINGS: usize = 6;

pub(super) fn verdicts(data: &Data<'_>) -> Vec<Verdict> {
    let mut all: Vec<Verdict> = data.material.comparison.iter().map(conclusion).collect();
    let last = data.material.looks.last();
    all.extend(last.map(|look| Verdict { text: look.reason(), tone: Tone::Plain }));
    let prefixed = |prefix: &str, text: &str| match prefix {
        "" => text.to_owned(),
        prefix => format!("{prefix}: {text}"),
    };
    for one in data.measurements.iter().take(MOST_READINGS) {
        let reference_ns = one.matrix.reference_ns();
        let has = |tone: &Tone| {
            one.matrix.rows.iter().any(|it| tile_verdict(it, reference_ns).1 == *tone)
        };
        let worst = [Tone::Bad, Tone::Doubtful, Tone::Unknown].into_iter().find(has);
        let tone = worst.unwrap_or(Tone::Good);
        all.push(Verdict { text: prefixed(&data.label(one), &one.matrix.reading), tone });
    }
    all.extend(of_commands(data));
    for input in &data.material.inputs {
        let prefix = if data.material.inputs.len() == 1 { "" } else { &input.name };
        let plain = |text: String| Verdict { text: prefixed(prefix, &text), tone: Tone::Plain };
        if let Some(view) = &input.sweep {
            all.extend(view.knees().map(plain));
        }
        let sentences = input.attribution.as_ref().map(crate::attribution_text::conclusions);
        all.extend(sentences.into_iter().flatten().take(3).map(plain));
    }
    let worst = found(data).into_iter().next();
    all.extend(worst.filter(|it| it.finding.severity() != Severity::Note).map(|worst| {
        let Finding { rule, price, .. } = worst.finding;
        let what = match price {
            Price::Known(_) => "Most time was lost to",
            Price::Unknown { .. } => "What costs most may be",
        };
        let text = format!("{what} {rule} under {}: {}.", worst.load, price_text(price));
        Verdict { text, tone: severity_word(worst.finding.severity()).1 }
    }));
    all
}

/// What each command of the user takes, unless the levels of an experiment were compared.
fn of_commands(data: &Data<'_>) -> Vec<Verdict> {
    let is_alone = |jobs: &&JobRuns<'_>| jobs.is_of_command() && jobs.cell.is_empty();
    let jobs = data.jobs.iter().filter(is_alone);
    jobs.filter_map(|jobs| job_document(&jobs.runs, BTreeMap::new(), false))
        .flat_map(|document| document.verdicts)
        .take(MOST_READINGS)
        .collect()
}

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
            let what = format!("{} over {}", row.curve.response, row.curve.parameter);
            facts.push((name(input, "sweep"), what));
            if !view.place.is_empty() {
                facts.push((name(input, "place"), view.place.replace('\n', "; ")));
            }
        }
        let headers: Vec<&model::Header> = input.headers().collect();
        let Some(first) = headers.first() else { continue };
        if input.sweep.is_none() {
            let headers = || headers.iter();
            let places = distinct(headers().map(|it| Setup::new(it, Vec::new()).place()));
            let measures = headers().map(|header| header.spec.measure.name()).sorted().dedup();
            let place = match &places[..] {
                [place] => place.clone(),
                several => format!("{} different ones", several.len()),
            };
            facts.push((name(input, "place"), place));
            facts.push((name(input, "measured"), measures.format(", ").to_string()));
        }
        let seeds = seeds_text(&seeds(headers.iter().copied()));
        facts.push((name(input, "runs"), format!("{}, {seeds}", headers.len())));
        // The date of virtual time is meaningless.
        if !first.is_deterministic() {
            facts.push((name(input, "begun"), date(first.started_unix_ns)));
        }
    }
    facts
}

fn date(unix_ns: u64) -> String {
    let moment = jiff::Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default();
    moment.strftime("%Y-%m-%d %H:%M UTC").to_string()
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
