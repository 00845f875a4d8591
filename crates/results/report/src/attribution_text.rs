//! An attribution as a document: tables, and sentences with figures.

mod sentences;
mod tables;
mod words;

use analysis::attribution::{Attribution, Ledger, Noise, Step, TwoScales};
use itertools::Itertools;
use render::format::{and, counted};
use render::{Block, Document};
use serde_json::json;

pub(crate) use sentences::sentences as conclusions;
pub(crate) use words::Words;

/// Attributions of experiments, and the ledger of conditions in which they differ.
pub fn attribution_document(found: &[Attribution], ledger: Option<&Ledger>) -> Document<'static> {
    let mut blocks: Vec<Block> = found.iter().flat_map(attribution_blocks).collect();
    blocks.extend(ledger.into_iter().flat_map(tables::ledger));
    Document::of(blocks).with_data(json!({ "experiments": found, "ledger": ledger }))
}

pub(crate) fn attribution_blocks(attribution: &Attribution) -> Vec<Block> {
    let words = Words::new(attribution);
    let mut blocks = vec![
        Block::Notes(heading(attribution, &words)),
        tables::cell_means(attribution, &words).into(),
        Block::Notes(scale(&attribution.overall)),
    ];
    let steps = attribution.steps.iter().enumerate();
    blocks.extend(steps.flat_map(|(index, step)| step_blocks(step, &words, index > 0)));
    blocks.extend(["Conclusion".into(), Block::List(conclusions(attribution))]);
    if attribution.factors.len() > 1 {
        let terms = &attribution.overall.fitting().terms;
        blocks.push(tables::variance(terms).into());
        if attribution.noise != Noise::Absent {
            let rest = 100.0 - terms.iter().filter_map(|term| term.percent).sum::<f64>();
            blocks.push(format!("{} is residual.", words::percent(rest.max(0.0))).into());
        }
    }
    if !attribution.notes.is_empty() {
        let notes = attribution.notes.iter().map(|it| format!("{it}."));
        blocks.extend(["Notes".into(), Block::List(notes.collect())]);
    }
    blocks
}

fn heading(attribution: &Attribution, words: &Words) -> Vec<String> {
    let percent = format!("{:.0} % intervals in brackets", 100.0 * attribution.confidence);
    let over = match attribution.noise {
        Noise::Trials => percent,
        Noise::Seeds => {
            format!("deterministic: {percent} are over seeds, there is no noise of measurement")
        }
        Noise::Absent => "nothing is repeated, so there are no intervals".to_owned(),
    };
    let trials = counted(attribution.trials, "trial");
    let names = and(attribution.factors.iter().map(|factor| &factor.name));
    let mut lines = vec![
        format!("{}: {} by {names}", attribution.source, words.noun),
        format!("{trials}; {over}"),
    ];
    lines.extend(attribution.aside.iter().cloned());
    lines
}

fn scale(scales: &TwoScales) -> Vec<String> {
    let mut lines = vec![format!("Scale: {}.", scales.reason)];
    if let Some(power) = scales.additive_power.filter(|_| !scales.profile.is_empty()) {
        let profile = scales.profile.iter().map(|(power, f)| format!("{f:.2} at {power}"));
        // At an end of the searched range there is no minimum; adding 0 turns -0 into 0.
        let least = (power > -0.99 && power < 1.99)
            .then(|| format!("; it is smallest at {:.2}", (100.0 * power).round() / 100.0 + 0.0));
        lines.push(format!(
            "Box-Cox profile: F of the interaction for powers from 0 (ratios) to 1 (differences) \
             is {}{}.",
            profile.format(", "),
            least.unwrap_or_default()
        ));
    }
    lines
}

/// With more factors, the table of simple effects is too long to read; JSON has it.
const MOST_FOR_SIMPLE_EFFECTS: usize = 3;

fn step_blocks(step: &Step, words: &Words, again: bool) -> Vec<Block> {
    let mut blocks = vec![tables::effects(step, words).into()];
    if step.factors.len() > 1 {
        let scale = again.then(|| format!("Scale: {}.", step.scales.reason));
        let lines = scale.into_iter().chain(why_the_scale_matters(step, words));
        blocks.push(Block::Notes(lines.collect()));
        if step.factors.len() <= MOST_FOR_SIMPLE_EFFECTS {
            blocks.push(tables::simple_effects(step, words).into());
        }
        blocks.push(tables::shares(step, words).into());
    }
    blocks.extend(step.shares_note.as_ref().map(|note| match step.shares.is_empty() {
        true => format!("No shares: {note}.").into(),
        false => format!("{note}.").into(),
    }));
    if !step.parts.is_empty() {
        blocks.push(tables::parts(step, words).into());
    }
    blocks
}

fn why_the_scale_matters(step: &Step, words: &Words) -> Option<String> {
    // Cells are in binary order, so the cell of factor f alone is at a power of two.
    let alone = (0..step.factors.len()).map(|f| step.scales.additive.cells[1 << f].mean);
    let alone = alone.collect::<Option<Vec<f64>>>()?;
    let sum = step.before + alone.iter().map(|mean| mean - step.before).sum::<f64>();
    let product = step.before * alone.iter().map(|mean| mean / step.before).product::<f64>();
    let [sum, product, after] = [sum, product, step.after].map(|value| words.amount(value));
    let product = if step.before > 0.0 { format!(", multiplying {product}") } else { "".into() };
    Some(format!(
        "It matters: from each change alone, adding predicts {sum} for all of them together\
         {product}; {after} were measured."
    ))
}
