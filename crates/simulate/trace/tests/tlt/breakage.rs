//! Files that were cut off, broken or invented.

use proptest::prelude::*;
use trace::Granularity;

use crate::support::{Stretch, blocks, read, reader, stretches, write};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_file_cut_off_at_any_byte_is_a_shorter_trace(stretches in stretches()) {
        let (file, ends) = write(&stretches, Granularity::Reference);
        for wanted in [Granularity::Reference, Granularity::Page] {
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
                let cut_off = trace::Source::notes(&reader).cut_off;
                prop_assert_eq!(cut_off.is_none(), complete, "{} of {}", length, file.len());
            }
        }
    }

    #[test]
    fn a_changed_byte_is_found_or_harmless(
        stretches in stretches(),
        place: prop::sample::Index,
        change in 1_u8..,
    ) {
        let (mut file, _) = write(&stretches, Granularity::Reference);
        let place = place.index(file.len());
        file[place] ^= change;
        let whole = blocks(&stretches, Granularity::Reference);
        let Ok(mut reader) = reader(&file, Granularity::Reference) else { return Ok(()) };
        let (read, error) = read(&mut reader);
        // What comes before the change is right; what comes after it is not returned.
        prop_assert_eq!(&read[..], &whole[..read.len()]);
        if read.len() < whole.len() && trace::Source::notes(&reader).cut_off.is_none() {
            let error = error.unwrap_or_default();
            prop_assert!(error.contains(&format!("block {} at byte ", read.len())), "{}", error);
        }
    }

    #[test]
    fn any_bytes_are_refused_without_panic(bytes: Vec<u8>, stretches in stretches()) {
        let (file, ends) = write(&stretches, Granularity::Reference);
        let mut made_up = file[..ends[0]].to_vec();
        made_up.extend(bytes);
        for columns in [Granularity::Reference, Granularity::Page] {
            if let Ok(mut reader) = reader(&made_up, columns) {
                read(&mut reader);
            }
        }
    }

    #[test]
    fn columns_that_are_none_are_refused_with_their_place(
        stretches in stretches(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..6),
        columns in prop_oneof![Just(Granularity::Reference), Just(Granularity::Page)],
    ) {
        let whole = blocks(&stretches, Granularity::Reference);
        let Some(first) = stretches.iter().find(|stretch| !stretch.steps.is_empty()) else {
            return Ok(());
        };
        // One block that is stored as it is, whose checksums are those of what is changed.
        let stored = Stretch { process: 1, ..first.clone() };
        let (mut file, ends) = write(&[stored], Granularity::Reference);
        let body = ends[0] + 64..ends[1];
        for (place, change) in changes {
            file[body.start + place.index(body.len())] ^= change;
        }
        let number = |file: &[u8], at: usize| {
            u32::from_le_bytes(file[ends[0] + at..][..4].try_into().unwrap()) as usize
        };
        let pages = body.start + number(&file, 36) + number(&file, 44);
        for (at, part) in [(52, body.start..pages), (56, pages..body.end), (60, ends[0]..ends[0] + 60)] {
            let checksum = crc32fast::hash(&file[part]).to_le_bytes();
            file[ends[0] + at..][..4].copy_from_slice(&checksum);
        }
        let (read, error) = read(&mut reader(&file, columns).unwrap());
        match error {
            Some(error) => prop_assert!(error.contains("block 0 at byte "), "{}", error),
            // Other references, but as many, in as many runs.
            None => prop_assert_eq!(read[0].runs.len(), whole[0].runs.len()),
        }
    }
}
