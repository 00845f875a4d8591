//! The search for the limit at which work begins to pay, on work whose needs are known.

use analysis::sweep::{
    Curve, Point, PriceKnee, PriceSettings, Priced, Range, Search, SearchSettings, Settings,
    Spacing, SweepResult, find,
};
use proptest::prelude::*;

use crate::subject::Noise;

const MIB: f64 = 1_048_576.0;

/// Work in a control group.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// The size it needs, in bytes.
    needs: f64,
    /// Its peak without a limit, over what it needs: page cache that is not used again.
    slack: f64,
    /// Extra cost for a relative lack of memory: 1 + steepness × (needs / limit - 1).
    steepness: f64,
    /// Below this part of what it needs it dies; 0 = never.
    dies: f64,
    /// Deviation of the logarithm of its cost.
    noise: f64,
}

const USUAL: Work =
    Work { needs: 412.0 * MIB, slack: 1.0, steepness: 20.0, dies: 0.45, noise: 0.01 };

impl Work {
    fn cost(&self, limit: f64) -> Option<f64> {
        let lack = (self.needs / limit - 1.0).max(0.0);
        (limit >= self.dies * self.needs).then_some(1e6 * (1.0 + self.steepness * lack))
    }

    /// The limit at which it costs 5 % more.
    fn knee(&self) -> f64 {
        self.needs / (1.0 + 0.05 / self.steepness)
    }

    fn measure(&self, noise: &mut Noise, level: f64, pass: u32) -> Point {
        let cost = self.cost(level).map(|cost| cost * noise.factor());
        let problem = cost.is_none().then(|| "out of memory".to_owned());
        let sizes = [("peak_bytes".to_owned(), level.min(self.needs * self.slack))].into();
        Point { level, pass, cost, problem, sizes, ..Point::default() }
    }
}

fn settings(budget: usize) -> SearchSettings {
    let find = Settings { price: Some(PriceSettings::default()), ..Settings::default() };
    SearchSettings { resolution: 0.05, coarse: 2, passes: 2, budget, find }
}

/// Searches from 16 GiB down to 16 MiB.
fn search(work: Work, budget: usize, seed: u64) -> (Curve, SweepResult) {
    let (first, last) = (16384.0 * MIB, 16.0 * MIB);
    let range = Range { first, last, spacing: Spacing::Geometric, quantum: 4096.0 };
    let settings = settings(budget);
    let search = Search::new(range, settings).unwrap();
    let mut noise = Noise::new(work.noise, seed);
    let (level_unit, parameter) = ("bytes".to_owned(), "sandbox.memory".to_owned());
    let mut curve = Curve { level_unit, parameter, ..Curve::default() };
    while let Some(batch) = search.next(&curve) {
        for (pass, level) in batch.measurements() {
            curve.points.push(work.measure(&mut noise, level, pass));
        }
        assert!(curve.points.len() <= budget, "the budget is kept");
    }
    let found = find(&curve, &settings.find);
    (curve, found)
}

fn priced(work: Work, seed: u64) -> (usize, Priced) {
    let (curve, found) = search(work, 20, seed);
    (curve.points.len(), found.priced.unwrap())
}

#[test]
fn a_knee_is_hit_within_three_percent_in_at_most_twelve_runs() {
    let (mut most, mut total, mut misses, mut rounds) = (0, 0, 0, 0);
    for seed in 0..100 {
        for (needs, slack) in [(48.0, 1.05), (412.0, 1.0), (412.0, 3.0), (3000.0, 1.2)] {
            let work = Work { needs: needs * MIB, slack, ..USUAL };
            let (runs, priced) = priced(work, seed);
            let knee = priced.knee.unwrap();
            let off = (knee.level / work.knee()).ln().abs();
            assert!(off <= 0.03, "{off}: {knee:?} of {work:?} after {runs} runs");
            misses += usize::from(!(knee.low <= work.knee() && work.knee() <= knee.high));
            assert!(knee.high <= 1.05 * work.needs, "narrow: {knee:?} of {work:?}");
            let recommended = priced.recommended.unwrap();
            let real = work.cost(recommended.level).unwrap() / 1e6;
            misses += usize::from(real > 1.05);
            (most, total, rounds) = (most.max(runs), total + runs, rounds + 1);
        }
    }
    assert!(most <= 12 && total <= 12 * rounds, "{most} at most, {total} in {rounds} searches");
    assert!(misses <= rounds / 20, "{misses} of {rounds}");
}

#[test]
fn the_limit_of_death_is_in_its_bracket_and_never_lost() {
    for (dies, slack) in [(0.45, 1.0), (0.8, 1.0), (0.97, 1.1), (1.0, 1.05)] {
        for seed in 0..20 {
            let work = Work { dies, slack, steepness: 3.0, ..USUAL };
            let (runs, priced) = priced(work, seed);
            let death = priced.death.unwrap();
            let fatal = work.dies * work.needs;
            assert!(death.first < fatal && fatal <= death.last, "{death:?} of {work:?}");
            assert!(death.last <= 1.25 * death.first, "{death:?} after {runs} runs");
            assert_eq!(death.reason, "out of memory");
            let recommended = priced.recommended.unwrap();
            assert!(recommended.level >= fatal, "{recommended:?}");
        }
    }
}

#[test]
fn work_that_costs_nothing_until_it_dies_has_no_knee() {
    let (mut false_knees, mut unknown, rounds) = (0, 0, 300);
    for seed in 0..rounds {
        let noise = [0.002, 0.01, 0.03][seed as usize % 3];
        let work = Work { steepness: 0.0, dies: [0.0, 0.5][seed as usize % 2], noise, ..USUAL };
        let (_, priced) = priced(work, seed);
        false_knees += u32::from(priced.knee.is_some());
        unknown += u32::from(priced.recommended.is_none());
    }
    assert!(false_knees <= 3, "{false_knees} false knees in {rounds} flat curves");
    assert!(unknown <= 15, "{unknown} of {rounds} without a recommendation");
}

#[test]
fn too_much_noise_gives_a_wide_interval_and_no_recommendation_that_fails() {
    let (mut failures, mut covered, rounds) = (0, 0, 100);
    for seed in 0..rounds {
        let work = Work { noise: 0.05, ..USUAL };
        let (_, priced) = priced(work, seed);
        let cost = priced.recommended.map(|it| work.cost(it.level).unwrap() / 1e6);
        failures += u32::from(cost.is_some_and(|cost| cost > 1.05));
        let knee = priced.knee;
        covered +=
            u32::from(knee.is_none_or(|knee| knee.low <= work.knee() && work.knee() <= knee.high));
    }
    assert!(failures <= 5, "{failures} of {rounds}");
    assert!(covered >= 95, "{covered} of {rounds}");
}

/// Runs that differ by 1 % or less, and needs from a third of the size without a limit to all of it.
#[test]
fn a_quiet_search_takes_at_most_twelve_runs() {
    let gradual = Work { steepness: 0.5, dies: 0.0, ..USUAL };
    let deadly = Work { steepness: 3.0, ..USUAL };
    let flat = Work { steepness: 0.0, ..USUAL };
    let works = [
        USUAL,
        Work { steepness: 1000.0, dies: 0.0, ..USUAL },
        Work { steepness: 2.0, ..gradual },
        gradual,
        deadly,
        Work { dies: 0.8, ..deadly },
        Work { dies: 0.97, ..deadly },
        Work { dies: 1.0, ..deadly },
        Work { dies: 0.0, noise: 0.002, ..flat },
        Work { dies: 0.0, ..flat },
        Work { dies: 0.5, ..flat },
    ];
    let (mut all, mut wide, rounds) = (0, 0, 100_u32);
    for work in &works {
        let (mut most, mut misses) = (0, 0);
        for seed in 0..rounds {
            // The knee lies between a third of the size without a limit and all of it.
            let above = 1.0 + 2.0 * f64::from(seed) / f64::from(rounds);
            let slack = (above * work.knee() / work.needs).max(1.0);
            let work = Work { slack, ..*work };
            let (runs, priced) = priced(work, seed.into());
            (most, all) = (most.max(runs), all + runs);
            let (cheap, dear) = priced.bracket();
            let is_wide = dear.is_some_and(|dear| cheap.level > 1.05 * dear.level);
            // With a cost this gradual 1 % of noise is 2 % of the limit.
            assert!(!is_wide || work.steepness == gradual.steepness, "{cheap:?}, {dear:?}");
            wide += u32::from(is_wide);
            let holds = |knee: PriceKnee| knee.low <= work.knee() && work.knee() <= knee.high;
            misses += u32::from(!priced.knee.is_none_or(holds));
            let recommended = priced.recommended.unwrap();
            misses += u32::from(work.cost(recommended.level).is_none_or(|cost| cost > 1.05e6));
        }
        assert!(most <= 12, "{most}: {work:?}");
        assert!(misses <= rounds / 20, "{misses} of {rounds}: {work:?}");
    }
    assert!(wide <= 2, "{wide} of {rounds}");
    let searches = works.len() * rounds as usize;
    assert!(all <= 11 * searches, "{all} in {searches} searches");
}

/// The first runs, all without a limit, are quicker than all others. A limit that the work does not
/// reach cannot be why.
#[test]
fn a_drift_after_the_first_runs_is_not_a_knee_far_above_the_size() {
    for seed in 0..20 {
        let range = Range {
            first: 16384.0 * MIB,
            last: 16.0 * MIB,
            spacing: Spacing::Geometric,
            quantum: 4096.0,
        };
        let settings = settings(20);
        let search = Search::new(range, settings).unwrap();
        let mut noise = Noise::new(0.01, seed);
        let (level_unit, parameter) = ("bytes".to_owned(), "sandbox.memory".to_owned());
        let mut curve = Curve { level_unit, parameter, ..Curve::default() };
        while let Some(batch) = search.next(&curve) {
            for (pass, level) in batch.measurements() {
                let mut point = USUAL.measure(&mut noise, level, pass);
                let drift = if curve.points.len() < 3 { 1.0 } else { 1.13 };
                point.cost = point.cost.map(|cost| drift * cost);
                curve.points.push(point);
            }
        }
        let priced = find(&curve, &settings.find).priced.unwrap();
        let most = 1.05 * USUAL.needs;
        assert!(priced.knee.is_none_or(|knee| knee.high <= most), "{:?}", priced.knee);
        assert!(priced.recommended.unwrap().level <= most, "{:?}", priced.recommended);
    }
}

#[test]
fn a_run_that_was_cut_off_before_what_another_one_took_is_not_a_death() {
    let point = |level: f64, cost: f64, is_lower_bound: bool| Point {
        level,
        cost: Some(cost),
        is_lower_bound,
        ..Point::default()
    };
    // The second run without a limit took longer than runs below were waited for.
    let points = vec![
        point(128.0, 0.1, false),
        point(128.0, 1.2, false),
        point(64.0, 0.5, false),
        point(32.0, 1.0, true),
    ];
    let mut curve = Curve { points, ..Curve::default() };
    curve.leave_out_small_bounds();
    let priced = Priced::of(&curve, PriceSettings::default(), 0.95).unwrap();
    assert_eq!(priced.death, None);
    let levels: Vec<f64> = priced.levels.iter().map(|it| it.level).collect();
    assert_eq!(levels, [128.0, 64.0], "what it costs there is not known");
}

#[test]
fn work_that_dies_without_a_limit_is_not_searched() {
    let work = Work { needs: 1e12, dies: 1.0, ..USUAL };
    let (curve, found) = search(work, 20, 1);
    assert_eq!((curve.points.len(), found.priced), (2, None));
}

#[test]
fn a_repeatable_subject_is_measured_once_a_level() {
    let find = Settings { price: Some(PriceSettings::default()), ..Settings::default() };
    let settings = SearchSettings { resolution: 0.05, coarse: 2, passes: 1, budget: 20, find };
    let range = Range { first: 4.0, last: 0.05, spacing: Spacing::Geometric, quantum: 0.001 };
    let search = Search::new(range, settings).unwrap();
    let mut curve = Curve { deterministic: true, ..Curve::default() };
    while let Some(batch) = search.next(&curve) {
        for (pass, level) in batch.measurements() {
            let cost = Some((0.7 / level).max(1.0));
            curve.points.push(Point { level, pass, cost, ..Point::default() });
        }
    }
    let knee = analysis::sweep::find(&curve, &find).priced.unwrap().knee.unwrap();
    assert!((knee.level / (0.7 / 1.05)).ln().abs() < 0.03, "{knee:?}");
    let mut levels: Vec<f64> = curve.points.iter().map(|point| point.level).collect();
    let count = levels.len();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    assert_eq!(levels.len(), count);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the work is: the search ends within its budget, what is asserted is in order, and
    /// the same measurements give the same search.
    #[test]
    fn any_work_is_searched_to_an_end(
        needs in 20.0..8000.0f64, slack in 1.0..4.0f64, steepness in 0.0..1000.0f64,
        dies in 0.0..1.0f64, noise in 0.0..0.2f64, budget in 2_usize..25, seed in any::<u64>(),
    ) {
        let budget = budget.max(4);
        let work = Work { needs: needs * MIB, slack, steepness, dies, noise };
        let (curve, found) = search(work, budget, seed);
        prop_assert_eq!(&search(work, budget, seed).0, &curve);
        let priced = found.priced.unwrap();
        prop_assert!(priced.levels.windows(2).all(|pair| pair[0].level > pair[1].level));
        if let Some(knee) = priced.knee {
            prop_assert!(knee.low <= knee.dear && knee.dear <= knee.level, "{knee:?}");
            prop_assert!(knee.level <= knee.cheap && knee.cheap <= knee.high, "{knee:?}");
        }
        if let (Some(death), Some(recommended)) = (&priced.death, &priced.recommended) {
            prop_assert!(death.first < recommended.level);
            prop_assert!(death.first < dies * needs * MIB && death.last >= dies * needs * MIB);
        }
    }
}
