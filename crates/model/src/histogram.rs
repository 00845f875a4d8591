//! Delays of a periodic probe as HdrHistogram V2 text, one histogram a line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// Decimal digits that a histogram keeps of each delay.
const DIGITS: u8 = 3;
/// Most delays that one line may hold: a day of 1 kHz; more is damage or malice.
const MOST_DELAYS: u64 = 100_000_000;

/// A histogram that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("the histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HdrHistogram.
    #[error("not an HdrHistogram V2: {0}")]
    Hdr(String),
    /// More delays than any run makes.
    #[error("the histogram claims to hold {0} delays")]
    TooMany(u64),
}

/// Encodes delays in ns; 0 is kept as a delay like any other.
///
/// # Errors
/// When a delay is beyond what the format can hold (about 290 years).
pub fn encode(delays_ns: &[u64]) -> Result<String, HistogramError> {
    let mut histogram =
        Histogram::<u64>::new(DIGITS).map_err(|error| HistogramError::Hdr(error.to_string()))?;
    for delay_ns in delays_ns {
        histogram.record(*delay_ns).map_err(|error| HistogramError::Hdr(error.to_string()))?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(&histogram, &mut bytes)
        .map_err(|error| HistogramError::Hdr(format!("{error:?}")))?;
    Ok(STANDARD.encode(bytes))
}

/// The delays in ns of an encoded histogram, ascending, each to three significant digits.
///
/// # Errors
/// When the text is not base64 or not an HdrHistogram V2.
pub fn decode(text: &str) -> Result<Vec<u64>, HistogramError> {
    let bytes = STANDARD.decode(text)?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| HistogramError::Hdr(format!("{error:?}")))?;
    if histogram.len() > MOST_DELAYS {
        return Err(HistogramError::TooMany(histogram.len()));
    }
    let mut delays_ns = Vec::with_capacity(histogram.len() as usize);
    for value in histogram.iter_recorded() {
        let delay_ns = histogram.median_equivalent(value.value_iterated_to());
        delays_ns.extend(std::iter::repeat_n(delay_ns, value.count_at_value() as usize));
    }
    Ok(delays_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_survive_to_three_digits_and_zero_is_one() {
        let delays_ns = [0, 5, 999, 123_456, 300_000_000];
        let read = decode(&encode(&delays_ns).unwrap()).unwrap();
        assert_eq!(read.len(), delays_ns.len());
        for (read, written) in read.iter().zip(delays_ns) {
            assert!(read.abs_diff(written) <= written / 1000 + 1, "{read} for {written}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[A-Za-z0-9+/=]{0,80}") {
            let _ = decode(&text);
        }
    }
}
