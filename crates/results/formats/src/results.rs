//! All measurements of a file as observations: names and units that do not depend on the rest of
//! the file.

use std::collections::{BTreeMap, BTreeSet};

use analysis::quantity::{Quantity, scaled};
use analysis::{Dataset, Direction, Ending, Factor, Response, Trial, Values, distinct};

use crate::copies;
use crate::dataset::{Imported, Options, Refusal};
use crate::measurement::{ForeignMeasurement, ForeignTrial, MeasurementOutcome, TrialOutcome};

/// All that was read from a file.
#[derive(Debug, Default)]
pub(super) struct ForeignResults {
    /// Parts of the identity that are always levels, in order; others are if they vary.
    pub(super) factors: Vec<String>,
    /// Parts of the identity that are never levels in this file, since others imply them.
    pub(super) implied: Vec<String>,
    /// The trials in order.
    pub(super) trials: Vec<ForeignTrial>,
    /// The responses of interest.
    pub(super) wanted: Vec<String>,
    /// Damage, omissions, assumptions.
    pub(super) notes: Vec<String>,
}

impl ForeignResults {
    /// Results whose trials are named by these levels.
    pub(super) fn named_by<'a>(factors: impl IntoIterator<Item = &'a str>) -> Self {
        let factors = factors.into_iter().map(str::to_owned).collect();
        Self { factors, ..Self::default() }
    }

    /// The observations. Fails where a response has units of different dimensions or contradictory
    /// directions, and where the contents stand twice unless `options` allow it.
    pub(super) fn finish(self, options: &Options) -> Imported {
        if !options.allow_repeats {
            copies::refuse(&self.trials)?;
        }
        let factors = self.varied();
        let responses = self.responses()?;
        let mut set = Dataset {
            factors: factors.iter().map(|name| self.factor(name)).collect(),
            responses: responses.clone(),
            wanted: self.wanted,
            notes: self.notes,
            ..Dataset::default()
        };
        set.trials = self.trials.into_iter().map(|it| trial(it, &factors, &responses)).collect();
        Ok(set)
    }

    /// The names of the levels: those that are always, and those that vary.
    fn varied(&self) -> Vec<String> {
        let always = self.factors.iter();
        let is_named =
            |name: &&String| self.trials.iter().any(|it| it.identity.contains_key(*name));
        let always = always.filter(is_named).cloned();
        let names: BTreeSet<&String> =
            self.trials.iter().flat_map(|trial| trial.identity.keys()).collect();
        let varies = |name: &&String| {
            let levels = self.trials.iter().map(|trial| trial.identity.get(*name));
            distinct(levels).len() > 1 && !self.implied.contains(*name)
        };
        distinct(always.chain(names.into_iter().filter(varies).cloned()))
    }

    fn factor(&self, name: &str) -> Factor {
        let levels = self.trials.iter().filter_map(|trial| trial.identity.get(name));
        Factor { name: name.to_owned(), levels: distinct(levels.cloned()) }
    }

    /// The responses in the units of their observations.
    fn responses(&self) -> Result<BTreeMap<String, Response>, Refusal> {
        let mut responses: BTreeMap<String, Response> = BTreeMap::new();
        let measurements = self.trials.iter().flat_map(|trial| &trial.measurements);
        for ForeignMeasurement { response, unit, direction, additive, .. } in measurements {
            let new = || {
                let unit = self.unit_of(response, unit);
                Response { unit, direction: *direction, additive: *additive }
            };
            let known = responses.entry(response.clone()).or_insert_with(new);
            if known.unit == *unit && known.direction == *direction {
                continue;
            }
            let quantities = [&known.unit, unit].map(|unit| Quantity::of_unit(unit));
            let Some(_) = quantities[1].in_units_of(&quantities[0]) else {
                return Err(Refusal::whole(format!(
                    "{response} is in {:?} and in {unit:?}, which measure different things",
                    known.unit
                )));
            };
            known.direction = match (known.direction, *direction) {
                (known, Direction::Unknown) => known,
                (Direction::Unknown, other) => other,
                (known, other) if known == other => known,
                _ => {
                    return Err(Refusal::whole(format!(
                        "{response} is better the more and better the less in one file"
                    )));
                }
            };
        }
        Ok(responses)
    }

    /// The unit of a response: as it is written, or the usual one of its dimension if the file
    /// writes it in several.
    fn unit_of(&self, response: &str, unit: &str) -> String {
        let of_response = self.trials.iter().flat_map(|trial| &trial.measurements);
        let mut others = of_response.filter(|it| it.response == response && it.unit != unit);
        match others.next().and_then(|_| Quantity::of_unit(unit).usual_unit()) {
            Some(usual) => usual,
            None => unit.to_owned(),
        }
    }
}

fn trial(from: ForeignTrial, factors: &[String], responses: &BTreeMap<String, Response>) -> Trial {
    let levels = factors.iter().filter_map(|name| Some((name, from.identity.get(name)?)));
    let mut trial = Trial {
        name: from.name,
        levels: levels.map(|(name, level)| (name.clone(), level.clone())).collect(),
        identity: from.identity,
        block: from.block,
        seed: from.seed,
        session: from.session,
        is_summary: from.is_summary,
        started_unix_ns: from.started_unix_ns,
        environment: from.environment,
        meaning: from.meaning,
        problem: from.problem,
        ..Trial::default()
    };
    match from.outcome {
        TrialOutcome::Completed => {
            from.measurements.into_iter().for_each(|one| push(&mut trial, one, responses));
        }
        // Values before a failure are not those of a whole run.
        TrialOutcome::Failed(cause) => trial.ending = Some(Ending::failed(cause)),
        TrialOutcome::Skipped(why) => trial.skipped = Some(why),
    }
    trial
}

fn push(trial: &mut Trial, one: ForeignMeasurement, responses: &BTreeMap<String, Response>) {
    let ForeignMeasurement { response, part, unit, outcome, .. } = one;
    let to = responses.get(&response).map_or(unit.as_str(), |response| &response.unit);
    let factor = match to == unit {
        true => 1.0,
        false => Quantity::of_unit(&unit).in_units_of(&Quantity::of_unit(to)).unwrap_or(1.0),
    };
    match outcome {
        MeasurementOutcome::Failed(why) => drop(trial.lost.insert(response, why)),
        MeasurementOutcome::Values(mut samples) => {
            samples.iter_mut().for_each(|it| it.value = scaled(it.value, factor));
            let known = trial.values.iter_mut();
            let mut known = known.filter(|it| it.part == part && it.response == response);
            match known.next() {
                Some(values) => values.samples.extend(samples),
                None => trial.values.push(Values { part, response, samples }),
            }
        }
    }
}
