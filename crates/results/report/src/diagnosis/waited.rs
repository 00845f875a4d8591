//! Who waited for disks and free memory, as a section of a diagnosis.

use doctor::Waited;
use render::{Block, Section, Table};

use super::{lost_text, scope_of};

/// The `top` that waited longest; `None` if no delay was counted.
pub fn waited_section(waited: Option<&[Waited]>, top: usize) -> Section {
    let block: Block = match waited {
        None => "No delay was counted: sysctl kernel.task_delayacct=1 before the recording.".into(),
        Some([]) => "No process that was read waited for 1 % of its time.".into(),
        Some(waited) => {
            let rows = waited
                .iter()
                .take(top)
                .map(|it| [scope_of(&it.scope, it.group.as_deref()), lost_text(&it.lost)]);
            Table::of("", ["waited for disks or free memory", "how long"], rows).into()
        }
    };
    Section::new("waited", "Who waited", vec![block])
}

#[cfg(test)]
mod tests {
    use super::*;
    use doctor::{LostTime, Scope};

    #[test]
    fn a_process_has_its_group_and_what_was_not_counted_is_no_zero() {
        let waited = |pid, lost_ns| Waited {
            scope: Scope::Process { pid, name: "cat".to_owned() },
            group: Some("/web".to_owned()),
            lost: LostTime::of_threads(lost_ns, 1, 1e9),
        };
        let text = format!("{:?}", waited_section(Some(&[waited(1, 9e8), waited(2, 8e8)]), 1));
        for expected in ["process 1 (cat) of /web", "900ms", "90 % of a thread's time"] {
            assert!(text.contains(expected), "{expected:?} is not in {text}");
        }
        assert!(!text.contains("process 2"), "{text}");
        assert!(format!("{:?}", waited_section(None, 1)).contains("No delay was counted"));
        assert!(format!("{:?}", waited_section(Some(&[]), 1)).contains("No process"));
    }
}
