//! What a condition costs, in words: never a share without saying whose time it is of.

use doctor::{Denominator, LostTime, Price};
use model::units::format_duration;

/// `9.62s lost (96 % of a thread's time)`, `at most …`, or `price not known, at least …`.
pub(crate) fn price_text(price: &Price) -> String {
    match price {
        Price::Known(lost) => format!("{}{}", bound_prefix(price), lost_text(lost)),
        Price::Unknown { at_least: Some(lost), .. } => {
            format!("price not known, {}{}", bound_prefix(price), lost_text(lost))
        }
        Price::Unknown { at_least: None, .. } => "price not known".to_owned(),
    }
}

/// What stands before a figure of a price.
pub(crate) fn bound_prefix(price: &Price) -> String {
    match bound_word(price) {
        "exact" => String::new(),
        bound => bound.replace('-', " ") + " ",
    }
}

fn lost_text(lost: &LostTime) -> String {
    let share = 100.0 * lost.lost_share;
    format!("{} lost ({share:.0} % of {})", format_duration(lost.lost_ns), whose_time(lost))
}

pub(crate) fn whose_time(lost: &LostTime) -> String {
    match lost.lost_of {
        Denominator::Threads(0 | 1) => "a thread's time".to_owned(),
        Denominator::Threads(count) => format!("the time of {count} threads"),
        Denominator::Cpus(0 | 1) => "the time that a CPU was wanted".to_owned(),
        Denominator::Cpus(count) => format!("the time that {count} CPUs were wanted"),
        Denominator::Wall => "the wall time".to_owned(),
    }
}

/// A price as a bound on what it is: `exact`, `at-most`, `at-least`.
pub(crate) fn bound_word(price: &Price) -> &'static str {
    match price {
        Price::Known(lost) if lost.is_bound => "at-most",
        Price::Known(_) => "exact",
        Price::Unknown { .. } => "at-least",
    }
}

pub(crate) fn denominator_word(lost: &LostTime) -> &'static str {
    match lost.lost_of {
        Denominator::Threads(_) => "threads",
        Denominator::Cpus(_) => "cpus",
        Denominator::Wall => "wall",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_with_whose_it_is() {
        let text = |lost: LostTime| price_text(&Price::Known(lost));
        let threads = LostTime::of_threads(6.4e9, 64, 64e9);
        assert_eq!(text(threads), "6.40s lost (10 % of the time of 64 threads)");
        let one = LostTime::of_threads(9e8, 1, 1e9).at_most();
        assert_eq!(text(one), "at most 900ms lost (90 % of a thread's time)");
        let cpus = LostTime::of_cpus(1e9, 4, 4e9);
        assert_eq!(text(cpus), "1.00s lost (25 % of the time that 4 CPUs were wanted)");
    }

    #[test]
    fn what_has_no_price_says_so_and_what_is_known() {
        let unknown = |at_least| Price::Unknown { price_unknown: String::new(), at_least };
        assert_eq!(price_text(&unknown(None)), "price not known");
        let least = unknown(Some(LostTime::of_wall(1e8, 1_000_000_000)));
        let text = "price not known, at least 100ms lost (10 % of the wall time)";
        assert_eq!((price_text(&least).as_str(), bound_word(&least)), (text, "at-least"));
    }
}
