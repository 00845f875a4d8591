//! The analysis of factorial experiments against statsmodels; `golden/factorial.py` wrote the file.

use serde_json::Value;
use stats::{
    Estimate, Factor, Factorial, FactorialTrial, Fit, Scale, box_cox, box_cox_interaction_f, fit,
    fit_to_order, interaction_f,
};

const GOLDEN: &str = include_str!("golden/factorial.json");

fn golden(part: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(GOLDEN).expect("a JSON file");
    file[part].as_array().expect("an array").clone()
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {case}"))
}

fn index(value: &Value) -> usize {
    value.as_u64().expect("an index") as usize
}

fn indices(value: &Value) -> Vec<usize> {
    value.as_array().expect("an array").iter().map(index).collect()
}

/// The name that [`data`] gives a factor.
fn factor_name(index: &Value) -> String {
    format!("f{index}")
}

fn data(case: &Value) -> Factorial {
    let factor = |(number, count): (usize, usize)| Factor {
        name: format!("f{number}"),
        levels: (0..count).map(|level| level.to_string()).collect(),
    };
    let observation = |each: &Value| FactorialTrial {
        levels: indices(&each["levels"]),
        block: each["block"].as_u64().map(|block| block as usize),
        value: number(each, "value"),
    };
    Factorial {
        factors: indices(&case["levels"]).into_iter().enumerate().map(factor).collect(),
        observations: case["observations"]
            .as_array()
            .expect("an array")
            .iter()
            .map(observation)
            .collect(),
    }
}

fn scale(case: &Value) -> Scale {
    if case["scale"] == "log" { Scale::Log } else { Scale::Additive }
}

fn fitted(case: &Value) -> Fit {
    let confidence = number(case, "confidence");
    fit_to_order(&data(case), scale(case), confidence, index(&case["order"])).expect("a fit")
}

fn assert_close(actual: f64, expected: f64, what: &str) {
    let error = (actual - expected).abs() / actual.abs().max(expected.abs()).max(1e-9);
    assert!(error <= 1e-6, "{what}: {actual}, not {expected}");
}

fn assert_estimate(actual: Estimate, expected: &Value, what: &str) {
    let (low, high) = actual.interval.expect("an interval");
    assert_close(actual.value, number(expected, "value"), what);
    assert_close(low, number(expected, "low"), what);
    assert_close(high, number(expected, "high"), what);
    assert_close(actual.f.expect("noise"), number(expected, "f"), what);
    assert_close(actual.p.expect("noise"), number(expected, "p"), what);
}

#[test]
fn fits_agree_with_statsmodels() {
    let cases = golden("fits");
    assert!(cases.len() >= 14);
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let found = fitted(case);
        assert_eq!(found.residual_df, index(&case["residual_df"]), "{name}");
        assert_close(found.sigma.unwrap(), number(case, "sigma"), name);
        assert_estimate(found.total, &case["total"], name);
        for (cell, expected) in found.cells.iter().zip(case["fitted"].as_array().unwrap()) {
            assert_close(cell.fitted, expected.as_f64().unwrap(), name);
        }
        let effects = case["main_effects"].as_array().unwrap();
        assert_eq!(found.main.len(), effects.len());
        for (effect, expected) in found.main.iter().zip(effects) {
            assert_eq!(effect.factor, factor_name(&expected["factor"]));
            assert_eq!(effect.level, expected["level"].to_string());
            assert_estimate(effect.figure, expected, name);
        }
        let effects = case["simple_effects"].as_array().unwrap();
        assert_eq!(found.simple.len(), effects.len());
        for (effect, expected) in found.simple.iter().zip(effects) {
            assert_eq!(effect.factor, factor_name(&expected["factor"]));
            assert_eq!(
                effect.cell,
                indices(&expected["cell"]).iter().map(usize::to_string).collect::<Vec<_>>()
            );
            assert_estimate(effect.figure, expected, name);
        }
        let effects = case["interactions"].as_array().unwrap();
        assert_eq!(found.interactions.len(), effects.len());
        for (effect, expected) in found.interactions.iter().zip(effects) {
            let factors = [0, 1].map(|index| factor_name(&expected["factors"][index]));
            assert_eq!(effect.factors, factors.into());
            let levels = [0, 1].map(|index| expected["levels"][index].to_string());
            assert_eq!(effect.levels, levels.into());
            assert_estimate(effect.figure, expected, name);
        }
        let terms = case["terms"].as_array().unwrap();
        assert_eq!(found.terms.len(), terms.len());
        for expected in terms {
            let factors: Vec<String> =
                expected["factors"].as_array().unwrap().iter().map(factor_name).collect();
            let named = if factors.is_empty() { "blocks".to_owned() } else { factors.join(" × ") };
            let term = found.terms.iter().find(|term| term.name == named).unwrap();
            assert_eq!(term.df, index(&expected["df"]));
            assert_close(term.sum_of_squares, number(expected, "sum_of_squares"), name);
            assert_close(term.f.unwrap(), number(expected, "f"), name);
            assert_close(term.p.unwrap(), number(expected, "p"), name);
        }
    }
}

fn hunt(name: &str, on: &str) -> Fit {
    let cases = golden("fits");
    let case = cases.iter().find(|case| case["name"] == name && case["scale"] == on);
    let case = case.expect("a case of that name");
    fit(&data(case), scale(case), 0.95).expect("a fit")
}

/// Fails unless the estimate prints as `expected`, value and interval.
fn assert_printed(estimate: Estimate, decimals: usize, expected: &str) {
    let (low, high) = estimate.interval.expect("an interval");
    let value = estimate.value;
    assert_eq!(format!("{value:.decimals$} [{low:.decimals$}, {high:.decimals$}]"), expected);
}

/// Hunt's experiment 4 (1973): page faults of two PL/1 compilers on two systems.
#[test]
fn effects_of_compiler_and_system_are_the_published_ones() {
    let log = hunt("17.11 v 18.9", "log");
    assert_eq!(log.residual_df, 8);
    assert_eq!(format!("{:.5}", log.sigma.unwrap()), "0.01789");
    assert_printed(log.main[0].figure, 4, "2.9632 [2.8934, 3.0346]");
    assert_printed(log.main[1].figure, 4, "1.1979 [1.1697, 1.2268]");
    assert_printed(log.interactions[0].figure, 4, "0.8767 [0.8359, 0.9195]");
    assert_eq!(format!("{:.2}", log.interactions[0].figure.f.unwrap()), "40.57");
    assert_eq!(format!("{:.5}", log.interactions[0].figure.p.unwrap()), "0.00022");
    assert_eq!(format!("{:.4}", log.total.value), "3.5496");
    let squares: Vec<String> =
        log.terms.iter().map(|term| format!("{:.5}", term.sum_of_squares)).collect();
    assert_eq!(squares, ["3.53984", "0.09784", "0.01298"]);

    let additive = hunt("17.11 v 18.9", "additive");
    assert_printed(additive.main[0].figure, 1, "4186.8 [4091.6, 4282.1]");
    assert_printed(additive.main[1].figure, 1, "627.5 [532.2, 722.8]");
    assert_printed(additive.interactions[0].figure, 2, "199.67 [9.15, 390.18]");
    assert_eq!(format!("{:.2}", additive.interactions[0].figure.f.unwrap()), "5.84");
    assert_eq!(format!("{:.3}", additive.interactions[0].figure.p.unwrap()), "0.042");
    assert_eq!(format!("{:.2}", additive.total.value), "4814.33");
    let means: Vec<String> =
        additive.cells.iter().map(|cell| format!("{:.2}", cell.mean.unwrap())).collect();
    assert_eq!(means, ["1888.33", "2416.00", "5975.33", "6702.67"]);
}

#[test]
fn three_systems_and_the_later_release_are_the_published_ones() {
    let log = hunt("2x3", "log");
    let f: Vec<String> = log.terms.iter().map(|term| format!("{:.1}", term.f.unwrap())).collect();
    assert_eq!(f, ["22641.7", "251.1", "34.5"]);
    assert_eq!(format!("{:.2e}", log.terms[2].p.unwrap()), "1.06e-5");

    let later = hunt("17.11 v 18.11", "log");
    assert_eq!(format!("{:.4}", later.main[0].figure.value), "2.9840");
    assert_eq!(format!("{:.4}", later.main[1].figure.value), "1.1664");
    assert_eq!(format!("{:.4}", later.interactions[0].figure.value), "0.8891");

    let slight = hunt("18.9 v 18.11", "log").main[1].figure;
    assert_printed(slight, 4, "0.9737 [0.9547, 0.9931]");
    assert_eq!(format!("{:.3}", slight.p.unwrap()), "0.014");
}

#[test]
fn profiles_agree_with_statsmodels() {
    for case in golden("box_cox") {
        let data = data(&case);
        let found = box_cox(&data).unwrap().unwrap();
        for point in case["profile"].as_array().unwrap() {
            let f = box_cox_interaction_f(&data, number(point, "lambda")).unwrap().unwrap();
            assert_close(f, number(point, "interaction_f"), "interaction F");
        }
        let additive = found.additive_lambda.unwrap();
        assert!((additive - number(&case, "additive_lambda")).abs() < 1e-5, "{additive}");
        let likely = found.likely_lambda;
        assert!((likely - number(&case, "likely_lambda")).abs() < 1e-5, "{likely}");
    }
}

#[test]
fn interactions_nearly_vanish_between_root_and_identity() {
    let three = data(&golden("box_cox")[0]);
    let f = [0.0, 0.5, 0.75, 1.0]
        .map(|lambda| format!("{:.2}", box_cox_interaction_f(&three, lambda).unwrap().unwrap()));
    assert_eq!(f, ["34.48", "3.13", "0.12", "4.32"]);
    let f = [Scale::Log, Scale::Additive]
        .map(|scale| format!("{:.2}", interaction_f(&three, scale).unwrap().unwrap()));
    assert_eq!(f, ["34.48", "4.32"]);
}
