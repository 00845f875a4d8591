//! Seeds as they are typed.

/// Seeds in order. clap takes a type named `Vec` for an option that may be repeated.
pub type Seeds = Vec<u64>;

const MOST_SEEDS: u64 = 100_000;

/// Reads `1..5` (both ends belong to it), `3`, and lists of these.
pub fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |text: &str| {
        text.trim().parse::<u64>().map_err(|_| format!("{text:?} is not a seed; write 1..20"))
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if last < first || last - first >= MOST_SEEDS {
            return Err(format!("{part:?} is not a range of at most {MOST_SEEDS} seeds"));
        }
        all.extend((first..=last).filter(|seed| !all.contains(seed)).collect::<Vec<_>>());
    }
    Ok(all)
}
