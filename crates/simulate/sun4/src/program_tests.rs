//! Layouts by segment, and touches as visits.

use super::*;

fn layout() -> Layout {
    let regions = vec![
        Region { start: 0x2000, bytes: 4096, backing: Backing::Text(1) },
        Region { start: 0x4000, bytes: 2 << 20, backing: Backing::Zero },
        Region { start: 0xf770_0000, bytes: 600 << 10, backing: Backing::Text(2) },
    ];
    Layout::new(4096, regions).unwrap()
}

#[test]
fn a_program_of_two_megabytes_needs_nine_segments_for_them() {
    let layout = layout();
    assert_eq!(layout.pages.len(), 9 + 3);
    assert_eq!(layout.pages[0].existing, 1 << 2);
    assert_eq!(layout.pages[0].private, u64::MAX << 4);
    assert!(layout.pages[0].identity.is_none());
    assert_eq!(layout.pages[9].identity.as_ref().unwrap().len(), 1);
    assert_eq!(layout.regions(), [vec![0; 9], vec![1; 3]].concat());
}

#[test]
fn touches_become_visits_without_losing_their_order() {
    let layout = layout();
    let path = layout.path((0..512).map(|page| 0x4000 + 4096 * page), false).unwrap();
    let pages: Vec<u32> = path.visits.iter().map(|visit| visit.pages.count_ones()).collect();
    assert_eq!(pages, [60, 64, 64, 64, 64, 64, 64, 64, 4]);
    assert_eq!(path.touches, 512);

    let back = layout.path([0x5000, 0x5004, 0x6000, 0x4000], true).unwrap();
    let of = |pages: u64, touches_a_page| Visit { slot: 0, pages, touches_a_page };
    assert_eq!(back.visits, [of(1 << 5, 2), of(1 << 6, 1), of(1 << 4, 1)]);
    assert_eq!(back.touches, 4);
}

#[test]
fn what_is_not_mapped_and_what_overlaps_is_refused() {
    assert!(layout().path([0x1000_0000], false).unwrap_err().contains("0x10000000"));
    let twice = vec![
        Region { start: 0x4000, bytes: 1, backing: Backing::Zero },
        Region { start: 0x4800, bytes: 1, backing: Backing::Zero },
    ];
    assert!(Layout::new(4096, twice).unwrap_err().contains("share a page"));
}
