//! What tasks executed, as a table.

use std::collections::BTreeMap;

use profile::{Area, TaskCounts};
use render::{Cell, Table};

use crate::figures;

/// The most rows; the rest is one row.
const MOST_ROWS: usize = 8;
/// The areas of the columns after the first ones.
const KERNEL: [Area; 3] = [Area::SystemCall, Area::Exception, Area::Thread];
const INTERRUPTS: [Area; 2] = [Area::Interrupt, Area::Softirq];

/// The tasks of a part of a run, most instructions first.
pub(crate) fn task_table(tasks: &[TaskCounts]) -> Table {
    let rows = rows(tasks);
    let whole: u64 = rows.iter().flat_map(|row| &row.1).map(|task| task.instructions).sum();
    let head = ["task", "instructions", "share", "user", "kernel", "interrupts meanwhile"];
    let mut table = Table::new("", head);
    let mut add = |name: String, tasks: &[&TaskCounts]| {
        let sum =
            |count: &dyn Fn(&TaskCounts) -> u64| tasks.iter().map(|it| count(it)).sum::<u64>();
        let share = |count: u64| Cell::Share(figures::share(count, whole));
        let all = sum(&|task| task.instructions);
        table.row([
            name.into(),
            Cell::grouped(all),
            share(all),
            share(sum(&|task| task.in_areas(&[Area::User]))),
            share(sum(&|task| task.in_areas(&KERNEL))),
            share(sum(&|task| task.in_areas(&INTERRUPTS))),
        ]);
    };
    let (first, rest) = rows.split_at(rows.len().min(MOST_ROWS));
    for (name, tasks) in first {
        add(name.clone(), tasks);
    }
    if !rest.is_empty() {
        let tasks: Vec<&TaskCounts> = rest.iter().flat_map(|row| row.1.iter().copied()).collect();
        add(format!("{} others", tasks.len()), &tasks);
    }
    table
}

/// Tasks by the text of their row, most instructions first: each one, or all of a name where there are
/// many.
fn rows(tasks: &[TaskCounts]) -> Vec<(String, Vec<&TaskCounts>)> {
    let mut by_name: BTreeMap<Option<&str>, Vec<&TaskCounts>> = BTreeMap::new();
    for task in tasks {
        by_name.entry(task.name.as_deref()).or_default().push(task);
    }
    let mut rows = Vec::new();
    for (common, tasks) in by_name {
        match common {
            Some(common) if tasks.len() > MOST_ROWS => {
                rows.push((format!("{common}, {} tasks", tasks.len()), tasks));
            }
            _ => rows.extend(tasks.into_iter().map(|task| (name(task), vec![task]))),
        }
    }
    let instructions = |tasks: &[&TaskCounts]| tasks.iter().map(|it| it.instructions).sum::<u64>();
    rows.sort_by_key(|(_, tasks)| std::cmp::Reverse(instructions(tasks)));
    rows
}

fn name(task: &TaskCounts) -> String {
    match (&task.name, task.pid) {
        (Some(name), Some(pid)) if pid > 0 => format!("{name} ({pid})"),
        (Some(name), _) => name.clone(),
        // The kernel has no type information, or the task never left its CPU.
        (None, _) => "without a name".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tasks_of_a_name_are_one_row() {
        let task = |pid, name: &str, instructions| TaskCounts {
            pid: Some(pid),
            name: Some(name.to_owned()),
            instructions,
            areas: Vec::new(),
        };
        let many = (10..20).map(|pid| task(pid, "sh", 5));
        let few = [task(1, "init", 60), task(2, "init", 40), task(0, "swapper/0", 7)];
        let tasks: Vec<TaskCounts> = many.chain(few).collect();
        let rows = rows(&tasks);
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["init (1)", "sh, 10 tasks", "init (2)", "swapper/0"]);
    }
}
