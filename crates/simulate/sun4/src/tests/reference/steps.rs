//! Executes the next step of a process's program.

use rand::RngExt;

use super::{Doing, Model, TICK_NS};
use crate::outcome::{HatCounts, ProcessOutcome};
use crate::program::{Path, Step};

impl Model<'_> {
    /// The running process does one thing: a touch, a fault, a system call.
    pub(super) fn advance(&mut self, process: usize) {
        if std::mem::take(&mut self.processes[process].is_resuming) && self.resume(process) {
            return;
        }
        let scene = self.scene;
        let at = &mut self.processes[process];
        match scene.programs[at.program].steps.get(at.step) {
            None => self.exit(process),
            Some(Step::Touch(path, times)) => self.touch(process, path, *times),
            Some(Step::Exec) => {
                let layout = &scene.programs[at.program].layout;
                at.step += 1;
                self.hat.exec(process, layout);
                self.spend(process, self.prices.paths_ns.exec, 0);
            }
            Some(Step::Compute(cycles)) => {
                let all_ns = self.prices.cycles_ns(*cycles);
                let left_ns = at.compute_ns.take().unwrap_or(all_ns);
                let now_ns = left_ns.min((self.ticks + 1) * TICK_NS - self.now_ns);
                if now_ns < left_ns {
                    at.compute_ns = Some(left_ns - now_ns);
                } else {
                    at.step += 1;
                }
                self.spend(process, 0, now_ns);
            }
            Some(Step::Sleep(sleep_ns)) => {
                at.step += 1;
                self.spend(process, self.prices.paths_ns.sleep, 0);
                let is_late = self.rng.random_range(0..1000) < self.setup.system.jitter_permille;
                let tick = (self.now_ns + sleep_ns).div_ceil(TICK_NS).max(self.ticks + 1);
                self.processes[process].wakes_at_tick = Some(tick + u64::from(is_late));
                self.block(process, false);
            }
            Some(Step::Fork(program)) => {
                at.step += 1;
                at.children += 1;
                let child = self.make(*program, Some(process));
                let pages = self.hat.fork(process, child);
                let cost_ns = self.prices.paths_ns.fork + pages * self.prices.paths_ns.fork_page;
                self.spend(process, cost_ns, 0);
                self.queue.add();
                self.queue.enter(child);
            }
            Some(Step::Look(back)) => self.look(process, *back),
            Some(Step::Wait) => self.wait(process),
            Some(Step::Again(back, times)) => {
                let left = at.again.remove(&at.step).unwrap_or(*times);
                if left > 0 {
                    at.again.insert(at.step, left - 1);
                    at.step = at.step.saturating_sub(*back);
                } else {
                    at.step += 1;
                }
            }
            Some(step) => self.answer_or_call(process, step),
        }
    }

    fn look(&mut self, process: usize, back: usize) {
        let at = &mut self.processes[process];
        if at.ended_children > 0 {
            at.ended_children -= 1;
            at.children -= 1;
        }
        at.step = if at.children > 0 { at.step.saturating_sub(back) } else { at.step + 1 };
        self.spend(process, self.prices.paths_ns.wait, 0);
    }

    fn wait(&mut self, process: usize) {
        let at = &mut self.processes[process];
        if at.children > 0 && at.ended_children == 0 {
            self.block(process, true);
            return;
        }
        if at.children > 0 {
            at.ended_children -= 1;
            at.children -= 1;
        }
        at.step += 1;
        self.spend(process, self.prices.paths_ns.wait, 0);
    }

    fn answer_or_call(&mut self, process: usize, step: &Step) {
        let at = &mut self.processes[process];
        let system_call_ns = self.prices.paths_ns.wait;
        match step {
            Step::Call(service) => {
                at.step += 1;
                self.spend(process, system_call_ns, 0);
                self.block(process, false);
                self.callers.entry(*service).or_default().push(process);
                let servers = self.servers.entry(*service).or_default();
                if !servers.is_empty() {
                    let server = servers.remove(0);
                    self.wake(server);
                }
            }
            Step::Serve(service) => {
                let callers = self.callers.entry(*service).or_default();
                if callers.is_empty() {
                    self.servers.entry(*service).or_default().push(process);
                    self.block(process, false);
                    return;
                }
                at.callers.push(callers.remove(0));
                at.step += 1;
                self.spend(process, system_call_ns, 0);
            }
            Step::Reply => {
                at.step += 1;
                self.spend(process, system_call_ns, 0);
                self.reply(process);
            }
            Step::Begin => {
                at.step += 1;
                self.begin();
            }
            Step::Answer => {
                at.step += 1;
                at.outcome.responses_ns.push(self.now_ns - at.woken_ns);
            }
            _ => unreachable!("all others are done elsewhere"),
        }
    }

    /// A process that was touching memory touches its stack first; returns whether it had to.
    fn resume(&mut self, process: usize) -> bool {
        let at = &self.processes[process];
        let Some(stack) = self.scene.programs[at.program].resume.filter(|_| at.is_touching) else {
            return false;
        };
        let slot = stack.slot as usize;
        for page in (0..64).filter(|page| stack.pages >> page & 1 == 1) {
            while !self.hat.is_ready(process, slot, page, true) {
                let before = self.hat.faults;
                let cost = self.hat.fault(process, slot, page, true);
                self.processes[process].outcome.translation_faults += self.hat.faults - before;
                self.take_events();
                self.spend(process, cost.0 + cost.1, 0);
            }
        }
        self.hat.visit(process, slot);
        true
    }

    pub(super) fn reply(&mut self, process: usize) {
        while !self.processes[process].callers.is_empty() {
            let caller = self.processes[process].callers.remove(0);
            self.wake(caller);
        }
    }

    fn begin(&mut self) {
        self.hat.counts = HatCounts::default();
        self.hat.faults = 0;
        self.hat.steals = 0;
        self.hat.loads = 0;
        self.hat.software_steals = 0;
        self.idle_ns = 0;
        self.switches = 0;
        for process in &mut self.processes {
            if process.doing == Doing::Ended {
                process.is_forgotten = true;
                process.is_measured = false;
            }
            let name = process.outcome.name.clone();
            process.outcome =
                ProcessOutcome { name, started_ns: self.now_ns, ..ProcessOutcome::default() };
        }
    }

    fn exit(&mut self, process: usize) {
        let (pages, had_context) = self.hat.exit(process);
        let flush_ns = if had_context { self.prices.flush_ns } else { 0 };
        let cost_ns = self.prices.paths_ns.exit + pages * self.prices.paths_ns.exit_page + flush_ns;
        self.spend(process, cost_ns, 0);
        self.reply(process);
        self.queue.end(process);
        self.current = None;
        self.processes[process].doing = Doing::Ended;
        self.processes[process].outcome.ended_ns = self.now_ns;
        let Some(parent) = self.processes[process].parent else { return };
        self.processes[parent].ended_children += 1;
        if matches!(self.processes[parent].doing, Doing::Sleeps { awaits_child: true, .. }) {
            self.wake(parent);
        }
    }

    /// One touch, or the fault before it.
    fn touch(&mut self, process: usize, path: &Path, times: u64) {
        let all = path.visits.iter().map(|visit| visit.touches()).sum::<u64>() * times;
        let at = &mut self.processes[process];
        if all == 0 {
            at.step += 1;
            return;
        }
        at.is_touching = true;
        let (slot, page) = nth(path, at.touched);
        self.hat.visit(process, slot);
        if self.hat.is_ready(process, slot, page, path.is_write) {
            at.touched += 1;
            at.outcome.touches += 1;
            if at.touched == all {
                at.touched = 0;
                at.is_touching = false;
                at.step += 1;
            }
            self.spend(process, 0, self.prices.touch_ns);
            return;
        }
        let before = self.hat.faults;
        let cost = self.hat.fault(process, slot, page, path.is_write);
        self.processes[process].outcome.translation_faults += self.hat.faults - before;
        self.take_events();
        self.spend(process, cost.0, cost.1);
    }
}

/// Segment and page of the n-th touch of a path that is touched again and again.
fn nth(path: &Path, touch: u64) -> (usize, usize) {
    let mut left = touch % path.visits.iter().map(|visit| visit.touches()).sum::<u64>();
    for visit in &path.visits {
        for page in (0..64).filter(|page| visit.pages >> page & 1 == 1) {
            if left < visit.touches_a_page {
                return (visit.slot as usize, page);
            }
            left -= visit.touches_a_page;
        }
    }
    unreachable!("a touch is of a page")
}
