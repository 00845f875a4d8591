//! What is asked of a comparison, and why it cannot be had.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Dataset, OUTCOME, Refused, Response};

/// What is compared if nothing is asked for: the first group of which one is there, else all.
const USUAL: [&[&str]; 9] = [
    &["delay_ns"],
    &["cpu_ns", "faults"],
    &["elapsed_s"],
    &["real_ns"],
    &["ns/op", "B/op", "allocs/op"],
    &["median_ms"],
    &["average_ns", "high_ns"],
    &[
        "wakeup_latency_p50_us",
        "wakeup_latency_p99_us",
        "request_latency_p50_us",
        "request_latency_p99_us",
        "rps_p50_per_s",
    ],
    &["average_ms", "average_us", "high_ms", "high_us", "deadlines_met_percent"],
];

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The factor whose levels are compared; `None` = the inputs.
    pub factor: Option<String>,
    /// What is compared; empty = what is usual.
    pub responses: Vec<String>,
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter.
    pub margin: f64,
    /// Chance of any wrong verdict.
    pub alpha: f64,
}

impl Default for Request {
    fn default() -> Self {
        let stats::Settings { margin, alpha } = stats::Settings::default();
        Self { factor: None, responses: Vec::new(), margin, alpha }
    }
}

impl Request {
    /// The responses to compare, with what they are.
    pub(super) fn responses(
        &self,
        sets: &[Dataset],
    ) -> Result<BTreeMap<String, Response>, Refused> {
        let known: BTreeMap<&String, &Response> =
            sets.iter().flat_map(|set| &set.responses).collect();
        let usual = || {
            let group =
                USUAL.iter().find(|group| known.keys().any(|name| group.contains(&name.as_str())));
            let names = group.map_or_else(
                || known.keys().map(|name| (*name).clone()).collect::<Vec<_>>(),
                |group| group.iter().map(|name| (*name).to_owned()).collect(),
            );
            names.into_iter().filter(|name| known.contains_key(name)).collect()
        };
        // Of several experiments the first one's author names what is of interest. Failures have
        // rows anyway; a row for every cell without one has to be asked for.
        let mut of_author = sets.first().map_or(Vec::new(), |set| set.wanted.clone());
        of_author.retain(|name| name != OUTCOME);
        let wanted = match (self.responses.is_empty(), of_author.is_empty()) {
            (false, _) => self.responses.clone(),
            (true, false) => of_author,
            (true, true) => usual(),
        };
        wanted
            .into_iter()
            .map(|name| match known.get(&name) {
                Some(response) => Ok((name, (*response).clone())),
                // Nothing is better than less of them.
                None if name == OUTCOME => Ok((name, Response::default())),
                None => {
                    let known: Vec<&str> = known.keys().map(|name| name.as_str()).collect();
                    let known = known.join(", ");
                    Err(Refused(format!("no input has the response {name:?}; there are {known}")))
                }
            })
            .collect()
    }

    /// What else was measured, as a note.
    pub(super) fn not_compared(
        &self,
        sets: &[Dataset],
        compared: &BTreeMap<String, Response>,
    ) -> Option<String> {
        let all = sets.iter().flat_map(|set| set.responses.keys());
        let others: BTreeSet<&str> =
            all.filter(|name| !compared.contains_key(*name)).map(String::as_str).collect();
        let others = others.into_iter().collect::<Vec<_>>().join(", ");
        (!others.is_empty()).then(|| format!("also measured, see --response: {others}"))
    }
}

/// Factors with their levels, for a message.
pub(super) fn factors_text(set: &Dataset) -> String {
    let several = set.factors.iter().filter(|factor| factor.levels.len() > 1);
    let texts: Vec<String> =
        several.map(|factor| format!("{} ({})", factor.name, factor.levels.join(", "))).collect();
    if texts.is_empty() { "none with two levels".to_owned() } else { texts.join(", ") }
}
