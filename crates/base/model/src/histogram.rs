//! Delays of a periodic probe as HdrHistogram V2 text, one histogram per line.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

const DIGITS: u8 = 3;
/// Most delays listed individually: an hour of one every 4 ms.
pub(crate) const MOST_DELAYS: u64 = 1 << 20;
/// The V2 encoding begins with its kind, size of counts, offset (0), digits, and three u64 values.
const COOKIE: u32 = 0x1c84_9313;
const HEAD_BYTES: usize = 40;

/// Why a histogram cannot be read or encoded.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HistogramError(pub(crate) String);

impl HistogramError {
    fn hdr(why: impl Display) -> Self {
        Self(format!("not an HdrHistogram V2: {why}"))
    }
}

/// Encodes delays in ns, 0 too. Fails when one is beyond the format (about 290 years).
pub fn encode(delays_ns: &[u64]) -> Result<String, HistogramError> {
    let mut histogram = Histogram::<u64>::new(DIGITS).map_err(HistogramError::hdr)?;
    for delay_ns in delays_ns {
        histogram.record(*delay_ns).map_err(HistogramError::hdr)?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(&histogram, &mut bytes)
        .map_err(|error| HistogramError::hdr(format!("{error:?}")))?;
    Ok(STANDARD.encode(bytes))
}

/// As [`counts`], checked against the count of the histogram's line.
pub(crate) fn claimed_counts(text: &str, claimed: u64) -> Result<Vec<(u64, u64)>, HistogramError> {
    let counts = counts(text)?;
    match counts.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count)) {
        found if found == claimed => Ok(counts),
        found => Err(HistogramError(format!(
            "the histogram has {found} delays, but its line claims {claimed}"
        ))),
    }
}

/// The delays in ns of an encoded histogram, ascending, to three significant digits, with their
/// counts. Fails unless the text is base64 of an HdrHistogram V2.
pub fn counts(text: &str) -> Result<Vec<(u64, u64)>, HistogramError> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|error| HistogramError(format!("the histogram is not base64: {error}")))?;
    check_head(&bytes)?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| HistogramError::hdr(format!("{error:?}")))?;
    let recorded = histogram.iter_recorded();
    Ok(recorded
        .map(|value| {
            (histogram.median_equivalent(value.value_iterated_to()), value.count_at_value())
        })
        .collect())
}

/// Checks kind and size, as the decoder trusts the head.
fn check_head(bytes: &[u8]) -> Result<(), HistogramError> {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map(u32::from_be_bytes)
    };
    let refused = |why: &str| Err(HistogramError::hdr(why));
    match (word(0), word(4), word(12)) {
        (Some(kind), ..) if kind != COOKIE => refused("another kind of histogram"),
        (_, Some(size), _) if size as usize != bytes.len().saturating_sub(HEAD_BYTES) => {
            refused("its counts have a different size than it claims")
        }
        (.., Some(digits)) if digits > u32::from(DIGITS) => refused("it keeps too many digits"),
        (.., Some(_)) => Ok(()),
        _ => refused("it is cut off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HistogramRecord;

    #[test]
    fn delays_survive_to_three_digits_and_zero_is_one() {
        let delays_ns = [0, 5, 999, 123_456, 300_000_000];
        let read = counts(&encode(&delays_ns).unwrap()).unwrap();
        assert_eq!(read.len(), delays_ns.len());
        for ((read, count), written) in read.into_iter().zip(delays_ns) {
            assert!(read.abs_diff(written) <= written / 1000 + 1, "{read} for {written}");
            assert_eq!(count, 1);
        }
    }

    /// A histogram of one delay that was recorded `count` times.
    fn repeated(delay_ns: u64, count: u64) -> String {
        let mut histogram = Histogram::<u64>::new(DIGITS).unwrap();
        histogram.record_n(delay_ns, count).unwrap();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        STANDARD.encode(bytes)
    }

    #[test]
    fn a_short_text_does_not_become_much() {
        let text = repeated(1000, 100_000_000);
        assert!(text.len() < 200);
        assert_eq!(counts(&text).unwrap(), [(1000, 100_000_000)]);
        let record = |count| HistogramRecord {
            count,
            hdr_v2_base64: repeated(1000, count),
            ..HistogramRecord::default()
        };
        let many = record(100_000_000);
        assert!(many.delays_ns().unwrap_err().to_string().contains("hold 100000000 delays"));
        assert_eq!(record(MOST_DELAYS).delays_ns().unwrap().len(), 1 << 20);
    }

    #[test]
    fn what_a_histogram_claims_is_not_believed() {
        let bytes = STANDARD.decode(encode(&[1000]).unwrap()).unwrap();
        // The size of the counts, which the reader would take memory for, and the digits.
        for (at, claimed) in [(4, u32::MAX), (12, 5), (0, 0x1c84_9314)] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&claimed.to_be_bytes());
            assert!(counts(&STANDARD.encode(&bytes)).is_err(), "{at}");
        }
        for length in 0..bytes.len() {
            assert!(counts(&STANDARD.encode(&bytes[..length])).is_err(), "{length}");
        }
    }

    #[test]
    fn a_line_that_claims_another_number_of_delays_is_refused() {
        let text = encode(&[1, 2]).unwrap();
        assert_eq!(claimed_counts(&text, 2).unwrap(), [(1, 1), (2, 1)]);
        let error = claimed_counts(&text, 3).unwrap_err().to_string();
        assert_eq!(error, "the histogram has 2 delays, but its line claims 3");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[A-Za-z0-9+/=]{0,80}") {
            let _ = counts(&text);
        }
    }
}
