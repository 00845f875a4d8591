//! Experiments whose answer is known because it was put there.

use analysis::attribution::{Noise, Options, attribute};

use crate::support::{add, close, dataset};

/// A session of three commands, kernels × compilers × trials. The new compiler makes `compile`
/// cost 300 more, the new kernel makes `copy` cost 50 more, both together make `link` cost 40 more;
/// `idle` never changes.
fn session(trials: u32) -> analysis::Dataset {
    let mut found =
        dataset(&[("kernel", &["old", "new"]), ("compiler", &["v1", "v2"])], &[("cpu_s", "s")]);
    for trial in 0..trials {
        for (kernel, k) in [("old", 0.0), ("new", 1.0)] {
            for (compiler, c) in [("v1", 0.0), ("v2", 1.0)] {
                // Noise that is the same in every cell leaves all effects exact.
                let noise = f64::from(trial);
                let values = [
                    (Some("copy"), "cpu_s", 100.0 + 50.0 * k + noise),
                    (Some("compile"), "cpu_s", 200.0 + 300.0 * c),
                    (Some("link"), "cpu_s", 20.0 + 40.0 * k * c),
                    (Some("idle"), "cpu_s", 10.0),
                ];
                add(&mut found, &[kernel, compiler], &values);
            }
        }
    }
    found
}

#[test]
fn the_share_falls_on_the_planted_command_and_factor() {
    let found = attribute(&session(3), &Options::default()).unwrap();
    let step = &found.steps[0];
    close(step.after - step.before, 390.0);
    // Each factor gets half of what only both do together.
    let expected = [("kernel", 70.0), ("compiler", 320.0)];
    for (share, (factor, contribution)) in step.shares.iter().zip(expected) {
        assert_eq!(share.factor, factor);
        close(share.contribution, contribution);
    }
    let parts: Vec<&str> = step.parts.iter().map(|part| part.part.as_str()).collect();
    assert_eq!(parts, ["compile", "copy", "link", "idle"]);
    let of = |part: &str, factor: &str| {
        let part = step.parts.iter().find(|share| share.part == part).unwrap();
        part.factors.iter().find(|share| share.factor == factor).unwrap().contribution
    };
    for (part, kernel, compiler) in
        [("compile", 0.0, 300.0), ("copy", 50.0, 0.0), ("link", 20.0, 20.0), ("idle", 0.0, 0.0)]
    {
        close(of(part, "kernel"), kernel);
        close(of(part, "compiler"), compiler);
    }
}

#[test]
fn parts_sum_to_the_whole() {
    let found = attribute(&session(2), &Options::default()).unwrap();
    let step = &found.steps[0];
    close(step.parts.iter().map(|part| part.percent.unwrap()).sum(), 100.0);
    for share in &step.shares {
        let of_parts = step.parts.iter().flat_map(|part| &part.factors);
        let sum: f64 =
            of_parts.filter(|part| part.factor == share.factor).map(|part| part.contribution).sum();
        close(sum, share.contribution);
    }
    close(step.shares.iter().map(|share| share.percent.unwrap()).sum(), 100.0);
}

#[test]
fn three_factors_divide_the_whole() {
    let names: &[(&str, &[&str])] = &[("a", &["0", "1"]), ("b", &["0", "1"]), ("c", &["0", "1"])];
    let mut found = dataset(names, &[("faults", "faults")]);
    for cell in 0..8_u32 {
        let at = |bit: u32| f64::from(cell >> bit & 1);
        let levels: Vec<String> = (0..3).map(|bit| (cell >> bit & 1).to_string()).collect();
        let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
        // a alone 10, b alone 20, all three together 30 more.
        let value = 100.0 + 10.0 * at(0) + 20.0 * at(1) + 30.0 * at(0) * at(1) * at(2);
        for noise in [-1.0, 1.0] {
            add(&mut found, &levels, &[(None, "faults", value + noise)]);
        }
    }
    let step = attribute(&found, &Options::default()).unwrap().steps.remove(0);
    for (share, expected) in step.shares.iter().zip([20.0, 30.0, 10.0]) {
        close(share.contribution, expected);
    }
    close_bounds(step.shares[2].order_bounds, (0.0, 50.0));
}

#[track_caller]
fn close_bounds(found: Option<(f64, f64)>, expected: (f64, f64)) {
    crate::support::close_interval(found, expected);
}

#[test]
fn seeds_of_a_deterministic_machine_are_blocks() {
    let mut found = session(3);
    found.deterministic = true;
    for (index, trial) in found.trials.iter_mut().enumerate() {
        trial.seed = Some(index as u64 / 4);
    }
    let outcome = attribute(&found, &Options::default()).unwrap();
    assert_eq!(outcome.noise, Noise::Seeds);
    assert_eq!(outcome.overall.additive.terms[0].name, "blocks");
    let one_seed = attribute(&session(1), &Options::default()).unwrap();
    assert_eq!(one_seed.noise, Noise::Absent);
    assert_eq!(one_seed.overall.additive.total.interval, None);
}

#[test]
fn a_counter_is_priced_from_the_trials() {
    let mut found =
        dataset(&[("system", &["old", "new"])], &[("cpu_s", "s"), ("faults", "faults")]);
    // 10 ms a fault and 5 s of something else that the new system costs.
    for (system, extra, faults) in
        [("old", 0.0, [1000.0, 1100.0, 1200.0]), ("new", 5.0, [2000.0, 2100.0, 2200.0])]
    {
        for faults in faults {
            let seconds = 20.0 + 0.010 * faults + extra;
            add(&mut found, &[system], &[(None, "cpu_s", seconds), (None, "faults", faults)]);
        }
    }
    let mediation = attribute(&found, &Options::default()).unwrap().mediation.unwrap();
    close(mediation.unit_cost, 0.010);
    close(mediation.steps[0].explained, 10.0);
    close(mediation.steps[0].percent.unwrap(), 100.0 * 10.0 / 15.0);
}

#[test]
fn other_factors_are_averaged_over_within_their_levels() {
    let options = Options { factors: vec!["compiler".to_owned()], ..Options::default() };
    let found = attribute(&session(2), &options).unwrap();
    assert!(found.aside[0].starts_with("averaged over kernel"), "{:?}", found.aside);
    close(found.overall.additive.total.value, 320.0);
}

/// A half and a quarter of all combinations: the last factors are products of the others.
fn fraction(factors: usize) -> analysis::Dataset {
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let levels: &[&str] = &["before", "after"];
    let named: Vec<(&str, &[&str])> = NAMES[..factors].iter().map(|name| (*name, levels)).collect();
    let mut set = dataset(&named, &[("cpu_s", "s")]);
    for cell in 0..16_usize {
        let bit = |factor: usize| cell >> factor & 1;
        let e =
            if factors == 5 { bit(0) + bit(1) + bit(2) + bit(3) } else { bit(0) + bit(1) + bit(2) };
        let all = [bit(0), bit(1), bit(2), bit(3), e % 2, (bit(1) + bit(2) + bit(3)) % 2];
        let rises = [1.0, 0.5, 0.2, 0.1, 2.0, 0.3];
        let value: f64 =
            3.0 + all[..factors].iter().zip(rises).map(|(on, rise)| *on as f64 * rise).sum::<f64>();
        let names: Vec<&str> = all[..factors].iter().map(|on| levels[*on]).collect();
        for noise in [-0.01, 0.01] {
            add(&mut set, &names, &[(None, "cpu_s", value + noise)]);
        }
    }
    set
}

#[test]
fn a_fraction_tells_effects_and_shares_of_what_was_not_run() {
    for (factors, rises) in [(5, 3.8), (6, 4.1)] {
        let found = attribute(&fraction(factors), &Options::default()).unwrap();
        let step = &found.steps[0];
        close(step.before, 3.0);
        close(step.after, 3.0 + rises);
        let shares: Vec<f64> = step.shares.iter().filter_map(|share| share.percent).collect();
        close(shares.iter().sum(), 100.0);
        close(shares[4], 100.0 * 2.0 / rises);
        assert!(step.shares_note.as_ref().unwrap().contains("were not run"));
        assert_eq!(step.scales.additive.interactions.is_empty(), factors == 6);
    }
}
