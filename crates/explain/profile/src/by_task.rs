//! Counts by task.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Area;
use crate::profile::{AreaCounts, Profile, Selection};

/// What a task executed, or what was executed meanwhile in interrupts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Its number; `None` where it is not known.
    pub pid: Option<u32>,
    /// Its name when it was left last.
    pub name: Option<String>,
    /// All its instructions.
    pub instructions: u64,
    /// Instructions of the task by area, without areas that have none.
    pub areas: Vec<AreaCounts>,
}

impl TaskCounts {
    /// Its instructions in some areas.
    pub fn in_areas(&self, areas: &[Area]) -> u64 {
        let found = self.areas.iter().filter(|it| areas.contains(&it.area));
        found.map(|it| it.instructions).sum()
    }
}

impl Profile {
    /// The tasks of a part of the run, most instructions first. Tasks with the same number and name are
    /// one.
    pub fn by_task(&self, selection: &Selection) -> Vec<TaskCounts> {
        let mut found: BTreeMap<Option<u32>, [u64; Area::ALL.len()]> = BTreeMap::new();
        for counts in self.lives_of(selection) {
            let sums = found.entry(self.name_of_life(counts.life)).or_default();
            for (sum, count) in sums.iter_mut().zip(counts.areas) {
                *sum += count;
            }
        }
        let task = |(name, sums): (Option<u32>, [u64; Area::ALL.len()])| {
            let named = name.and_then(|name| self.named(name));
            let areas = Area::ALL.into_iter().zip(sums);
            let areas = areas.map(|(area, instructions)| AreaCounts { area, instructions });
            TaskCounts {
                pid: named.map(|it| it.0),
                name: named.map(|it| it.1.clone()),
                instructions: sums.iter().sum(),
                areas: areas.filter(|it| it.instructions > 0).collect(),
            }
        };
        let mut tasks: Vec<TaskCounts> = found.into_iter().map(task).collect();
        tasks.retain(|task| task.instructions > 0);
        tasks.sort_by_key(|task| std::cmp::Reverse(task.instructions));
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::profile;

    #[test]
    fn the_tasks_sum_to_the_whole() {
        let tasks = profile().by_task(&Selection::Run);
        let [task] = &tasks[..] else { panic!("{tasks:?}") };
        assert_eq!((task.pid, task.instructions), (None, 25));
        assert_eq!((task.in_areas(&[Area::User]), task.in_areas(&[Area::SystemCall])), (12, 13));
    }
}
