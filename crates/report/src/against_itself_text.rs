//! An experiment of something against itself as text.

use analysis::AgainstItself;
use stats::Verdict;

use crate::columns::aligned;
use crate::comparison_text;

/// The comparison of the two arms, the noise of each cell, and how often noise alone raises an
/// alarm. Ends in a newline.
#[must_use]
pub fn against_itself_text(found: &AgainstItself) -> String {
    let mut text = comparison_text(&found.comparison);
    let mut rows = vec![vec!["response".to_owned(), "cell".to_owned(), "noise".to_owned()]];
    rows.extend(found.floors.iter().map(|floor| {
        let noise = floor.noise.map_or_else(|| "-".to_owned(), percent);
        vec![floor.response.clone(), floor.label.clone(), format!("±{noise}")]
    }));
    text += "\nNoise floor: smaller differences than these are not seen here\n";
    text += &aligned(&rows);
    let AgainstItself { labellings, alarms, significant, .. } = found;
    let of = |count: u64| percent(count as f64 / (*labellings).max(1) as f64);
    text += &format!(
        "\nHad chance named the arms otherwise in each block ({labellings} ways), a verdict of \
         regression or improvement would have been given in {} of all cases, a significant \
         difference of any size in {}.\n",
        of(*alarms),
        of(*significant)
    );
    text + &format!("{}\n", conclusion(found))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn conclusion(found: &AgainstItself) -> String {
    let Some(cells) = Some(&found.comparison.cells).filter(|cells| !cells.is_empty()) else {
        return "Nothing was compared.".to_owned();
    };
    let exact = found.comparison.arms.iter().all(|arm| arm.deterministic);
    let alarm =
        cells.iter().any(|cell| matches!(cell.verdict, Verdict::Regression | Verdict::Improvement));
    match (alarm, exact) {
        (true, _) => {
            "ALARM: the two arms are the same, and yet a difference was found. Do not trust \
                      a comparison made here before the cause is known."
                .to_owned()
        }
        (false, true) => "The subject is deterministic: the same gives the same, and there is no \
                          noise to measure."
            .to_owned(),
        (false, false) => "No alarm: what is the same was not called different.".to_owned(),
    }
}
