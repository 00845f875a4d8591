//! Control groups of their own for the bystander, the offenders and the probe of a run.
//!
//! A service manager starts each service and each program of a session in a control group, and settings
//! such as `memory.min`, `memory.oom.group` or a daemon's choice of whom to kill are those of a group. The
//! agent starts all processes of a run in one. So a small script plays the service manager: it runs in the
//! guest from the start, and moves each process to its group when it has begun. Offenders are born in
//! theirs. Where a daemon may kill a group, their supervisor leaves it when there is one; what a later one
//! takes until it is moved, up to a tenth of a second later, is charged to the agent's group.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::plan::settings;

/// The script that moves the processes of a run.
pub(super) const PLACE: &str = include_str!("groups/place.sh");
/// Its name in an overlay, next to the start script.
pub(super) const GROUPS_SCRIPT: &str = "place";
/// The group of which the others are children, as those of a session are.
const SLICE: &str = "/sys/fs/cgroup/user.slice";
/// Protections, which a group has only within what its parent has.
const OF_PARENT: [&str; 2] = ["memory.min", "memory.low"];
/// The standing of a process with the OOM killer, which is a file of each process and not of its group.
const SCORE: &str = "oom_score_adj";

/// What is written into the files of the groups, and the standing of their processes: group, name of the
/// file, and value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Tables")]
pub(super) struct Groups(Vec<(&'static str, String, String)>);

/// The groups as a policy has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    /// The process that holds memory and did nothing wrong.
    #[serde(default)]
    bystander: toml::Table,
    /// The processes that fill memory.
    #[serde(default)]
    offenders: toml::Table,
    /// The process that must answer.
    #[serde(default)]
    probe: toml::Table,
}

impl TryFrom<Tables> for Groups {
    type Error = String;

    /// Fails for a file or value that is not one of a control group.
    fn try_from(tables: Tables) -> Result<Self, String> {
        let Tables { bystander, offenders, probe } = tables;
        let mut all = Vec::new();
        for (group, table) in [("bystander", bystander), ("offenders", offenders), ("probe", probe)]
        {
            let wrong = |why| format!("groups: {group}: {why}");
            for (name, value) in settings(&table).map_err(wrong)? {
                problem(&name, &value).map_or(Ok(()), |why| Err(wrong(why)))?;
                all.push((group, name, value));
            }
        }
        Ok(Self(all))
    }
}

/// Why a file and its value are not those of a control group.
fn problem(name: &str, value: &str) -> Option<String> {
    let consists =
        |text: &str, of: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || of.contains(it));
    if name != SCORE && !(name.contains('.') && consists(name, ".-_")) {
        return Some(format!("{name:?} is not a file of a control group, such as memory.min"));
    }
    let is_switch = matches!(value, "true" | "false");
    let is_value = !value.is_empty() && !is_switch && consists(value, " .:=-_");
    (!is_value).then(|| format!("{name}: {value} is not a value of a control group"))
}

impl Groups {
    /// What they are in words, each as `NAME=VALUE`.
    pub(super) fn in_words(&self) -> Vec<String> {
        if self.0.is_empty() {
            return vec!["group.*=one each".to_owned()];
        }
        let words = |(group, name, value): &_| format!("group.{group}.{name}={value}");
        self.0.iter().map(words).collect()
    }

    /// Whether the kernel kills all of a group if it kills one, and so counts the first one twice.
    pub(super) fn die_together(&self) -> bool {
        self.0.iter().any(|(_, name, value)| name == "memory.oom.group" && value != "0")
    }

    /// The lines of a start script that make them, and start what moves the processes of a run. Next to a
    /// daemon that may kill groups, the supervisor of the offenders leaves theirs.
    pub(super) fn script(&self, is_idle: bool) -> String {
        let mut lines = format!(
            "echo +memory >/sys/fs/cgroup/cgroup.subtree_control\nbusybox mkdir {SLICE}\n\
             echo +memory >{SLICE}/cgroup.subtree_control\n"
        );
        for file in OF_PARENT {
            let _ = writeln!(lines, "echo max >{SLICE}/{file}");
        }
        let _ = writeln!(lines, "(cd {SLICE} && busybox mkdir bystander offenders probe)");
        let mut scores = String::new();
        for (group, name, value) in &self.0 {
            let _ = match name.as_str() {
                SCORE => write!(scores, "{group}_score={value} "),
                _ => writeln!(lines, "echo {value} >{SLICE}/{group}/{name}"),
            };
        }
        let leave = if is_idle { "" } else { "leave" };
        let script = vm::START_SCRIPT.rsplit_once('/').map_or("", |(folder, _)| folder);
        let _ = writeln!(
            lines,
            "{scores}busybox sh {script}/{GROUPS_SCRIPT} {SLICE} {leave} >/run/place.log 2>&1 &"
        );
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str) -> Groups {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_written_is_in_words_and_in_the_script() {
        let some = groups(
            "bystander = { \"memory.min\" = \"13M\" }\noffenders = { \"memory.oom.group\" = 1 }",
        );
        assert_eq!(
            some.in_words(),
            ["group.bystander.memory.min=13M", "group.offenders.memory.oom.group=1"]
        );
        let script = some.script(true);
        assert!(
            script.contains("echo 13M >/sys/fs/cgroup/user.slice/bystander/memory.min\n"),
            "{script}"
        );
        assert!(
            script.contains("busybox sh /etc/thrashlab/place /sys/fs/cgroup/user.slice  >"),
            "{script}"
        );
        let spared = groups("bystander = { oom_score_adj = -500 }");
        assert!(
            spared.script(true).contains("\nbystander_score=-500 busybox sh /etc/thrashlab/place")
        );
        assert!(some.script(false).contains("user.slice leave >"));
        assert!(some.die_together() && !Groups::default().die_together());
        assert_eq!(Groups::default().in_words(), ["group.*=one each"]);
    }

    #[test]
    fn what_is_no_file_or_value_of_a_group_is_refused() {
        let problem = |text: &str| toml::from_str::<Groups>(text).unwrap_err().to_string();
        assert!(
            problem("probe = { min = 1 }")
                .contains("probe: \"min\" is not a file of a control group")
        );
        assert!(problem("probe = { \"memory.min\" = \"1;reboot\" }").contains("not a value"));
        assert!(toml::from_str::<Groups>("observer = {}").is_err());
        assert!(toml::from_str::<Groups>("probe = { \"memory.min\" = true }").is_err());
    }
}
