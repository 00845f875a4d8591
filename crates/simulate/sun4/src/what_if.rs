//! What remedies gain for a workload, each alone and the best ones together.

use serde::Serialize;

use crate::{REMEDIES, Remedy, Setup, Workload};

/// A remedy is added if it gains this much; two that differ by less are equally good.
const LEAST_GAIN: f64 = 1.01;
const CONFIDENCE: f64 = 0.95;

/// The gains of remedies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIf {
    /// Median elapsed time without any remedy, in ns.
    pub elapsed_ns: f64,
    /// Each remedy alone, the greatest speed-up first.
    pub alone: Vec<Tried>,
    /// Remedies added one by one, the best first.
    pub together: Vec<Tried>,
    /// Remedies that are unavailable or change nothing, with the reasons.
    pub left_out: Vec<(String, String)>,
}

/// A remedy that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The remedy.
    #[serde(flatten)]
    pub remedy: Remedy,
    /// Median elapsed time with it, in ns.
    pub elapsed_ns: f64,
    /// Elapsed time without it over that with it.
    pub gain: Gain,
    /// Elapsed time without any remedy over that with all so far.
    pub total: Gain,
}

/// A ratio of elapsed times over seeds (Hodges-Lehmann) with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The estimate.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A machine with a workload, and the elapsed times of all seeds in ns.
#[derive(Clone)]
struct State {
    machine: (Setup, Workload),
    elapsed_ns: Vec<f64>,
}

/// Elapsed times of machines with workloads, as [`WhatIf::find`] needs them.
type Simulate<'a> = dyn Fn(&[(Setup, Workload)]) -> Vec<Vec<f64>> + 'a;

/// A remedy and the state that it leads to.
type Candidate = (&'static Remedy, State);

struct Search<'a> {
    first: State,
    simulate: &'a Simulate<'a>,
}

impl WhatIf {
    /// Tries all remedies. `simulate` returns the elapsed times in ns of each machine with its
    /// workload, of the same seeds for each.
    pub fn find(setup: Setup, workload: Workload, simulate: &Simulate<'_>) -> Self {
        let machine = (setup, workload);
        let elapsed_ns = simulate(std::slice::from_ref(&machine)).concat();
        let search = Search { first: State { machine, elapsed_ns }, simulate };
        let (alone, left_out) = search.alone();
        Self { elapsed_ns: search.first.median_ns(), alone, together: search.together(), left_out }
    }
}

impl Search<'_> {
    /// The states after each of these remedies; and remedies that change nothing, with reasons.
    fn candidates(
        &self,
        state: &State,
        remedies: &[&'static Remedy],
    ) -> (Vec<Candidate>, Vec<(String, String)>) {
        let (mut changing, mut machines, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for &remedy in remedies {
            let (mut setup, mut workload) = state.machine.clone();
            let why = match remedy.apply(&mut setup, &mut workload, &self.first.machine.1) {
                Ok(true) => {
                    changing.push(remedy);
                    machines.push((setup, workload));
                    continue;
                }
                Ok(false) => format!("{} changes nothing here", remedy.settings),
                Err(why) => why,
            };
            left_out.push((remedy.name.clone(), why));
        }
        let times = (self.simulate)(&machines);
        let states = machines.into_iter().zip(times);
        let states = states.map(|(machine, elapsed_ns)| State { machine, elapsed_ns });
        (changing.into_iter().zip(states).collect(), left_out)
    }

    /// Each remedy alone, the greatest gain first.
    fn alone(&self) -> (Vec<Tried>, Vec<(String, String)>) {
        let all: Vec<_> = REMEDIES.iter().collect();
        let (candidates, left_out) = self.candidates(&self.first, &all);
        let tried = candidates.iter().map(|(remedy, with)| self.tried(remedy, &self.first, with));
        let mut alone: Vec<Tried> = tried.collect();
        // A stable sort: of equal ones the cheapest stays first.
        alone.sort_by(|one, other| other.gain.ratio.total_cmp(&one.gain.ratio));
        (alone, left_out)
    }

    /// One remedy after the other: the one that gains most, of equals the cheapest, until none gains
    /// enough.
    fn together(&self) -> Vec<Tried> {
        let (mut state, mut added) = (self.first.clone(), Vec::new());
        let mut open: Vec<&'static Remedy> = REMEDIES.iter().collect();
        loop {
            let (mut candidates, _) = self.candidates(&state, &open);
            // What may be chance alone is not added.
            let sure = |gain: Gain| if gain.low > 1.0 { gain.ratio } else { 0.0 };
            let gains = candidates.iter().map(|(_, with)| sure(state.gain(with)));
            let gains: Vec<f64> = gains.collect();
            let most = gains.iter().copied().fold(0.0, f64::max);
            let best = gains.iter().position(|gain| *gain * LEAST_GAIN >= most);
            let Some(best) = best.filter(|_| most > LEAST_GAIN) else { return added };
            let (remedy, next) = candidates.swap_remove(best);
            added.push(self.tried(remedy, &state, &next));
            open.retain(|other| other.name != remedy.name);
            state = next;
        }
    }

    fn tried(&self, remedy: &Remedy, before: &State, with: &State) -> Tried {
        Tried {
            remedy: remedy.clone(),
            elapsed_ns: with.median_ns(),
            gain: before.gain(with),
            total: self.first.gain(with),
        }
    }
}

impl State {
    fn median_ns(&self) -> f64 {
        stats::median(&self.elapsed_ns).unwrap_or(0.0)
    }

    /// The speed-up from this state to another.
    fn gain(&self, with: &Self) -> Gain {
        let ratio = stats::hodges_lehmann_ratio(&with.elapsed_ns, &self.elapsed_ns, CONFIDENCE);
        // Times are positive and there is at least one, so there is a ratio.
        ratio.map_or(Gain { ratio: 1.0, low: 0.0, high: f64::INFINITY }, |it| Gain {
            ratio: it.ratio,
            low: it.low,
            high: it.high,
        })
    }
}
