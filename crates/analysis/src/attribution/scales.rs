//! The same trials as ratios and as differences, and which of the two fits.

use stats::{Factorial, FactorialError, Fit};

use super::outcome::{
    Cell, Effect, Effects, Figure, Interaction, Scale, SimpleEffect, Term, TwoScales,
};

impl From<stats::Scale> for Scale {
    fn from(scale: stats::Scale) -> Self {
        match scale {
            stats::Scale::Log => Self::Log,
            stats::Scale::Additive => Self::Additive,
        }
    }
}

impl From<stats::Estimate> for Figure {
    fn from(estimate: stats::Estimate) -> Self {
        let stats::Estimate { value, interval, f, p } = estimate;
        Self { value, interval, f, p }
    }
}

/// Powers of the profile: from logarithms to the values themselves.
const POWERS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Fits both scales and chooses one.
pub(super) fn both(data: &Factorial, confidence: f64) -> Result<TwoScales, FactorialError> {
    let additive = effects(data, &stats::fit(data, stats::Scale::Additive, confidence)?);
    let log = match stats::fit(data, stats::Scale::Log, confidence) {
        Ok(fit) => Ok(effects(data, &fit)),
        Err(FactorialError::NotPositive { value, .. }) => Err(format!(
            "no ratios: a value is {value}, which has no logarithm, so only differences are shown"
        )),
        Err(error) => return Err(error),
    };
    let choice = stats::choose_scale(data)?;
    let judged =
        Judged::new(&additive, log.as_ref().ok(), choice.log_f, choice.additive_f, confidence);
    let box_cox = match &log {
        Ok(_) => stats::box_cox(data, confidence)?,
        Err(_) => None,
    };
    let mut profile = Vec::new();
    if log.is_ok() {
        for power in POWERS {
            let f = stats::box_cox_interaction_f(data, power)?;
            profile.extend(f.map(|f| (power, f)));
        }
    }
    let (log, log_refused) =
        log.map_or_else(|reason| (None, Some(reason)), |log| (Some(log), None));
    Ok(TwoScales {
        additive,
        scale: judged.scale,
        reason: log_refused.clone().unwrap_or(judged.reason),
        log,
        log_refused,
        profile,
        additive_power: box_cox.and_then(|found| found.additive_lambda),
        likely_power: box_cox.map(|found| found.likely_lambda),
    })
}

/// The scale with the smaller interaction, and why.
struct Judged {
    scale: Scale,
    reason: String,
}

impl Judged {
    fn new(
        additive: &Effects,
        log: Option<&Effects>,
        log_f: Option<f64>,
        additive_f: Option<f64>,
        confidence: f64,
    ) -> Judged {
        let Some(log) = log else {
            return Judged { scale: Scale::Additive, reason: String::new() };
        };
        if additive.interactions.is_empty() {
            let (scale, reason) = match additive.main.len() {
                1 => (
                    Scale::Log,
                    "with one factor there is no interaction to judge by; a ratio says the same \
                     as a difference",
                ),
                _ => (
                    Scale::Additive,
                    "the combinations that were run tell no interaction to judge by; differences \
                     are assumed to add up",
                ),
            };
            return Judged { scale, reason: reason.to_owned() };
        }
        let tests = log_f.zip(additive_f);
        // Without noise there is no F: the interaction's part of all variation stands in.
        let (log_size, additive_size) =
            tests.unwrap_or_else(|| (interaction_percent(log), interaction_percent(additive)));
        let size = |value: f64| match tests {
            Some(_) => format!("F = {value:.2}"),
            None => format!("{value:.2} % of the sum of squares"),
        };
        let (scale, told, other, verdict) = if additive_size < log_size {
            let verdict = "costs add up, they do not multiply";
            (Scale::Additive, ("additive", additive_size), ("log", log_size, log), verdict)
        } else {
            let verdict = "costs multiply, they do not add up";
            (Scale::Log, ("log", log_size), ("additive", additive_size, additive), verdict)
        };
        let possible = tests.is_some() && !has_interaction(other.2, confidence);
        let verdict = match (possible, scale) {
            (false, _) => verdict,
            (true, Scale::Additive) => "adding fits better, but multiplying is not excluded",
            (true, Scale::Log) => "multiplying fits better, but adding is not excluded",
        };
        let told = format!(
            "on the {} scale the interaction is {}, on the {} scale {}: {verdict}",
            told.0,
            size(told.1),
            other.0,
            size(other.1)
        );
        Judged { scale, reason: told }
    }
}

/// Whether some interaction is told apart from noise.
fn has_interaction(effects: &Effects, confidence: f64) -> bool {
    let mut interactions = effects.terms.iter().filter(|term| term.name.contains('×'));
    interactions.any(|term| term.p.is_some_and(|p| p < 1.0 - confidence))
}

fn interaction_percent(effects: &Effects) -> f64 {
    effects
        .terms
        .iter()
        .filter(|term| term.name.contains('×'))
        .filter_map(|term| term.percent)
        .sum()
}

fn effects(data: &Factorial, fit: &Fit) -> Effects {
    let name = |factor: usize| data.factors[factor].name.clone();
    let level = |factor: usize, level: usize| data.factors[factor].levels[level].clone();
    let cell = |levels: &[usize]| levels.iter().enumerate().map(|(f, l)| level(f, *l)).collect();
    let alone = data.factors.len() == 1;
    Effects {
        scale: fit.scale.into(),
        residual_df: fit.residual_df,
        sigma: fit.sigma,
        terms: fit.terms.iter().map(|term| self::term(data, term)).collect(),
        main: fit
            .main_effects
            .iter()
            .map(|main| Effect {
                factor: name(main.factor),
                level: level(main.factor, main.level),
                against: level(main.factor, 0),
                figure: main.effect.into(),
            })
            .collect(),
        simple: fit
            .simple_effects
            .iter()
            .filter(|_| !alone)
            .map(|simple| SimpleEffect {
                factor: name(simple.factor),
                cell: cell(&simple.cell),
                figure: simple.effect.into(),
            })
            .collect(),
        interactions: fit
            .interactions
            .iter()
            .map(|found| Interaction {
                factors: (name(found.factors.0), name(found.factors.1)),
                levels: (
                    level(found.factors.0, found.levels.0),
                    level(found.factors.1, found.levels.1),
                ),
                figure: found.effect.into(),
            })
            .collect(),
        cells: fit
            .cells
            .iter()
            .map(|found| Cell {
                levels: cell(&found.levels),
                count: found.count,
                mean: found.observed,
                fitted: found.fitted,
            })
            .collect(),
        total: fit.total.into(),
    }
}

fn term(data: &Factorial, test: &stats::TermTest) -> Term {
    let names: Vec<&str> =
        test.factors.iter().map(|factor| data.factors[*factor].name.as_str()).collect();
    Term {
        name: if names.is_empty() { "blocks".to_owned() } else { names.join(" × ") },
        df: test.df,
        sum_of_squares: test.sum_of_squares,
        f: test.f,
        p: test.p,
        percent: test.percent,
    }
}
