//! Typed values: settings, ranges, seeds, shares.

use std::collections::BTreeMap;

/// A parameter and its value, as written.
pub type Setting = (String, String);

/// Seeds in order. clap treats a literal `Vec` type as a repeatable option.
pub type Seeds = Vec<u64>;

/// Most seeds of a list.
const MOST_SEEDS: u64 = 100_000;

/// Reads `NAME=VALUE`. Fails without a name or an equals sign.
pub fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}

/// The last value of a parameter in the settings.
pub fn last<'a>(settings: &'a [Setting], parameter: &str) -> Option<&'a str> {
    let named = settings.iter().rev().find(|(name, _)| name == parameter);
    named.map(|(_, value)| value.as_str())
}

/// Sets a parameter that has no value.
pub fn set_default(settings: &mut Vec<Setting>, parameter: &str, value: &str) {
    if last(settings, parameter).is_none() {
        settings.push((parameter.to_owned(), value.to_owned()));
    }
}

/// Every parameter once, with its last value, by name.
pub(crate) fn once(settings: Vec<Setting>) -> Vec<Setting> {
    settings.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect()
}

/// Reads `FIRST..LAST`, each end by `end`. Fails unless it has two readable ends.
pub fn range<T>(text: &str, end: impl Fn(&str) -> Result<T, String>) -> Result<(T, T), String> {
    let ends = text.split_once("..");
    let (first, last) =
        ends.ok_or_else(|| format!("{text:?} is not FIRST..LAST, such as 1..64"))?;
    Ok((end(first.trim())?, end(last.trim())?))
}

/// The whole numbers of `FIRST..LAST`, inclusive; may count down. Fails for other texts and for
/// more than `most` numbers.
pub(crate) fn whole_numbers(text: &str, most: u64) -> Result<Vec<i64>, String> {
    let whole =
        |end: &str| end.parse::<i64>().map_err(|_| format!("{end:?} is not a whole number"));
    let (first, last) = range(text, whole)?;
    if first.abs_diff(last) >= most {
        return Err(format!("{text:?} has more than {most} numbers"));
    }
    let up = first.min(last)..=first.max(last);
    Ok(if first <= last { up.collect() } else { up.rev().collect() })
}

/// Reads a number of seeds from 1 on (`10`), inclusive ranges (`3..7`), and lists of seeds and
/// ranges (`1,2,7`). Fails for other texts, empty ranges, and too many seeds.
pub fn seeds(text: &str) -> Result<Seeds, String> {
    let seed = |text: &str| {
        let wrong = |_| format!("{text:?} is not a seed; write 10 (ten seeds), 3..7 or 1,2,7");
        text.parse::<u64>().map_err(wrong)
    };
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = match part.contains("..") {
            true => range(part, seed)?,
            false if text.contains(',') => (seed(part)?, seed(part)?),
            false => (1, seed(part)?),
        };
        if last < first || last - first >= MOST_SEEDS {
            return Err(format!("{part:?}: at least one seed, and at most {MOST_SEEDS}"));
        }
        all.extend((first..=last).filter(|seed| !all.contains(seed)).collect::<Vec<_>>());
    }
    Ok(all)
}

/// Seeds as [`seeds`] reads them.
pub fn seeds_text(seeds: &[u64]) -> String {
    let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
    if let [only] = &list[..] { format!("{only}..{only}") } else { list.join(",") }
}

/// Reads a share between 0 and `most`, exclusive: `5%`, or `0.05`. Fails for other texts. A bare
/// number of 1 or more is refused, since it could mean percent.
pub fn part(text: &str, most: f64) -> Result<f64, String> {
    let (number, whole) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let value = number.trim().parse::<f64>().ok().map(|number| number / whole);
    let is_part = |value: &f64| *value > 0.0 && *value < most && (*value < 1.0 || whole > 1.0);
    value.filter(is_part).ok_or_else(|| {
        let most = most * 100.0;
        format!("{text:?} is not between 0% and {most}%: write 5% or 0.05")
    })
}

/// Reads a factor above 1.
pub fn factor(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 1.0);
    value.ok_or_else(|| format!("{text:?} is not above 1"))
}

/// Reads the volume of a load: 1 as documented, 0.5 half of it, 0 none.
pub fn intensity(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| format!("{text:?} is not a number from 0 to 100"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_ranges_are_read_or_refused() {
        assert_eq!(setting(" a.b = c=d"), Ok(("a.b".to_owned(), " c=d".to_owned())));
        assert!(setting("=x").is_err() && setting("x").is_err() && setting("").is_err());
        assert_eq!(whole_numbers("1..3", 1_000_000).unwrap(), [1, 2, 3]);
        assert_eq!(whole_numbers("2 .. -1", 1_000_000).unwrap(), [2, 1, 0, -1]);
        assert!(
            whole_numbers("1-3", 1_000_000).is_err()
                && whole_numbers("0..9000000000", 1_000_000).is_err()
        );
    }

    #[test]
    fn a_bare_number_is_a_number_of_seeds() {
        assert_eq!(seeds("3").unwrap(), [1, 2, 3]);
        assert_eq!(seeds("7..7").unwrap(), [7]);
        assert_eq!(seeds("1, 2,7,2..4").unwrap(), [1, 2, 7, 3, 4]);
        for bad in ["", "0", "x", "5..1", "1..", "1,,2", "-1", "0..9000000000"] {
            assert!(seeds(bad).is_err(), "{bad}");
        }
        for list in [vec![7], vec![1, 2, 7]] {
            assert_eq!(seeds(&seeds_text(&list)), Ok(list));
        }
    }

    #[test]
    fn a_part_is_written_as_percent_or_as_a_fraction() {
        assert_eq!((part("5%", 1.0), part("0.05", 1.0)), (Ok(0.05), Ok(0.05)));
        assert_eq!(part("150 %", 10.0), Ok(1.5));
        for bad in ["", "%", "0", "100%", "5", "1", "-5%", "NaN", "x"] {
            assert!(part(bad, 1.0).is_err(), "{bad}");
        }
        assert!(part("10", 100.0).is_err(), "this was 10 % once");
        assert!(factor("1").is_err() && factor("inf").is_err() && factor("1.5").is_ok());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = (setting(&text), seeds(&text), whole_numbers(&text, 100), part(&text, 1.0));
        }
    }
}
