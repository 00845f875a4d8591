//! No parser panics: on any text, on real files with damage, and on any netlink bytes.

use counters::parse;
use proptest::prelude::*;
use sys::taskstats::DelayAccounting;

const FIXTURES: [&str; 9] = [
    include_str!("fixtures/linux-6.18-x86_64/proc/interrupts"),
    include_str!("fixtures/linux-6.18-x86_64/proc/vmstat"),
    include_str!("fixtures/linux-6.18-x86_64/proc/stat"),
    include_str!("fixtures/linux-6.18-x86_64/proc/meminfo"),
    include_str!("fixtures/linux-6.18-x86_64/proc/pressure/memory"),
    include_str!("fixtures/linux-6.18-x86_64/proc/4242/stat"),
    include_str!("fixtures/linux-6.18-x86_64/proc/4242/schedstat"),
    include_str!("fixtures/linux-6.18-x86_64/cgroup_v1/memory/memory.usage_in_bytes"),
    include_str!("fixtures/made/cgroup-v2-6.12/memory.stat"),
];

/// Every parser on one text. What it says must point into the text.
fn parse_all(text: &str) {
    let results = [
        parse::flat_keyed(text).err(),
        parse::interrupts(text).err(),
        parse::limit(text).err(),
        parse::colon_keyed(text).err(),
        parse::pressure(text).err(),
        parse::proc_stat(text).err(),
        parse::schedstat(text).err(),
        parse::single_value(text).err(),
        parse::task_stat(text).err(),
    ];
    let lines: Vec<&str> = text.split('\n').collect();
    for error in results.into_iter().flatten() {
        assert!((1..=lines.len()).contains(&error.line), "{error}: no such line");
        if let parse::Place::Column(column) = error.place {
            let bytes = lines[error.line - 1].len();
            assert!((1..=bytes.max(1) + 1).contains(&column), "{error}: no such column");
        }
    }
}

/// A netlink answer with this sequence number: family header, then one nested attribute that
/// holds a `struct taskstats` of these bytes.
fn reply(sequence: u32, stats: &[u8]) -> Vec<u8> {
    let stats_bytes = 4 + stats.len();
    let nested_bytes = 4 + 8 + stats_bytes;
    let total_bytes = 16 + 4 + nested_bytes;
    let mut message = Vec::new();
    message.extend((total_bytes as u32).to_ne_bytes());
    message.extend([0x17_u16.to_ne_bytes(), 0_u16.to_ne_bytes()].concat());
    message.extend([sequence.to_ne_bytes(), 0_u32.to_ne_bytes()].concat());
    message.extend([2, 1, 0, 0]);
    message.extend([(nested_bytes as u16).to_ne_bytes(), 4_u16.to_ne_bytes()].concat());
    message.extend([8_u16.to_ne_bytes(), 1_u16.to_ne_bytes()].concat());
    message.extend(42_u32.to_ne_bytes());
    message.extend([(stats_bytes as u16).to_ne_bytes(), 3_u16.to_ne_bytes()].concat());
    message.extend(stats);
    message
}

/// A `struct taskstats` of a version and length in which each u64 holds its own offset.
fn stats(version: u16, bytes: usize) -> Vec<u8> {
    let mut stats: Vec<u8> = (0..bytes as u64 / 8).flat_map(|at| (8 * at).to_ne_bytes()).collect();
    stats[..2].copy_from_slice(&version.to_ne_bytes());
    stats
}

#[test]
fn delays_are_read_from_the_offsets_of_each_version() {
    let new = DelayAccounting::from_reply(&reply(7, &stats(16, 560)), 7).unwrap().unwrap();
    assert_eq!((new.version, new.cpu_count, new.cpu_delay_total_ns), (16, Some(16), Some(24)));
    assert_eq!((new.swapin_count, new.freepages_delay_total_ns), (Some(48), Some(320)));
    assert_eq!((new.thrashing_count, new.compact_count), (Some(328), Some(352)));
    assert_eq!((new.wpcopy_count, new.irq_delay_total_ns), (Some(400), Some(424)));

    // Linux 4.19 (version 8) ends behind the reclaim delays, 6.1 (version 13) behind wpcopy.
    let old = DelayAccounting::from_struct(&stats(8, 328)).unwrap();
    assert_eq!((old.freepages_delay_total_ns, old.thrashing_count), (Some(320), None));
    let older = DelayAccounting::from_struct(&stats(13, 416)).unwrap();
    assert_eq!((older.wpcopy_delay_total_ns, older.irq_count), (Some(408), None));

    for version in [14, 15] {
        let spread = DelayAccounting::from_struct(&stats(version, 560)).unwrap();
        assert_eq!((spread.blkio_count, spread.swapin_count), (Some(48), Some(80)));
        assert_eq!((spread.freepages_count, spread.irq_delay_total_ns), (Some(360), Some(536)));
    }
}

#[test]
fn netlink_errors_and_strangers_are_told_apart() {
    let mut refused = reply(7, &[]);
    refused[4..6].copy_from_slice(&2_u16.to_ne_bytes());
    refused[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
    let error = DelayAccounting::from_reply(&refused, 7).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    let stranger = DelayAccounting::from_reply(&reply(6, &stats(16, 560)), 7).unwrap();
    assert_eq!(stranger, None, "a late answer to an earlier request");
    let empty = DelayAccounting::from_reply(&reply(7, &[]), 7).unwrap_err();
    assert_eq!(empty.kind(), std::io::ErrorKind::InvalidData);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        parse_all(&text);
    }

    #[test]
    fn any_likely_text_is_read_or_refused(text in "[a-c0-9 \t\n\r:=().+\\-é]{0,80}") {
        parse_all(&text);
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        which in 0..FIXTURES.len(),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        with in any::<char>(),
    ) {
        let mut chars: Vec<char> = FIXTURES[which].chars().collect();
        let at = at.index(chars.len());
        chars[at] = with;
        chars.truncate(cut.index(chars.len()) + 1);
        parse_all(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn flat_keyed_reads_back_what_was_written(
        written in prop::collection::btree_map("[a-zA-Z_][a-z0-9_.()]{0,12}", any::<u64>(), 1..20),
    ) {
        let flat: String = written.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
        let named = |(name, value): (String, u64)| (name.into(), value);
        prop_assert_eq!(parse::flat_keyed(&flat), Ok(written.into_iter().map(named).collect()));
    }

    #[test]
    fn any_netlink_bytes_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..700),
        sequence in any::<u32>(),
    ) {
        let _ = DelayAccounting::from_struct(&bytes);
        let _ = DelayAccounting::from_reply(&bytes, sequence);
        if bytes.len() >= 16 {
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
            let _ = DelayAccounting::from_reply(&bytes, sequence);
        }
    }

    #[test]
    fn damaged_replies_are_read_or_refused(
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut message = reply(7, &stats(16, 560));
        let at = at.index(message.len());
        message[at] = with;
        message.truncate(cut.index(message.len()) + 1);
        let _ = DelayAccounting::from_reply(&message, 7);
    }
}
