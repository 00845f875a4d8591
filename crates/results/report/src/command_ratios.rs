//! How a command under a load compares, in words, in cells and as a tone: alike for its times and
//! for what it printed.

use analysis::responsiveness::Ratio;
use model::BASELINE;
use render::{Cell, Tone, Verdict, format};

/// A command and its load in a sentence.
pub(crate) fn label(command: &str, load: &str) -> String {
    match load == BASELINE {
        true => command.to_owned(),
        false => format!("{command} under {load}"),
    }
}

/// A sentence with the ratios to the same command without load and to the first command.
pub(crate) fn compared(
    mut text: String,
    [to_noload, to_first]: [Option<Ratio>; 2],
    more_is_better: bool,
) -> Verdict {
    let ratios = [(to_noload, "without load"), (to_first, "of the first command")];
    for (ratio, than) in ratios.into_iter().filter_map(|(ratio, than)| Some((ratio?, than))) {
        let interval = format::interval(ratio.low, ratio.high, format::ratio);
        let times = format!("{}{}", ratio.mark(), format::ratio(ratio.ratio));
        text += &format!(", {times} times that {than} {interval}");
        if ratio.low <= 1.0 && ratio.high >= 1.0 {
            text += " (no difference is certain)";
        }
    }
    let tone = match to_noload.or(to_first) {
        Some(ratio) if ratio.low > 1.0 && !more_is_better => Tone::Doubtful,
        Some(ratio) if ratio.high < 1.0 && more_is_better => Tone::Doubtful,
        Some(ratio) if ratio.low > 1.0 || ratio.high < 1.0 => Tone::Better,
        _ => Tone::Plain,
    };
    Verdict { text: text + ".", tone }
}

/// The ratio to the same command without load, and its interval.
pub(crate) fn ratio_cells(to_noload: Option<Ratio>, load: &str) -> [Cell; 2] {
    match to_noload {
        Some(found) => {
            let interval = format::interval(found.low, found.high, format::ratio);
            [Cell::Ratio(found.mark(), found.ratio), Cell::Figure(interval)]
        }
        None if load == BASELINE => [Cell::ratio(1.0), Cell::blank()],
        None => [Cell::absent(), Cell::absent()],
    }
}
