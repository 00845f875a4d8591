//! What a process maps, and its status: recorded files, texts that must be refused with a place,
//! and any text at all.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use counters::parse::{Mapping, Pairs, ParseError, smaps, task_status};
use model::Values;
use proptest::prelude::*;

const MAPS: &str = include_str!("fixtures/linux-6.18-x86_64/proc/4242/maps");
const SMAPS: &str = include_str!("fixtures/linux-6.18-x86_64/proc/4242/smaps");
const STATUS: &str = include_str!("fixtures/linux-6.18-x86_64/proc/4242/status");

/// The counters of a status by name.
fn task_status_counters(text: &str) -> Result<Values, ParseError> {
    let counters = counters::parse::task_status_counters(text);
    counters.map(Pairs::into_iter).map(Values::from_iter)
}

/// The error as people see it.
fn said<T: std::fmt::Debug>(result: Result<T, ParseError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn recorded_mappings_are_read() {
    let mappings = smaps(MAPS).unwrap();
    assert_eq!(mappings.len(), MAPS.lines().count());
    let text = &mappings[1];
    assert_eq!((text.start, text.end), (0x5589_05e5_e000, 0x5589_05e6_3000));
    assert_eq!((text.read, text.write, text.execute, text.shared), (true, false, true, false));
    assert_eq!((text.offset_bytes, text.device.as_str(), text.inode), (0x2000, "fe:00", 247_026));
    assert_eq!((text.name.as_str(), text.end - text.start), ("/usr/bin/cat", 0x5000));
    assert_eq!(mappings[6].name, "");
    assert!(mappings.iter().any(|mapping| mapping.shared && mapping.name.ends_with(".cache")));
    assert_eq!(mappings.last().unwrap().name, "[vsyscall]");
}

#[test]
fn recorded_counters_of_mappings_are_read() {
    let mappings = smaps(SMAPS).unwrap();
    assert_eq!(mappings.len(), 13);
    let heap = mappings.iter().find(|mapping| mapping.name == "[heap]").unwrap();
    assert_eq!((heap.values["Size_kb"], heap.values["KernelPageSize_kb"]), (132, 4));
    assert_eq!(heap.values["Rss_kb"], heap.values["Private_Dirty_kb"]);
    assert!(heap.values.contains_key("THPeligible") && heap.flags.contains(&"wr".to_owned()));
    let total: u64 = mappings.iter().map(|mapping| mapping.values["Referenced_kb"]).sum();
    assert!(total > 0);
}

#[test]
fn names_may_have_blanks_and_be_long() {
    let line = "1000-2000 rw-s 00001000 00:01 7        /memfd:a name: b (deleted)\n";
    assert_eq!(smaps(line).unwrap()[0].name, "/memfd:a name: b (deleted)");
    assert_eq!(smaps("").unwrap(), [], "a kernel thread maps nothing");
}

#[test]
fn a_recorded_status_is_read() {
    let status = task_status(STATUS).unwrap();
    assert_eq!((status.name.as_str(), status.state.as_str(), status.user), ("cat", "R", 0));
    assert_eq!((status.vm_pte_kb, status.vm_pmd_kb), (Some(44), None));
    let thread = task_status("Name:\tkthreadd\nState:\tS (sleeping)\nUid:\t0\t0\t0\t0\n").unwrap();
    assert_eq!(thread.vm_pte_kb, None);
    let odd = task_status("Name:\ta: b\nState:\tZ (zombie)\nUid:\t0\t1000\t0\t0\n").unwrap();
    assert_eq!((odd.name.as_str(), odd.user), ("a: b", 1000));
}

#[test]
fn the_counters_of_a_recorded_status_are_read() {
    let counters = task_status_counters(STATUS).unwrap();
    assert_eq!((counters["VmPTE_kb"], counters["Threads"]), (44, 1));
    assert!(counters.contains_key("nonvoluntary_ctxt_switches"));
    assert!(!counters.contains_key("Pid") && !counters.contains_key("SigQ"));
    assert_eq!(task_status_counters("VmRSS:\tmany kB\nRssAnon:\n").unwrap().len(), 0);
    assert!(task_status_counters(" \n").is_err());
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let cases = [
        ("1000-2000 r-xp", "line 1, field offset: missing"),
        ("1000+2000 r-xp 0 0:0 0", "line 1, column 1: \"1000+2000\" is not an address range"),
        ("2000-1000 r-xp 0 0:0 0", "line 1, column 1: \"2000-1000\" is not an address range"),
        ("1000-2000 r-xq 0 0:0 0", "line 1, column 11: \"r-xq\" is not the rights of a mapping"),
        ("1000-2000 r-xp +1 0:0 0", "line 1, column 16: \"+1\" is not an offset"),
        ("1000-2000 r-xp 0 0:0 x", "line 1, column 22: \"x\" is not a counter value"),
    ];
    for (text, error) in cases {
        assert_eq!(said(smaps(text)), error);
    }
    let headless = "Rss: 4 kB\n";
    assert_eq!(said(smaps(headless)), "line 1, field address range: missing");
    let with = |line: &str| smaps(&format!("1000-2000 r-xp 0 0:0 0\n{line}\n"));
    assert_eq!(said(with("Rss:")), "line 2, field value: missing");
    assert_eq!(said(with("Rss: four kB")), "line 2, column 6: \"four\" is not a counter value");
    assert_eq!(
        said(with("Rss: 4 MB")),
        "line 2, column 8: \"MB\" is more than the format has room for"
    );
    assert_eq!(said(task_status("")), "line 1, column 1: the file is empty");
    assert_eq!(said(task_status("Name:\tx\nState:\tS\n")), "line 2, field Uid: missing");
    assert_eq!(said(task_status("Uid:\t0\n")), "line 1, field Uid: missing");
    assert_eq!(
        said(task_status("Uid:\t0\t4294967296\n")),
        "line 1, column 8: \"4294967296\" is not a user"
    );
}

/// Every parser of this file on one text. What it says must point to a line of the text.
fn parse_all(text: &str) {
    let errors = [smaps(text).err(), task_status(text).err()];
    for error in errors.into_iter().flatten() {
        assert!((1..=text.split('\n').count()).contains(&error.line), "{error}");
    }
}

/// The kernel's line of a mapping.
fn written(line: &Mapping) -> String {
    let flag = |is: bool, yes: char, no: char| if is { yes } else { no };
    format!(
        "{:08x}-{:08x} {}{}{}{} {:08x} {} {} {}\n",
        line.start,
        line.end,
        flag(line.read, 'r', '-'),
        flag(line.write, 'w', '-'),
        flag(line.execute, 'x', '-'),
        flag(line.shared, 's', 'p'),
        line.offset_bytes,
        line.device,
        line.inode,
        line.name,
    )
}

fn any_line() -> impl Strategy<Value = Mapping> {
    let range = (any::<u64>(), any::<u64>()).prop_filter("not empty", |(one, two)| one != two);
    let rights = any::<[bool; 4]>();
    (range, rights, any::<u64>(), any::<u64>(), "([\\[/][a-zA-Z0-9 :().\\]-]{0,20}[a-z\\]])?")
        .prop_map(|((one, two), [read, write, execute, shared], offset_bytes, inode, name)| {
            let (start, end) = (one.min(two), one.max(two));
            let device = "fe:00".to_owned();
            let (values, flags) = (Values::new(), Vec::new());
            Mapping {
                start,
                end,
                read,
                write,
                execute,
                shared,
                offset_bytes,
                device,
                inode,
                name,
                values,
                flags,
            }
        })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        parse_all(&text);
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        which in 0..3_usize,
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        with in any::<char>(),
    ) {
        let mut chars: Vec<char> = [MAPS, SMAPS, STATUS][which].chars().collect();
        let at = at.index(chars.len());
        chars[at] = with;
        chars.truncate(cut.index(chars.len()) + 1);
        parse_all(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn mappings_are_read_back(
        lines in prop::collection::vec(any_line(), 0..5),
        referenced_kb in any::<u64>(),
    ) {
        let text: String = lines.iter().map(written).collect();
        prop_assert_eq!(smaps(&text), Ok(lines.clone()));
        let counted: String = lines
            .iter()
            .map(|line| format!("{}Referenced:  {referenced_kb} kB\nVmFlags: rd wr \n", written(line)))
            .collect();
        let read = smaps(&counted).unwrap();
        prop_assert_eq!(read.len(), lines.len());
        for (mapping, line) in read.iter().zip(&lines) {
            let values = Values::from([("Referenced_kb".into(), referenced_kb)]);
            let flags = vec!["rd".to_owned(), "wr".to_owned()];
            prop_assert_eq!(mapping, &Mapping { values, flags, ..line.clone() });
        }
    }
}
