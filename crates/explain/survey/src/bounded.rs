//! Snapshots whose cost has a bound, however many control groups and processes there are.
//!
//! ```text
//! glances (a few files of each, in turn) ──▶ who is active ──▶ full counters of these,
//!                                                              and of the others in turn
//! ```
//!
//! On a machine that is small enough everything is read. Otherwise a snapshot has how much it left
//! out, and what is not active is read when it has its turn. Looks at a time when memory is being taken
//! may cost more, which the others save.

use std::collections::BTreeSet;
use std::fs::{self, ReadDir};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use doctor::{LeftOut, Snapshot, TICK_NS};

use crate::Survey;
use crate::glance::{self, GroupFiles};
use crate::reserve::Reserve;
use crate::rotation::{FIGURES, Rotation};
use crate::survey::{pid_of, pids};
use crate::timed::{CPU, each_ns};

/// Where processes are.
const PROC: &str = "/proc";
/// Shares of the budget: glances at groups and at processes, groups, and what is left for
/// processes.
const GLANCE_GROUPS: f64 = 0.15;
const GLANCE_TASKS: f64 = 0.2;
const GROUPS: f64 = 0.3;
const TASKS: f64 = 0.3;
/// Share for the list of groups, which is read less often if that takes longer.
const LIST_GROUPS: f64 = 0.05;
/// Cost of reading one, in ns, before it is known.
const FIRST_COST_NS: f64 = 100_000.0;
/// Weight of the latest cost in the average.
const LATEST: f64 = 0.5;
/// Groups and processes that are read however little the budget is.
const READ_MIN: usize = 16;
/// Groups and processes that get a glance, too.
const GLANCES_MIN: usize = 64;
/// The most active groups whose processes get a glance, and how many of each.
const GROUPS_ENTERED: usize = 8;
const MEMBERS: usize = 64;
/// Processes of which activity is kept; of more, only those in the list's turn.
const KNOWN_MAX: usize = 100_000;

/// A survey within a budget of CPU time.
#[derive(Debug)]
pub(crate) struct BoundedSurvey {
    survey: Survey,
    reserve: Reserve,
    /// CPU time of this snapshot, in ns.
    budget_ns: f64,
    groups: Rotation<String>,
    group_files: GroupFiles,
    /// The next of the groups for a glance.
    glanced: Option<String>,
    tasks: Rotation<u32>,
    /// The list of processes, as far as it was read.
    list: Option<ReadDir>,
    /// Processes seen since the list began, by number.
    listed: BTreeSet<u32>,
    costs: Costs,
    /// Snapshots until the groups are listed again.
    list_groups_in: u32,
    /// Time of the first snapshot, in ns since boot: what began later and was not seen is new.
    first_boot_ns: Option<u64>,
    /// Links of the folder of processes that are not of a process.
    other_links: u64,
}

/// Average costs in ns.
#[derive(Debug)]
struct Costs {
    group: f64,
    task: f64,
    glance_group: f64,
    glance_task: f64,
}

impl BoundedSurvey {
    /// A survey whose snapshots take about `budget_ns` of CPU time each on the average, at most.
    pub(crate) fn new(survey: Survey, budget_ns: u64) -> Self {
        let group_files = GroupFiles::new(survey.hierarchies());
        let [group, task, glance_group, glance_task] =
            [FIRST_COST_NS, FIRST_COST_NS, FIRST_COST_NS / 4.0, FIRST_COST_NS / 4.0];
        Self {
            survey,
            reserve: Reserve::new(budget_ns),
            budget_ns: 0.0,
            groups: Rotation::new(),
            group_files,
            glanced: None,
            tasks: Rotation::new(),
            list: None,
            listed: BTreeSet::new(),
            costs: Costs { group, task, glance_group, glance_task },
            list_groups_in: 0,
            first_boot_ns: None,
            other_links: links().saturating_sub(pids(Path::new(PROC)).count() as u64),
        }
    }

    /// Counters now, `at_ns` from the start: of the machine, and of as many control groups and
    /// processes as the budget allows.
    pub(crate) fn snapshot(&mut self, at_ns: u64) -> Snapshot {
        let mut taken = self.survey.machine(at_ns);
        self.budget_ns = self.reserve.spend(&taken);
        self.list_groups();
        self.glance_at_groups();
        self.glance_at_tasks();
        self.first_boot_ns = self.first_boot_ns.or(taken.boot_ns);
        let count = affordable(GROUPS * self.budget_ns, self.costs.group, READ_MIN);
        let chosen = self.groups.choose(count);
        let (survey, groups) = (&self.survey, &mut self.groups);
        let (spent_ns, read) = each_ns(CPU, 1, || {
            let read = chosen.iter().map(|path| (path.clone(), survey.group(path)));
            read.collect::<Vec<_>>()
        });
        learn(&mut self.costs.group, spent_ns, read.len());
        for (path, set) in read {
            match set.is_empty() {
                true => groups.remove(&path),
                false => drop(taken.groups.insert(path, set)),
            }
        }
        // A machine with few groups can afford more processes.
        let left_ns = (GROUPS * self.budget_ns - spent_ns).max(0.0);
        let count = affordable(TASKS * self.budget_ns + left_ns, self.costs.task, READ_MIN);
        let chosen = self.tasks.choose(count);
        let (survey, tasks) = (&mut self.survey, &mut self.tasks);
        let (spent_ns, read) = each_ns(CPU, 1, || {
            chosen.iter().map(|pid| (*pid, survey.task(*pid))).collect::<Vec<_>>()
        });
        learn(&mut self.costs.task, spent_ns, read.len());
        for (pid, task) in read {
            match task {
                None => tasks.remove(&pid),
                Some(task) => drop(taken.tasks.insert(pid, task)),
            }
        }
        // Before the list has been read once, not all processes are known.
        let is_listed = self.tasks.count() == taken.tasks.len() && self.list.is_none();
        let existing = links().saturating_sub(self.other_links).max(self.tasks.count() as u64);
        taken.left_out = LeftOut {
            groups: self.groups.count().saturating_sub(taken.groups.len()) as u64,
            tasks: match is_listed {
                true => 0,
                false => existing.saturating_sub(taken.tasks.len() as u64),
            },
            ..taken.left_out
        };
        taken
    }

    fn list_groups(&mut self) {
        if self.list_groups_in > 0 {
            self.list_groups_in -= 1;
            return;
        }
        let (spent_ns, paths) = each_ns(CPU, 1, || self.survey.group_paths());
        self.list_groups_in = (spent_ns / (LIST_GROUPS * self.budget_ns).max(1.0)) as u32;
        self.groups.retain(|path| paths.contains(path));
        paths.into_iter().for_each(|path| self.groups.add(path));
    }

    fn glance_at_groups(&mut self) {
        let count =
            affordable(GLANCE_GROUPS * self.budget_ns, self.costs.glance_group, GLANCES_MIN);
        let after = |path: &&String| self.glanced.as_ref().is_none_or(|last| *path > last);
        let next: Vec<String> = self.groups.keys().filter(after).take(count).cloned().collect();
        // After the last group the first has its turn again.
        self.glanced = next.last().filter(|_| next.len() == count).cloned();
        let files = &self.group_files;
        let (spent_ns, seen) =
            each_ns(CPU, 1, || next.iter().map(|path| files.glance(path)).collect::<Vec<_>>());
        learn(&mut self.costs.glance_group, spent_ns, seen.len());
        for (path, figures) in next.into_iter().zip(seen) {
            if let Some(figures) = figures {
                self.groups.saw(path, figures, false);
            }
        }
    }

    fn glance_at_tasks(&mut self) {
        let count = affordable(GLANCE_TASKS * self.budget_ns, self.costs.glance_task, GLANCES_MIN);
        let mut pids = self.next_of_list(count.div_ceil(2));
        // The processes of active groups do not wait for their turn, those of groups that take memory
        // first.
        let active = (0..FIGURES).rev().flat_map(|it| self.groups.most_active(it, GROUPS_ENTERED));
        for path in active {
            let left = count.saturating_sub(pids.len()).min(MEMBERS);
            if left == 0 {
                break;
            }
            pids.extend(self.group_files.members(path, left));
        }
        let (spent_ns, seen) = each_ns(CPU, 1, || {
            let seen = pids.iter().map(|pid| (*pid, glance::task(Path::new(PROC), *pid)));
            seen.collect::<Vec<_>>()
        });
        learn(&mut self.costs.glance_task, spent_ns, seen.len());
        let first_ns = self.first_boot_ns;
        for (pid, figures) in seen {
            match figures {
                None => self.tasks.remove(&pid),
                Some(_) if self.tasks.count() >= KNOWN_MAX => {}
                Some((figures, start_ticks)) => {
                    let is_new =
                        first_ns.is_some_and(|first| start_ticks * TICK_NS as u64 >= first);
                    self.tasks.saw(pid, figures, is_new);
                }
            }
        }
    }

    /// The next `count` processes of the list, which begins again at its end.
    fn next_of_list(&mut self, count: usize) -> BTreeSet<u32> {
        let mut pids = BTreeSet::new();
        let mut is_again = false;
        while pids.len() < count {
            let list = match &mut self.list {
                Some(list) => list,
                None => match fs::read_dir(PROC) {
                    Ok(list) => self.list.insert(list),
                    Err(_) => break,
                },
            };
            let Some(entry) = list.next() else {
                self.list = None;
                let listed = std::mem::take(&mut self.listed);
                self.tasks.retain(|pid| listed.contains(pid));
                // One list is enough for a look.
                if std::mem::replace(&mut is_again, true) || listed.len() <= count {
                    break;
                }
                continue;
            };
            if let Some(pid) = entry.ok().as_ref().and_then(pid_of) {
                self.listed.insert(pid);
                pids.insert(pid);
            }
        }
        pids
    }
}

/// Links of the folder of processes: the kernel counts each process as one (`fs/proc/root.c`).
fn links() -> u64 {
    fs::metadata(PROC).map_or(0, |folder| folder.nlink())
}

/// How many can be read for a time, however little it is at least so many.
fn affordable(share_ns: f64, each_ns: f64, least: usize) -> usize {
    ((share_ns / each_ns.max(1.0)) as usize).max(least)
}

/// Adds the cost of `count` to an average.
fn learn(average_ns: &mut f64, spent_ns: f64, count: usize) {
    if count > 0 {
        *average_ns += LATEST * (spent_ns / count as f64 - *average_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_large_budget_everything_is_read() {
        let mut bounded = BoundedSurvey::new(Survey::open(), 60_000_000_000);
        let taken = bounded.snapshot(7);
        assert_eq!((taken.at_ns, taken.left_out), (7, LeftOut::default()));
        assert!(taken.tasks.contains_key(&std::process::id()), "{:?}", taken.tasks.keys());
        let whole = Survey::open().snapshot(7);
        let groups = |snapshot: &Snapshot| snapshot.groups.len();
        assert!(groups(&taken).abs_diff(groups(&whole)) <= groups(&whole) / 4);
        assert!(taken.boot_ns.is_some());
    }

    #[test]
    fn processes_that_are_not_known_yet_are_left_out_too() {
        let taken = BoundedSurvey::new(Survey::open(), 1).snapshot(0);
        let (exist, seen) = (pids(Path::new(PROC)).count() as u64, taken.tasks.len() as u64);
        // Others begin and end meanwhile.
        let counted = taken.left_out.tasks + seen;
        assert!(counted.abs_diff(exist) <= exist / 2, "{counted} of {exist}, {seen} read");
    }

    #[test]
    fn with_a_small_budget_what_is_left_out_is_counted_and_each_has_its_turn() {
        let mut bounded = BoundedSurvey::new(Survey::open(), 1_000_000);
        let (mut seen, mut left_out) = (BTreeSet::new(), 0);
        for look in 0..400 {
            let taken = bounded.snapshot(look);
            left_out = left_out.max(taken.left_out.tasks);
            seen.extend(taken.tasks.into_keys());
            if seen.contains(&std::process::id()) && left_out > 0 {
                return;
            }
        }
        panic!("seen: {seen:?}, left out: {left_out}");
    }
}
