//! Trials as ratios and as differences, and which of these two scales fits.

use stats::{Factorial, FactorialError, Fit, Scale};

use super::outcome::TwoScales;

/// Powers of the profile: from logarithms to the values themselves.
const POWERS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Fits both scales and chooses one.
pub(super) fn both(data: &Factorial, confidence: f64) -> Result<TwoScales, FactorialError> {
    let fit = |scale| -> Result<Fit, FactorialError> {
        let mut fit = stats::fit(data, scale, confidence)?;
        // With one factor the simple effects are its main effects.
        fit.simple.retain(|_| data.factors.len() > 1);
        Ok(fit)
    };
    let additive = fit(Scale::Additive)?;
    let without = data.observations.iter().find(|each| each.value <= 0.0);
    let log_refused = without.map(|each| {
        let why = format!("a value is {}, which has no logarithm", each.value);
        format!("no ratios: {why}, so only differences are shown")
    });
    let log = if log_refused.is_none() { Some(fit(Scale::Log)?) } else { None };
    let (scale, reason) = match &log {
        Some(log) => {
            let additive_f = stats::interaction_f(data, Scale::Additive)?;
            let tests = stats::interaction_f(data, Scale::Log)?.zip(additive_f);
            chosen(&additive, log, tests, confidence)
        }
        None => (Scale::Additive, log_refused.clone().unwrap_or_default()),
    };
    let (mut profile, mut box_cox) = (Vec::new(), None);
    if log.is_some() {
        box_cox = stats::box_cox(data)?;
        for power in POWERS {
            let f = stats::box_cox_interaction_f(data, power)?;
            profile.extend(f.map(|f| (power, f)));
        }
    }
    Ok(TwoScales {
        additive,
        log,
        log_refused,
        scale,
        reason,
        profile,
        additive_power: box_cox.and_then(|found| found.additive_lambda),
        likely_power: box_cox.map(|found| found.likely_lambda),
    })
}

/// The scale with the smaller interaction, and why; `f` are its F on the log and additive scale.
fn chosen(additive: &Fit, log: &Fit, f: Option<(f64, f64)>, confidence: f64) -> (Scale, String) {
    if additive.interactions.is_empty() {
        let one = "with one factor there is no interaction to judge by; a ratio says the same as a \
                   difference";
        let several = "the runs do not show whether factors interact; differences \
                       are assumed to add up";
        let is_one = additive.main.len() == 1;
        let (scale, why) = if is_one { (Scale::Log, one) } else { (Scale::Additive, several) };
        return (scale, why.to_owned());
    }
    let percent = |fit| interactions(fit).filter_map(|term| term.percent).sum::<f64>();
    // Without noise there is no F but a share of all variation.
    let (log_size, additive_size) = f.unwrap_or_else(|| (percent(log), percent(additive)));
    let size = |value: f64| match f {
        Some(_) => format!("F = {value:.2}"),
        None => format!("{value:.2} % of the sum of squares"),
    };
    let adds = additive_size < log_size;
    let mut scales = [("log", log_size, log), ("additive", additive_size, additive)];
    if adds {
        scales.reverse();
    }
    let [(name, value, fitting), (other, other_value, rejected)] = scales;
    let is_excluded =
        interactions(rejected).any(|term| term.p.is_some_and(|p| p < 1.0 - confidence));
    let verdict = match (f.is_none() || is_excluded, adds) {
        (true, true) => "costs add up, they do not multiply",
        (true, false) => "costs multiply, they do not add up",
        (false, true) => "adding fits better, but multiplying is not excluded",
        (false, false) => "multiplying fits better, but adding is not excluded",
    };
    let (value, other_value) = (size(value), size(other_value));
    let reason = format!(
        "on the {name} scale the interaction is {value}, on the {other} scale {other_value}: \
         {verdict}"
    );
    (fitting.scale, reason)
}

fn interactions(fit: &Fit) -> impl Iterator<Item = &stats::TermTest> {
    fit.terms.iter().filter(|term| term.name.contains('×'))
}
