//! Files that were cut off, broken or made up.

use proptest::prelude::*;
use trace::Columns;

use crate::support::{blocks, read, reader, stretches, write};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_file_cut_off_at_any_byte_is_a_shorter_trace(stretches in stretches()) {
        let (file, ends) = write(&stretches, Columns::References);
        for wanted in [Columns::References, Columns::Pages] {
            let whole = blocks(&stretches, wanted);
            let filled: Vec<usize> = stretches
                .iter()
                .zip(&ends[1..])
                .filter(|(stretch, _)| !stretch.steps.is_empty())
                .map(|(_, end)| *end)
                .collect();
            for length in 0..file.len() {
                let mut reader = reader(&file[..length], wanted).unwrap();
                let (read, error) = read(&mut reader);
                prop_assert_eq!(error, None);
                let left = filled.iter().filter(|end| **end <= length).count();
                prop_assert_eq!(&read[..], &whole[..left]);
                // With the first bytes of the index it is known that there is no more.
                let complete = length >= ends[ends.len() - 1] + 4;
                let told = trace::Source::notes(&reader).cut_off;
                prop_assert_eq!(told.is_none(), complete, "{} of {}", length, file.len());
            }
        }
    }

    #[test]
    fn a_changed_byte_is_found_or_harmless(
        stretches in stretches(),
        place: prop::sample::Index,
        change in 1_u8..,
    ) {
        let (mut file, _) = write(&stretches, Columns::References);
        let place = place.index(file.len());
        file[place] ^= change;
        let whole = blocks(&stretches, Columns::References);
        let Ok(mut reader) = reader(&file, Columns::References) else { return Ok(()) };
        let (read, error) = read(&mut reader);
        // What comes before the change is right; what is behind it is not given out.
        prop_assert_eq!(&read[..], &whole[..read.len()]);
        if read.len() < whole.len() && trace::Source::notes(&reader).cut_off.is_none() {
            let error = error.unwrap_or_default();
            prop_assert!(error.contains(&format!("block {} at byte ", read.len())), "{}", error);
        }
    }

    #[test]
    fn any_bytes_are_refused_without_panic(bytes: Vec<u8>, stretches in stretches()) {
        let (file, ends) = write(&stretches, Columns::References);
        let mut made_up = file[..ends[0]].to_vec();
        made_up.extend(bytes);
        for columns in [Columns::References, Columns::Pages] {
            if let Ok(mut reader) = reader(&made_up, columns) {
                read(&mut reader);
            }
        }
    }
}
