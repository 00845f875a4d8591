//! What each remedy for a workload brings, alone and together, as text.

use model::units::format_duration;
use serde::Serialize;

use crate::columns::aligned;
use crate::matrix_text::seeds_text;

/// What remedies bring.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIf {
    /// The machine in words.
    pub place: String,
    /// The program in words.
    pub program: String,
    /// The seeds of each figure.
    pub seeds: Vec<u64>,
    /// Elapsed time without any remedy, median, in ns.
    pub elapsed_ns: f64,
    /// Each remedy alone, the greatest speed-up first.
    pub alone: Vec<Tried>,
    /// Remedies on top of each other, in the order in which they are worth having.
    pub together: Vec<Tried>,
    /// Remedies that cannot be had or change nothing, with the reasons.
    pub left_out: Vec<(String, String)>,
}

/// A remedy that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// What people call it.
    pub name: String,
    /// What is done.
    pub about: String,
    /// The settings that it changes.
    pub settings: String,
    /// What it costs.
    pub price: String,
    /// Elapsed time with it, median, in ns.
    pub elapsed_ns: f64,
    /// Elapsed time before over that with it.
    pub gain: Gain,
    /// Elapsed time without any remedy over that with all so far.
    pub total: Gain,
}

/// A ratio of elapsed times over seeds (Hodges and Lehmann) with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Its estimate.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The whole result. Ends in a newline.
#[must_use]
pub fn whatif_text(found: &WhatIf) -> String {
    let mut text = format!(
        "{}\n{}, {}\nWithout a remedy: {}\n\nEach alone\n{}",
        found.place,
        found.program,
        seeds_text(&found.seeds),
        format_duration(found.elapsed_ns as u64),
        alone(&found.alone)
    );
    text += &match found.together.is_empty() {
        true => "\nNo remedy adds more than 1 % for certain.\n".to_owned(),
        false => {
            format!(
                "\nTogether, until nothing adds more than 1 % for certain\n{}",
                together(&found.together)
            )
        }
    };
    for (name, reason) in &found.left_out {
        text += &format!("\nLeft out: {name}: {reason}");
    }
    if !found.left_out.is_empty() {
        text.push('\n');
    }
    text + "\nSpeed-up: elapsed time before over that with the remedy, of all pairs of seeds \
            (Hodges-Lehmann), with an exact interval of 95 % or the widest that so few seeds \
            allow. Of remedies that bring the same (within 1 %) the cheapest comes first.\n"
}

fn alone(tried: &[Tried]) -> String {
    let head = ["remedy", "cost", "elapsed", "speed-up", "interval", "setting"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(tried.iter().map(|tried| {
        vec![
            tried.name.clone(),
            tried.price.clone(),
            format_duration(tried.elapsed_ns as u64),
            times(tried.gain.ratio),
            interval(&tried.gain),
            tried.settings.clone(),
        ]
    }));
    aligned(&cells)
}

fn together(tried: &[Tried]) -> String {
    let head = ["", "remedy", "cost", "elapsed", "adds", "interval", "in all"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(tried.iter().enumerate().map(|(index, tried)| {
        vec![
            (index + 1).to_string(),
            tried.name.clone(),
            tried.price.clone(),
            format_duration(tried.elapsed_ns as u64),
            times(tried.gain.ratio),
            interval(&tried.gain),
            times(tried.total.ratio),
        ]
    }));
    aligned(&cells)
}

/// A ratio with three digits.
fn times(ratio: f64) -> String {
    match ratio {
        large if large >= 99.95 => format!("{large:.0}"),
        large if large >= 9.995 => format!("{large:.1}"),
        small => format!("{small:.2}"),
    }
}

fn interval(gain: &Gain) -> String {
    format!("{} .. {}", times(gain.low), times(gain.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_stand_in_two_tables() {
        let gain = |ratio| Gain { ratio, low: 0.9 * ratio, high: 1.1 * ratio };
        let tried = |name: &str, ratio: f64| Tried {
            name: name.to_owned(),
            about: String::new(),
            settings: "reload=group".to_owned(),
            price: "kernel patch".to_owned(),
            elapsed_ns: 39.5e9,
            gain: gain(ratio),
            total: gain(2.0 * ratio),
        };
        let found = WhatIf {
            place: "simulated sparcstation1 of 24M, hat old".to_owned(),
            program: "vmtest of 24M".to_owned(),
            seeds: vec![1, 2, 3],
            elapsed_ns: 230e9,
            alone: vec![tried("software cache of pmegs", 5.8), tried("shared pmegs", 123.4)],
            together: vec![tried("software cache of pmegs", 5.8)],
            left_out: vec![("no swapping".to_owned(), "it changes nothing here".to_owned())],
        };
        insta::assert_snapshot!(whatif_text(&found), @r"
        simulated sparcstation1 of 24M, hat old
        vmtest of 24M, seeds 1..3
        Without a remedy: 230s

        Each alone
        remedy                   cost          elapsed  speed-up  interval      setting
        software cache of pmegs  kernel patch  39.5s        5.80  5.22 .. 6.38  reload=group
        shared pmegs             kernel patch  39.5s         123  111 .. 136    reload=group

        Together, until nothing adds more than 1 % for certain
           remedy                   cost          elapsed  adds  interval      in all
        1  software cache of pmegs  kernel patch  39.5s    5.80  5.22 .. 6.38    11.6

        Left out: no swapping: it changes nothing here

        Speed-up: elapsed time before over that with the remedy, of all pairs of seeds (Hodges-Lehmann), with an exact interval of 95 % or the widest that so few seeds allow. Of remedies that bring the same (within 1 %) the cheapest comes first.
        ");
        let none = WhatIf { together: Vec::new(), left_out: Vec::new(), ..found };
        assert!(whatif_text(&none).contains("\nNo remedy adds more than 1 % for certain.\n"));
    }
}
