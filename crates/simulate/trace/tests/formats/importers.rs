//! Each format, with what real files have in them.

use trace::{Access, Event, Format, Granularity, Summary};

use crate::support::{LACKEY, fetch, instruction, load, read, references, request, store};

#[test]
fn lackey_as_valgrind_writes_it() {
    let (format, blocks, notes) = read(LACKEY, Granularity::Reference, None).unwrap();
    assert_eq!(format, Format::Lackey);
    assert_eq!(notes.bad.count, 0);
    assert_eq!(blocks.len(), 1);
    let block = &blocks[0];
    let command = "/bin/true".to_owned();
    assert_eq!(block.events, [(0, Event::Program { command })]);
    let count = |start: &str| {
        let text = std::str::from_utf8(LACKEY).unwrap();
        text.lines().filter(|line| line.starts_with(start)).count()
    };
    let of = |access: Access| {
        block.references.iter().filter(|reference| reference.access() == access).count()
    };
    assert!(count(" M") > 0);
    assert_eq!(of(Access::Fetch), count("I "));
    assert_eq!(of(Access::Load), count(" L"));
    assert_eq!(of(Access::Store), count(" S") + count(" M"));
    assert_eq!(
        block.references[..4],
        [
            fetch(0x401_ab70, 2),
            fetch(0x401_ab73, 3),
            store(0x1f_ff00_0708, 3),
            fetch(0x401_b770, 0)
        ]
    );
    assert_eq!(
        block.runs.iter().map(|run| run.count as usize).sum::<usize>(),
        block.references.len()
    );
    assert_eq!((block.runs[0].page, block.runs[0].count, block.runs[0].fetch), (0x401a, 2, true));
    assert!(block.runs[1].written);
}

#[test]
fn lackey_with_bad_lines() {
    let text =
        "I  0401ab70,3\n L 1fff000198\n L zz,8\nhello from the program\n S 1fff0001a0,512\r\n";
    let (_, blocks, notes) =
        read(text.as_bytes(), Granularity::Reference, Some(Format::Lackey)).unwrap();
    assert_eq!(blocks[0].references, [fetch(0x401_ab70, 2), store(0x1f_ff00_01a0, 6)]);
    let lines: Vec<String> = notes.bad.first.into_iter().map(|(place, _)| place).collect();
    assert_eq!(
        (notes.bad.count, lines),
        (3, vec!["line 2".to_owned(), "line 3".to_owned(), "line 4".to_owned()])
    );
}

#[test]
fn din_with_and_without_prefix_comment_and_faults() {
    let text = "2 408ed4\n2 408ed8\n2 408edc\n0 0x10019d94\n1 10019d88 a comment\n3 0\n\n0\n0 10019d8q\n 1 ffffffffff600000";
    let (format, blocks, notes) = read(text.as_bytes(), Granularity::Reference, None).unwrap();
    assert_eq!(format, Format::Din);
    assert_eq!(
        blocks[0].references,
        [
            fetch(0x40_8ed4, 0),
            fetch(0x40_8ed8, 0),
            fetch(0x40_8edc, 0),
            load(0x1001_9d94, 0),
            store(0x1001_9d88, 0),
            store(0xffff_ffff_ff60_0000, 0)
        ]
    );
    let lines: Vec<String> = notes.bad.first.into_iter().map(|(place, _)| place).collect();
    assert_eq!(lines, ["line 6".to_owned(), "line 8".to_owned(), "line 9".to_owned()]);
}

#[test]
fn champsim_fetches_reads_and_writes_in_this_order() {
    let mut bytes = instruction(0x40_0000, [0x7fff_0010, 0], [0x60_0000, 0, 0x60_1000, 0]);
    bytes.extend(instruction(0x40_0004, [0; 2], [0; 4]));
    let mut bad = instruction(0x40_0008, [0; 2], [0; 4]);
    bad[8] = 7;
    bytes.extend(bad);
    bytes.extend(instruction(0x40_000c, [0x1 << 62, 0], [0; 4]));
    bytes.extend(instruction(0x40_0010, [8, 0], [0; 4]));
    bytes.extend([0; 13]);
    let (_, blocks, notes) = read(&bytes, Granularity::Reference, Some(Format::ChampSim)).unwrap();
    assert_eq!(
        blocks[0].references,
        [
            fetch(0x40_0000, 0),
            load(0x60_0000, 0),
            load(0x60_1000, 0),
            store(0x7fff_0010, 0),
            fetch(0x40_0004, 0),
            fetch(0x40_0010, 0),
            store(8, 0),
        ]
    );
    let places: Vec<String> = notes.bad.first.into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["byte 128".to_owned(), "byte 192".to_owned()]);
    assert_eq!(notes.cut_off, Some("byte 320".to_owned()));
}

#[test]
fn cloudsuite_has_more_writes_and_address_spaces() {
    let mut bytes = Vec::new();
    for (space, write) in [(0_u8, 0x1000_u64), (3, 0x2000)] {
        bytes.extend(0x40_0000_u64.to_le_bytes());
        bytes.extend([0_u8; 16]);
        [0, 0, 0, write, 0x5000, 0, 0, 0]
            .iter()
            .for_each(|place: &u64| bytes.extend(place.to_le_bytes()));
        bytes.extend([space, space, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(bytes.len(), 2 * 96);
    let format = Some(Format::ChampSimCloudsuite);
    let (_, blocks, _) = read(&bytes, Granularity::Reference, format).unwrap();
    assert_eq!(blocks.iter().map(|block| block.process).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(blocks[1].references, [fetch(0x40_0000, 0), load(0x5000, 0), store(0x2000, 0)]);
    assert_eq!(blocks[1].first, 3);
}

#[test]
fn oracle_general_is_of_pages() {
    let big = 0xdead_beef_cafe_f00d;
    let requests =
        [(10, 5, 4096, 3), (10, 9, 1, -1), (11, 5, 4096, 2), (12, big, 7, 5), (12, big, 7, -1)];
    let bytes: Vec<u8> = requests
        .iter()
        .flat_map(|(time, object, size, next)| request(*time, *object, *size, *next))
        .collect();
    let (format, blocks, notes) =
        read(&bytes, Granularity::Page, Some(Format::OracleGeneral)).unwrap();
    assert_eq!(format, Format::OracleGeneral);
    assert!(blocks[0].references.is_empty());
    let pages: Vec<u64> = blocks[0].runs.iter().map(|run| run.page).collect();
    assert_eq!(pages[..2], [5, 9]);
    // The third names the second as the next one.
    assert_eq!((notes.bad.count, &notes.bad.first[0].0), (1, &"byte 48".to_owned()));
    assert_eq!((blocks[0].runs.len(), blocks[0].runs[2].count), (3, 2));
    assert!(pages[2] >> 46 == 0x3_ffff, "{:x}", pages[2]);
}

#[test]
fn csv_by_header_and_by_order() {
    let text = "size,Process, address,access,thread,colour\n8,70,0x1000,load,700,red\n\
                3,70,8192,W,701,red\n1,71,0x7fffffffe000,i,700,\n8,70,0x1008,,700\n\
                8,70,0x1008,jump,700\n8,70,1x,r,700\n0,70,1,r,700\n";
    let (format, blocks, notes) = read(text.as_bytes(), Granularity::Reference, None).unwrap();
    assert_eq!(format, Format::Csv);
    let read: Vec<_> = blocks
        .iter()
        .map(|block| (block.process, block.thread, block.references.clone()))
        .collect();
    assert_eq!(
        read,
        [
            (0, 0, vec![load(0x1000, 3)]),
            (0, 1, vec![store(8192, 2)]),
            (1, 0, vec![fetch(0x7fff_ffff_e000, 0)]),
            (0, 0, vec![load(0x1008, 3)]),
        ]
    );
    let lines: Vec<String> = notes.bad.first.into_iter().map(|(place, _)| place).collect();
    assert_eq!(lines, ["line 6".to_owned(), "line 7".to_owned(), "line 8".to_owned()]);
    let plain = "4096\n0x2000,store,8\n";
    assert_eq!(references(plain.as_bytes(), None), [load(4096, 0), store(0x2000, 3)]);
}

#[test]
fn a_summary_counts_all() {
    let (_, blocks, _) = read(LACKEY, Granularity::Reference, None).unwrap();
    let mut summary = Summary::default();
    blocks.iter().for_each(|block| summary.add(block));
    summary.finish();
    let references = blocks[0].references.len() as u64;
    assert_eq!(summary.references, references);
    let (loads, stores) = (summary.loads.unwrap(), summary.stores.unwrap());
    assert_eq!(loads + stores + summary.fetches, references);
    let mut pages: Vec<u64> =
        blocks[0].references.iter().map(|reference| reference.page()).collect();
    pages.sort_unstable();
    pages.dedup();
    assert_eq!(summary.pages, pages.len() as u64);
    assert!(summary.data_pages + summary.fetched_pages >= summary.pages);
    assert_eq!(summary.programs[&0], ["/bin/true"]);
    assert_eq!(summary.threads[&0][&0], references);
}
