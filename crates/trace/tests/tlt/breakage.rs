//! Files that were cut off, broken or made up.

use proptest::prelude::*;
use trace::{Columns, Encoder, PackedBlock, Writer};

use crate::support::{Step, blocks, header, read, reader, stretches, write};

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

    #[test]
    fn columns_that_are_none_are_refused_with_their_place(
        stretches in stretches(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..6),
        columns in prop_oneof![Just(Columns::References), Just(Columns::Pages)],
    ) {
        let whole = blocks(&stretches, Columns::References);
        let Some(block) = packed(&stretches) else { return Ok(()) };
        let mut bytes = block.to_bytes();
        // The checksums are made of what is changed here, so they do not help.
        let head_bytes = bytes.len() - block.size_bytes();
        for (place, change) in changes {
            let place = head_bytes + place.index(block.size_bytes());
            bytes[place] ^= change;
        }
        let mut writer = Writer::new(Vec::new(), &header(), 1).unwrap();
        writer.add(&PackedBlock::from_bytes(&bytes).unwrap()).unwrap();
        let file = writer.finish().unwrap();
        let (read, error) = read(&mut reader(&file, columns).unwrap());
        match error {
            Some(error) => prop_assert!(error.contains("block 0 at byte "), "{}", error),
            // Other references, but as many, in as many runs.
            None => prop_assert_eq!(read[0].runs.len(), whole[0].runs.len()),
        }
    }
}

/// The first block that is not empty.
fn packed(stretches: &[crate::support::Stretch]) -> Option<PackedBlock> {
    let stretch = stretches.iter().find(|stretch| !stretch.steps.is_empty())?;
    let mut encoder = Encoder::new(stretch.process, stretch.thread, Columns::References);
    for step in &stretch.steps {
        let is_full = match step {
            Step::Reference(reference) => encoder.push_reference(*reference),
            Step::Event(event) => encoder.event(event),
        };
        assert!(!is_full);
    }
    Some(encoder.finish_block())
}
