//! No parser panics: on any text, on real files with damage, and on any netlink bytes.

use counters::parse;
use proptest::prelude::*;

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
        parse::sched(text).err(),
        parse::schedstat(text).err(),
        parse::single_value(text).err(),
        parse::task_stat(text).err(),
    ];
    let lines: Vec<&str> = text.split('\n').collect();
    for error in results.into_iter().flatten() {
        assert!((1..=lines.len()).contains(&error.line), "{error}: no such line");
        if let Some(column) = error.place.strip_prefix("column ") {
            let column: usize = column.parse().expect("a number");
            let bytes = lines[error.line - 1].len();
            assert!((1..=bytes.max(1) + 1).contains(&column), "{error}: no such column");
        }
    }
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
        prop_assert_eq!(parse::flat_keyed(&flat), Ok(written.into_iter().map(named).collect::<Vec<_>>()));
    }
}
