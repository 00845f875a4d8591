//! Who filled the memory, as a section of a diagnosis.

use doctor::{MemoryGrowth, Scope};
use model::units::format_size;
use render::{Block, Section, Table};

use super::scope_of;

/// The `top` groups and the `top` processes whose memory grew most.
pub fn growth_section(grown: &[MemoryGrowth], top: usize) -> Section {
    let of = |is_group: bool| {
        let of_kind =
            grown.iter().filter(move |it| matches!(it.scope, Scope::Group(_)) == is_group);
        of_kind.take(top)
    };
    let rows: Vec<_> = of(true).chain(of(false)).collect();
    let block: Block = if rows.is_empty() {
        "No control group and no process that was read grew by 1 MiB or more.".into()
    } else {
        let size = |bytes: u64| format_size(bytes >> 20 << 20);
        let rows = rows.into_iter().map(|it| {
            [
                scope_of(&it.scope, it.group.as_deref()),
                format!("+{}", size(it.grown_bytes())),
                size(it.before_bytes),
                size(it.after_bytes),
            ]
        });
        Table::of("", ["memory and swap space of", "grown", "before", "after"], rows).into()
    };
    Section::new("memory-growth", "Who filled the memory", vec![block])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_first_and_the_rest_is_cut() {
        let grown =
            |scope, after_bytes| MemoryGrowth { scope, group: None, before_bytes: 0, after_bytes };
        let process = |pid| Scope::Process { pid, name: "hog".to_owned() };
        let all = [
            grown(Scope::Group("/a".to_owned()), 9 << 20),
            grown(process(1), 8 << 20),
            grown(process(2), 7 << 20),
        ];
        let text = format!("{:?}", growth_section(&all, 1));
        for expected in ["control group /a", "+9M", "process 1 (hog)"] {
            assert!(text.contains(expected), "{expected:?} is not in {text}");
        }
        assert!(!text.contains("process 2"), "{text}");
        assert!(format!("{:?}", growth_section(&[], 1)).contains("grew by 1 MiB"));
    }
}
