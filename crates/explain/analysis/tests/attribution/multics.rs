//! Hunt's experiments 1 and 4 against numbers that NumPy 2.4 and SciPy 1.17 gave.
//!
//! With m the cell means (of logarithms for ratios), n trials in each cell and s² the pooled
//! variance within cells on d degrees of freedom, an effect is Σ w m ± t(0.975; d) √(s² Σ w²/n),
//! and its F is (Σ w m)² / (s² Σ w²/n). Shapley shares of two factors are the mean of first and
//! last place.

use analysis::attribution::{CostOrigin, Noise, Options, Scale, Step, attribute};

use crate::support::{close, close_interval, experiment1, experiment4};

/// An effect as SciPy has it.
struct Expected {
    value: f64,
    interval: (f64, f64),
    f: f64,
}

#[track_caller]
fn same(found: &analysis::attribution::Figure, expected: &Expected) {
    close(found.value, expected.value);
    close_interval(found.interval, expected.interval);
    close(found.f.unwrap(), expected.f);
}

fn step(level: &str) -> Step {
    let steps = attribute(&experiment4(), &Options::default()).unwrap().steps;
    steps.into_iter().find(|step| step.factors[1].levels[1] == level).unwrap()
}

#[test]
fn ratios_of_experiment_4() {
    let scales = step("18.9").scales;
    let log = scales.log.unwrap();
    assert_eq!(log.residual_df, 8);
    close(log.sigma.unwrap(), 0.0178885693901293);
    let compiler = Expected {
        value: 2.9631514994651478,
        interval: (2.893413813585997, 3.0345700181408186),
        f: 11061.96628866085,
    };
    same(&log.main[0].figure, &compiler);
    let system = Expected {
        value: 1.1979250783430326,
        interval: (1.169731945850373, 1.2267977278161153),
        f: 305.74688589717164,
    };
    same(&log.main[1].figure, &system);
    let interaction = Expected {
        value: 0.8767270387731388,
        interval: (0.8359451617744248, 0.9194984739002928),
        f: 40.56532835842404,
    };
    same(&log.interactions[0].figure, &interaction);
    close(log.interactions[0].figure.p.unwrap(), 0.00021614767875501896);
    close(log.total.value, 3.549633492139059);
    for (name, value) in [
        ("pl1_version", 3.539839332139992),
        ("system", 0.09783928319213382),
        ("pl1_version × system", 0.012980942184891315),
    ] {
        let term = log.terms.iter().find(|term| term.name == name).unwrap();
        close(term.sum_of_squares, value);
    }
}

#[test]
fn differences_of_experiment_4() {
    let scales = step("18.9").scales;
    let additive = scales.additive;
    let compiler = Expected {
        value: 4186.833333333334,
        interval: (4091.5750778290135, 4282.091588837655),
        f: 10272.7391870554,
    };
    same(&additive.main[0].figure, &compiler);
    let system = Expected {
        value: 627.5,
        interval: (532.2417444956798, 722.7582555043211),
        f: 230.75035405577026,
    };
    same(&additive.main[1].figure, &system);
    let interaction = Expected {
        value: 199.66666666666697,
        interval: (9.150155658025625, 390.18317767530834),
        f: 5.840715599615847,
    };
    same(&additive.interactions[0].figure, &interaction);
    close(additive.interactions[0].figure.p.unwrap(), 0.04206236628233797);
    close(additive.total.value, 4814.333333333334);
    assert_eq!(scales.scale, Scale::Additive);
    assert!(scales.reason.contains("F = 5.84"), "{}", scales.reason);
    assert!(scales.reason.contains("40.57"), "{}", scales.reason);
}

#[test]
fn the_system_costs_each_compiler_about_the_same() {
    for (level, one, two, one_ratio, two_ratio) in [
        ("18.9", 527.6666666666667, 727.3333333333339, 1.2793738114904953, 1.121661613231967),
        ("18.11", 447.33333333333326, 596.3333333333339, 1.2370297961244967, 1.0998250317394775),
    ] {
        let scales = step(level).scales;
        for (version, difference, ratio) in [("one", one, one_ratio), ("two", two, two_ratio)] {
            let find = |effects: &analysis::attribution::Effects| {
                let mut all = effects.simple.iter();
                all.find(|e| e.factor == "system" && e.cell == [version, level]).unwrap().figure
            };
            close(find(&scales.additive).value, difference);
            close(find(scales.log.as_ref().unwrap()).value, ratio);
        }
    }
}

#[test]
fn shares_of_experiment_4_and_their_bounds() {
    let found = step("18.9");
    for (shares, share, bounds) in [
        (&found.shares, 86.96600429273695, (84.89233538738488, 89.03967319808903)),
        (&found.log_shares, 85.74481878027265, (80.5524058901978, 90.93723167034751)),
    ] {
        close(shares[0].percent.unwrap(), share);
        close(shares[1].percent.unwrap(), 100.0 - share);
        close_interval(shares[0].order_bounds, bounds);
        close_interval(shares[1].order_bounds, (100.0 - bounds.1, 100.0 - bounds.0));
        close(shares.iter().map(|share| share.percent.unwrap()).sum(), 100.0);
    }
    let later = step("18.11");
    close(later.shares[0].percent.unwrap(), 88.85765124555158);
    close(later.log_shares[0].percent.unwrap(), 87.65762656394872);
}

#[test]
fn what_one_revert_gives_back() {
    let found = step("18.9");
    let compiler = &found.reverts[0];
    assert_eq!((compiler.factor.as_str(), compiler.to.as_str()), ("pl1_version", "one"));
    close(compiler.left, 2416.0);
    close(compiler.change.value, 2416.0 - 6702.666666666667);
    close(compiler.percent.unwrap(), 89.03967319808903);
    let system = &found.reverts[1];
    close(system.change.value, -727.3333333333339);
    close_interval(system.change.interval, (-862.0488501955458, -592.6178164711221));
    close(system.ratio.unwrap().value, 1.0 / 1.121661613231967);
}

#[test]
fn all_three_systems_and_the_last_improvement() {
    let found = attribute(&experiment4(), &Options::default()).unwrap();
    let log = found.overall.log.as_ref().unwrap();
    for (index, f) in [22641.733410639477, 251.05362793529275, 34.48058189269303].iter().enumerate()
    {
        close(log.terms[index].f.unwrap(), *f);
    }
    close(log.terms[2].p.unwrap(), 1.060295753736697e-05);
    close(found.overall.additive.terms[2].f.unwrap(), 4.321733703808317);
    assert_eq!(found.overall.scale, Scale::Additive);
    // Joint F of the interaction of y^λ (ln y at 0): 3 Σ (m_ij - m_i. - m_.j + m..)² / 2 / s².
    let profile = [
        (0.0, 34.48058189269303),
        (0.25, 14.984059309793553),
        (0.5, 3.125640750752826),
        (0.75, 0.12215465539504103),
        (1.0, 4.321733703808317),
    ];
    for ((power, f), (expected_power, expected)) in found.overall.profile.iter().zip(profile) {
        close(*power, expected_power);
        close(*f, expected);
    }
    assert_eq!(found.overall.profile.len(), profile.len());
    assert!((found.overall.additive_power.unwrap() - 0.71).abs() < 0.01);
    let latest = &found.neighbours[0];
    assert_eq!(
        (latest.additive.level.as_str(), latest.additive.against.as_str()),
        ("18.11", "18.9")
    );
    let ratio = latest.log.as_ref().unwrap().figure;
    close(ratio.value, 0.9736933934861924);
    close_interval(ratio.interval, (0.9546834653689293, 0.993081852687456));
    close(ratio.p.unwrap(), 0.014272981765340172);
    close(latest.additive.figure.value, -105.66666666666652);
    assert_eq!(found.noise, Noise::Trials);
}

#[test]
fn experiment_1_and_what_paging_explains_of_it() {
    let options = Options { unit_cost_ns: Some(8e6), per: Some(6.0), ..Options::default() };
    let found = attribute(&experiment1(), &options).unwrap();
    assert_eq!(found.response, "cpu_s");
    let log = found.overall.log.as_ref().unwrap();
    close(log.total.value, 1.492484121797523);
    close_interval(log.total.interval, (1.3683704286306508, 1.6278551532619907));
    close(log.total.p.unwrap(), 7.516863823229982e-05);
    close(found.overall.additive.total.value, 65.75);
    close_interval(found.overall.additive.total.interval, (50.07419234665742, 81.42580765334259));
    let mediation = found.mediation.unwrap();
    assert_eq!(mediation.cost_origin, CostOrigin::Given);
    let paging = &mediation.steps[0];
    close(paging.counted, 40e3);
    close(paging.explained, 53.333333333333336);
    close(paging.percent.unwrap(), 81.11533586818757);
    close(paging.cost_of_all.unwrap(), 0.009_862_5);
}
