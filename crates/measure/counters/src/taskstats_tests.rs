//! Tests of reading netlink replies.

use proptest::prelude::*;

use super::*;

fn delays_reply(message: &[u8], sequence: u32) -> io::Result<Option<Values>> {
    answer(message, sequence, delays_in)
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
    let at = |delays: &Values, name: &str| delays.get(name).copied();
    let new = delays_reply(&reply(7, &stats(16, 560)), 7).unwrap().unwrap();
    for (name, offset) in [
        ("cpu_count", 16),
        ("cpu_delay_total_ns", 24),
        ("swapin_count", 48),
        ("freepages_delay_total_ns", 320),
        ("thrashing_count", 328),
        ("compact_count", 352),
        ("wpcopy_count", 400),
        ("irq_delay_total_ns", 424),
    ] {
        assert_eq!(at(&new, name), Some(offset), "{name}");
    }

    // Linux 4.19 (version 8) ends after the reclaim delays, 6.1 (version 13) after wpcopy.
    let old = delays(&stats(8, 328)).unwrap();
    assert_eq!(
        (at(&old, "freepages_delay_total_ns"), at(&old, "thrashing_count")),
        (Some(320), None)
    );
    let older = delays(&stats(13, 416)).unwrap();
    assert_eq!((at(&older, "wpcopy_delay_total_ns"), at(&older, "irq_count")), (Some(408), None));

    for version in [14, 15] {
        let spread = delays(&stats(version, 560)).unwrap();
        assert_eq!((at(&spread, "blkio_count"), at(&spread, "swapin_count")), (Some(48), Some(80)));
        assert_eq!(at(&spread, "freepages_count"), Some(360));
        assert_eq!(at(&spread, "irq_delay_total_ns"), Some(536));
    }
}

#[test]
fn a_wait_that_is_longer_than_its_task_is_absent() {
    let uptime_ns = 29_920_803_090_454_u64;
    let mut bytes = stats(16, 560);
    bytes[40..48].copy_from_slice(&uptime_ns.to_ne_bytes());
    let of_lifetime = |lifetime_us: u64| {
        let mut bytes = bytes.clone();
        bytes[144..152].copy_from_slice(&lifetime_us.to_ne_bytes());
        let found = delays(&bytes).unwrap();
        assert_eq!(found.get("cpu_delay_total_ns"), Some(&24));
        ["blkio_count", "blkio_delay_total_ns"].map(|name| found.get(name).copied())
    };
    assert_eq!(of_lifetime(5_000), [None, None]);
    assert_eq!(of_lifetime(uptime_ns / 1000), [Some(32), Some(uptime_ns)]);
    assert_eq!(of_lifetime(0), [Some(32), Some(uptime_ns)], "a process of several tasks has none");
}

#[test]
fn netlink_errors_and_strangers_are_told_apart() {
    let mut refused = reply(7, &[]);
    refused[4..6].copy_from_slice(&2_u16.to_ne_bytes());
    refused[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
    let error = delays_reply(&refused, 7).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    let stranger = delays_reply(&reply(6, &stats(16, 560)), 7).unwrap();
    assert_eq!(stranger, None, "a late answer to an earlier request");
    let empty = delays_reply(&reply(7, &[]), 7).unwrap_err();
    assert_eq!(empty.kind(), io::ErrorKind::InvalidData);
}

proptest! {
    #[test]
    fn any_netlink_bytes_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..700),
        sequence in any::<u32>(),
    ) {
        let _ = delays(&bytes);
        let _ = delays_reply(&bytes, sequence);
        if bytes.len() >= 16 {
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
            let _ = delays_reply(&bytes, sequence);
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
        let _ = delays_reply(&message, 7);
    }
}

#[test]
fn taskstats_answers_or_says_why_not() {
    let Ok(mut taskstats) = Taskstats::open() else { return };
    match taskstats.read(std::process::id(), false) {
        Ok(delays) => {
            let all_threads = taskstats.read(std::process::id(), true).unwrap();
            assert!(all_threads["cpu_count"] >= delays["cpu_count"], "{all_threads:?}");
            let gone = taskstats.read(u32::MAX >> 1, false).unwrap_err();
            assert_eq!(gone.raw_os_error(), Some(3), "no such process: {gone}");
        }
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
    }
}
