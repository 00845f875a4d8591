//! An attribution as text: tables, and sentences that each carry their figure.

mod causes;
mod conditions;
mod sentences;
mod tables;
mod words;

use analysis::attribution::{Attribution, Noise, Step, TwoScales};
pub use conditions::ledger_text;
use words::{Words, percent};

/// An attribution as text.
#[must_use]
pub fn attribution_text(attribution: &Attribution) -> String {
    let words = Words::of(attribution);
    let mut text = heading(attribution, &words);
    let each = tables::equal_count(&attribution.overall.additive.cells)
        .map_or_else(String::new, |count| format!(", {} each", tables::trials(count)));
    text.push_str(&format!("\nMean {}{each}\n", unit_of(attribution, &words)));
    text.push_str(&tables::cell_means(attribution, &words));
    text.push_str(&scale(&attribution.overall));
    for (index, step) in attribution.steps.iter().enumerate() {
        text.push_str(&step_text(step, &words, index > 0));
    }
    text.push_str("\nConclusion\n");
    for sentence in sentences::sentences(attribution, &words) {
        text.push_str(&format!("- {sentence}\n"));
    }
    text.push_str(&footnotes(attribution));
    text
}

/// What an attribution comes to, a sentence each.
pub(crate) fn conclusions(attribution: &Attribution) -> Vec<String> {
    sentences::sentences(attribution, &Words::of(attribution))
}

/// A figure of an attribution's response with its unit.
pub(crate) fn quantity(attribution: &Attribution, value: f64) -> String {
    Words::of(attribution).quantity(value)
}

/// The same without the unit.
pub(crate) fn amount(attribution: &Attribution, value: f64) -> String {
    Words::of(attribution).amount(value)
}

fn unit_of(attribution: &Attribution, words: &Words) -> String {
    match attribution.measured.unit.as_str() {
        "" | "faults" | "ns" => words.noun.clone(),
        unit => format!("{} in {unit}", words.noun),
    }
}

fn heading(attribution: &Attribution, words: &Words) -> String {
    let names: Vec<String> = attribution.factors.iter().map(|factor| factor.name.clone()).collect();
    let over = match attribution.noise {
        Noise::Trials => format!("{:.0} % intervals in brackets", 100.0 * attribution.confidence),
        Noise::Seeds => format!(
            "deterministic: {:.0} % intervals in brackets are over seeds, there is no noise of \
             measurement",
            100.0 * attribution.confidence
        ),
        Noise::Absent => "nothing is repeated, so there are no intervals".to_owned(),
    };
    let mut text = format!(
        "{}: {} by {}\n{}; {over}\n",
        attribution.source,
        words.noun,
        words::and(&names),
        tables::trials(attribution.trials)
    );
    for line in &attribution.aside {
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// Which scale fits.
fn scale(scales: &TwoScales) -> String {
    let mut text = format!("\nScale: {}.\n", scales.reason);
    if let Some(power) = scales.additive_power.filter(|_| !scales.profile.is_empty()) {
        let profile: Vec<String> =
            scales.profile.iter().map(|(power, f)| format!("{f:.2} at {power}")).collect();
        text.push_str(&format!(
            "Box-Cox profile: F of the interaction for powers from 0 (ratios) to 1 (differences) \
             is {}{}.\n",
            profile.join(", "),
            // At an end of what was searched it is smallest nowhere.
            if power > -0.99 && power < 1.99 {
                // Adding 0 makes 0 of -0.
                format!("; it is smallest at {:.2}", (100.0 * power).round() / 100.0 + 0.0)
            } else {
                String::new()
            }
        ));
    }
    text
}

/// With more factors, each one's effect at all levels of the others is a table that nobody reads; it
/// is in the JSON.
const MOST_FOR_SIMPLE_EFFECTS: usize = 3;

fn step_text(step: &Step, words: &Words, again: bool) -> String {
    let levels = |index: usize| {
        let levels: Vec<&str> =
            step.factors.iter().map(|factor| factor.levels[index].as_str()).collect();
        levels.join(", ")
    };
    let mut text = format!("\nFrom {} to {}\n", levels(0), levels(1));
    text.push_str(&tables::effects(&step.scales, words));
    if step.factors.len() > 1 {
        if again {
            text.push_str(&format!("Scale: {}.\n", step.scales.reason));
        }
        text.push_str(&why_the_scale_matters(step, words));
        if step.factors.len() <= MOST_FOR_SIMPLE_EFFECTS {
            text.push('\n');
            text.push_str(&tables::simple_effects(step, words));
        }
        text.push_str(&format!(
            "\nShares of {} (Shapley: the mean over all orders of counting)\n",
            words.difference(step.after - step.before)
        ));
        text.push_str(&tables::shares(step, words));
    }
    match &step.shares_note {
        Some(reason) if step.shares.is_empty() => {
            text.push_str(&format!("No shares: {reason}.\n"));
        }
        Some(note) => text.push_str(&format!("{note}.\n")),
        None => {}
    }
    if !step.parts.is_empty() {
        text.push_str("\nBy part of the work\n");
        text.push_str(&tables::parts(step, words));
    }
    text
}

/// What the two scales predict for all changes together from each change alone.
fn why_the_scale_matters(step: &Step, words: &Words) -> String {
    // Cells are in the order of counting, so that of factor f alone stands at a power of two.
    let alone = (0..step.factors.len()).map(|f| step.scales.additive.cells[1 << f].mean);
    let Some(alone) = alone.collect::<Option<Vec<f64>>>() else { return String::new() };
    let sum = step.before + alone.iter().map(|mean| mean - step.before).sum::<f64>();
    let mut text = format!(
        "It matters: from each change alone, adding predicts {} for all of them together",
        words.amount(sum)
    );
    if step.before > 0.0 {
        let product = step.before * alone.iter().map(|mean| mean / step.before).product::<f64>();
        text.push_str(&format!(", multiplying {}", words.amount(product)));
    }
    text.push_str(&format!("; {} were measured.\n", words.amount(step.after)));
    text
}

/// Sums of squares, because many ask for them, and what must be known of the data.
fn footnotes(attribution: &Attribution) -> String {
    let mut text = String::new();
    let terms = &attribution.overall.fitting().terms;
    if attribution.factors.len() > 1 {
        text.push_str(
            "\nAnalysis of variance (a large effect makes all others look small in its last \
             column)\n",
        );
        text.push_str(&tables::variance(terms));
        let rest: f64 = 100.0 - terms.iter().filter_map(|term| term.percent).sum::<f64>();
        if attribution.noise != Noise::Absent {
            text.push_str(&format!("{} is residual.\n", percent(rest.max(0.0))));
        }
    }
    if !attribution.notes.is_empty() {
        text.push_str("\nNotes\n");
    }
    for note in &attribution.notes {
        text.push_str(&format!("- {note}.\n"));
    }
    text
}
