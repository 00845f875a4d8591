//! The tasks of a guest, each from its first to its last instruction: the program that it executes, its
//! user stacks, and what it executed in each interval.

use std::collections::{BTreeMap, HashMap};

use crate::nodes::put;
use crate::plan::AREAS;
use crate::user::UserStacks;

/// Instructions by area.
pub(crate) type ByArea = [u64; AREAS];
/// The number of no name.
pub(crate) const NO_NAME: u32 = u32::MAX;
/// Whatever executes before the first switch of a virtual CPU.
const FIRST: u32 = 0;
/// A program that began before the profile.
const OLD_PROGRAM: u32 = 0;
/// Beyond it nothing is recorded any more, and the file says so.
const MOST_LIVES: usize = 4 << 20;

/// A task from its beginning to its end; another one may have its address later.
pub(crate) struct Life {
    /// The number of its name when it was left last.
    pub(crate) name: u32,
    /// The program that it executes: a task that forks shares it with its child.
    pub(crate) program: u32,
    pub(crate) user: UserStacks,
}

/// All of them.
pub(crate) struct Lives {
    pub(crate) all: Vec<Life>,
    by_task: HashMap<u64, u32>,
    programs: u32,
    counts: BTreeMap<u32, ByArea>,
    /// The intervals before, encoded.
    pub(crate) intervals: Vec<u8>,
    pub(crate) is_full: bool,
}

impl Lives {
    pub(crate) fn new() -> Self {
        let mut lives = Self {
            all: Vec::new(),
            by_task: HashMap::new(),
            programs: OLD_PROGRAM,
            counts: BTreeMap::new(),
            intervals: Vec::new(),
            is_full: false,
        };
        lives.add(OLD_PROGRAM, UserStacks::default());
        lives
    }

    fn add(&mut self, program: u32, user: UserStacks) -> u32 {
        if self.all.len() == MOST_LIVES {
            self.is_full = true;
            return FIRST;
        }
        self.all.push(Life { name: NO_NAME, program, user });
        self.all.len() as u32 - 1
    }

    pub(crate) fn life(&self, number: u32) -> &Life {
        &self.all[number as usize]
    }

    pub(crate) fn life_mut(&mut self, number: u32) -> &mut Life {
        &mut self.all[number as usize]
    }

    /// The life of the task that is at an address now.
    pub(crate) fn of(&mut self, task: u64) -> u32 {
        if let Some(known) = self.by_task.get(&task) {
            return *known;
        }
        let number = self.add(OLD_PROGRAM, UserStacks::default());
        self.by_task.insert(task, number);
        number
    }

    /// A new task at an address, with the program and stacks of the one that made it.
    pub(crate) fn fork(&mut self, parent: u32, task: u64) {
        if let Some(ended) = self.by_task.get(&task).copied() {
            self.life_mut(ended).user = UserStacks::default();
        }
        let Life { program, user, .. } = self.life(parent);
        let number = self.add(*program, user.clone());
        self.by_task.insert(task, number);
    }

    /// A task begins another program.
    pub(crate) fn exec(&mut self, number: u32) {
        self.programs += 1;
        let program = self.programs;
        let life = self.life_mut(number);
        (life.program, life.user) = (program, UserStacks::default());
    }

    /// Adds what a task executed.
    pub(crate) fn count(&mut self, number: u32, areas: &mut ByArea) {
        let counts = self.counts.entry(number).or_default();
        for (count, more) in counts.iter_mut().zip(std::mem::take(areas)) {
            *count += more;
        }
    }

    /// Ends an interval: the number of its tasks, then for each the distance from the one before, and
    /// its instructions by area.
    pub(crate) fn cut(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        let counts: Vec<_> = counts.into_iter().filter(|it| it.1 != ByArea::default()).collect();
        put(&mut self.intervals, counts.len() as u64);
        let mut last = 0;
        for (number, areas) in counts {
            put(&mut self.intervals, u64::from(number - last));
            areas[1..].iter().for_each(|count| put(&mut self.intervals, *count));
            last = number;
        }
    }
}
