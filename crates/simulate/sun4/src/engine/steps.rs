//! The steps of a process.

use super::{Engine, State};
use crate::program::Step;

impl Engine<'_> {
    /// Runs a process until the clock interrupts, or until it blocks or ends.
    pub(super) fn run_process(&mut self, process: usize) {
        while self.unseen.is_empty() && self.current == Some(process) && !self.must_switch {
            let scene = self.scene;
            let at = &mut self.processes[process];
            let resume = scene.programs[at.program].resume.filter(|_| at.place.times > 0);
            if std::mem::take(&mut at.is_resuming)
                && let Some(visit) = resume
            {
                self.resume(process, &visit);
                continue;
            }
            match scene.programs[at.program].steps.get(at.step) {
                None => self.exit(process),
                Some(Step::Touch(path, times)) => self.touch(process, path, *times),
                Some(step) => self.step(process, step),
            }
        }
    }

    fn step(&mut self, process: usize, step: &Step) {
        let prices = self.hat.prices;
        match step {
            Step::Exec => {
                let layout = &self.scene.programs[self.processes[process].program].layout;
                self.hat.exec(process, layout);
                self.next_step(process);
                self.spend(process, prices.paths_ns.exec, 0);
            }
            Step::Compute(cycles) => self.compute(process, *cycles),
            Step::Sleep(sleep_ns) => {
                self.next_step(process);
                self.spend(process, prices.paths_ns.sleep, 0);
                let due = self.due(*sleep_ns);
                self.timers.insert((due, process));
                self.block(process, false);
            }
            Step::Fork(program) => self.fork(process, *program),
            Step::Look(back) => {
                let at = &mut self.processes[process];
                if at.ended > 0 {
                    (at.ended, at.children) = (at.ended - 1, at.children - 1);
                }
                at.step =
                    if at.children > 0 { at.step - (*back).min(at.step) } else { at.step + 1 };
                self.spend(process, prices.paths_ns.wait, 0);
            }
            Step::Wait => self.wait(process),
            Step::Again(back, times) => {
                let at = &mut self.processes[process];
                let left = at.again.entry(at.step).or_insert(*times);
                if *left > 0 {
                    *left = left.saturating_sub(1);
                    at.step -= (*back).min(at.step);
                } else {
                    at.again.remove(&at.step);
                    at.step += 1;
                }
            }
            Step::Call(service) => self.call(process, *service),
            Step::Serve(service) => self.serve(process, *service),
            Step::Reply => self.reply(process),
            Step::Begin => self.begin(process),
            Step::Answer => self.answer(process),
            Step::Touch(..) => {}
        }
    }

    pub(super) fn next_step(&mut self, process: usize) {
        self.processes[process].step += 1;
    }

    /// Computes until the next tick, or until it is done.
    fn compute(&mut self, process: usize, cycles: u64) {
        let all_ns = self.hat.prices.cycles_ns(cycles);
        let left_ns = self.processes[process].compute_ns.unwrap_or(all_ns);
        let now_ns = left_ns.min(self.next_tick_ns() - self.now_ns);
        let at = &mut self.processes[process];
        if now_ns == left_ns {
            at.compute_ns = None;
            at.step += 1;
        } else {
            at.compute_ns = Some(left_ns - now_ns);
        }
        self.spend(process, 0, now_ns);
    }

    fn fork(&mut self, parent: usize, program: usize) {
        let child = self.spawn(program, Some(parent));
        let pages = self.hat.fork(parent, child);
        self.processes[parent].children += 1;
        self.next_step(parent);
        let prices = self.hat.prices;
        self.spend(parent, prices.paths_ns.fork + pages * prices.paths_ns.fork_page, 0);
        self.scheduler.add(false);
    }

    fn wait(&mut self, process: usize) {
        let at = &mut self.processes[process];
        if at.children > 0 && at.ended == 0 {
            self.block(process, true);
            return;
        }
        if at.children > 0 {
            (at.ended, at.children) = (at.ended - 1, at.children - 1);
        }
        at.step += 1;
        self.spend(process, self.hat.prices.paths_ns.wait, 0);
    }

    fn exit(&mut self, process: usize) {
        let (pages, had_context) = self.hat.exit(process);
        let prices = self.hat.prices;
        let flush_ns = if had_context { prices.flush_ns } else { 0 };
        self.spend(process, prices.paths_ns.exit + pages * prices.paths_ns.exit_page + flush_ns, 0);
        self.release_callers(process);
        self.scheduler.end(process);
        self.current = None;
        let at = &mut self.processes[process];
        at.state = State::Ended;
        at.outcome.ended_ns = self.now_ns;
        self.measured -= usize::from(at.is_measured);
        self.awaited -= usize::from(at.is_awaited);
        let Some(parent) = at.parent else { return };
        let of = &mut self.processes[parent];
        of.ended += 1;
        if matches!(of.state, State::Asleep { for_child: true, .. }) {
            self.wake(parent);
        }
    }
}
