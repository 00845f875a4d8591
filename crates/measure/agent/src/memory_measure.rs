//! The measuring phase of a memory job: rounds or windows are passes, until they are steady.

use std::io::{self, Write};
use std::os::fd::AsFd;

use jobs::{MemoryJob, TouchPlan};
use model::units::format_duration;
use model::{EndStatus, Line, PassRecord};
use steady::steady_from;
use sys::clock::monotonic_ns;
use sys::process::Usage;

use crate::load::LoadGroup;
use crate::memory_counters::{Message, Totals, last_end_ns, totals};
use crate::memory_group::MemoryGroup;
use crate::observer::Observer;
use crate::record::named_usage;
use crate::waiter::{End, Woken};

/// Windows in the measured time.
const WINDOWS: u64 = 10;
/// Shortest window, in ns: processes update their counters every few ms.
const WINDOW_NS: u64 = 20_000_000;

pub(crate) struct MemoryMeasuring<'m, 'a, 's, W> {
    observer: &'m mut Observer<'a, W>,
    load: &'m mut LoadGroup<'s>,
    group: &'m mut MemoryGroup,
    work: &'m MemoryJob,
    loops: Option<u64>,
    /// Duration of each pass in ns, and its time per touch.
    passes: Vec<(u64, f64)>,
    /// Passes that began before each place had been touched once.
    cold: usize,
    /// Whether the loss of the page-walk counter was reported.
    walks_lost: bool,
    under_way: Option<UnderWay>,
}

struct UnderWay {
    started_ns: u64,
    /// Totals before it; 0 for a round, which clears the counters.
    before: Totals,
    walks: Option<u64>,
}

impl<'m, 'a, 's, W: Write> MemoryMeasuring<'m, 'a, 's, W> {
    pub(crate) fn new(
        observer: &'m mut Observer<'a, W>,
        load: &'m mut LoadGroup<'s>,
        group: &'m mut MemoryGroup,
        work: &'m MemoryJob,
        loops: Option<u64>,
    ) -> Self {
        let (passes, cold, walks_lost) = (Vec::new(), 0, false);
        Self { observer, load, group, work, loops, passes, cold, walks_lost, under_way: None }
    }

    /// Runs the job and returns how it ended; its work is then in the passes, unless it died.
    pub(crate) fn until_steady(mut self) -> io::Result<EndStatus> {
        let end = match self.work {
            MemoryJob::Vmtest(_) => self.rounds(),
            MemoryJob::Touch(plan) => self.windows(plan),
        };
        // When a job dies, not all processes worked in the current pass.
        if !matches!(end, Err(End::Died(_) | End::Io(_))) {
            self.write_cut_pass("when the run ended")?;
        }
        self.observer.status(end)
    }

    fn rounds(&mut self) -> Result<(), End> {
        let until_ns = monotonic_ns().saturating_add(self.work.limit_ns());
        while monotonic_ns() < until_ns {
            let (started_ns, walks) = (monotonic_ns(), self.page_walks()?);
            // The counters begin at 0 in each round.
            self.under_way = Some(UnderWay { started_ns, before: Totals::default(), walks });
            self.group.begin();
            let Some(messages) = self.wait(until_ns)? else { break };
            let page_walks = self.walks_since(walks)?;
            for message in messages {
                if let Message::Round { started_ns, completed_ns, touches, usage } = message {
                    let done = Totals { touches, first: 0, usage: Usage(usage) };
                    self.write_pass(started_ns, completed_ns, &done, page_walks)?;
                }
            }
            if self.is_done() {
                return Ok(());
            }
        }
        self.write_cut_pass("at the limit")?;
        Ok(self.warn_unsteady()?)
    }

    /// Writes the pass that was cut by the end, if there was one.
    fn write_cut_pass(&mut self, when: &str) -> io::Result<()> {
        let Some(pass) = self.under_way.take() else { return Ok(()) };
        let page_walks = self.walks_since(pass.walks)?;
        let done = totals(&self.group.shared).since(&pass.before);
        self.write_pass(pass.started_ns, monotonic_ns(), &done, page_walks)?;
        let what = if self.is_touch() { "window" } else { "round" };
        self.observer.output.warning(format!(
            "{what} {} was cut short {when}: it counts with the work done by then",
            self.passes.len() - 1
        ))
    }

    fn windows(&mut self, plan: &TouchPlan) -> Result<(), End> {
        let window_ns = (plan.time_ns / WINDOWS).max(WINDOW_NS);
        let (mut before, mut walks) = (totals(&self.group.shared), self.page_walks()?);
        let mut started_ns = monotonic_ns();
        let until_ns = started_ns.saturating_add(plan.limit_ns);
        let mut next_ns = started_ns + window_ns;
        let mut working = plan.processes;
        self.group.begin();
        loop {
            self.under_way = Some(UnderWay { started_ns, before, walks });
            if let Some(messages) = self.wait(next_ns.min(until_ns))? {
                working -=
                    messages.iter().filter(|message| **message == Message::Done).count() as u64;
                if working > 0 {
                    continue;
                }
            }
            let after = totals(&self.group.shared);
            let now_ns = monotonic_ns();
            if after.touches == before.touches && now_ns < until_ns && working > 0 {
                // All stalled: extend the window, so that it has a time per touch.
                next_ns = now_ns + window_ns;
                continue;
            }
            let completed_ns = match working {
                0 => last_end_ns(&self.group.shared, plan.processes as usize),
                _ => now_ns,
            };
            let page_walks = self.walks_since(walks)?;
            self.write_pass(started_ns, completed_ns, &after.since(&before), page_walks)?;
            if before.first < plan.first_touches().saturating_mul(plan.processes) {
                self.cold = self.passes.len();
            }
            if working == 0 || plan.work == 0 && self.is_done() {
                return Ok(());
            }
            if now_ns >= until_ns && plan.work > 0 {
                return Ok(self.warn_undone(working)?);
            }
            if now_ns >= until_ns {
                return Ok(self.warn_unsteady()?);
            }
            (before, started_ns) = match plan.work {
                // Reading the counters cost the processes time, which belongs to no window.
                0 => (totals(&self.group.shared), monotonic_ns()),
                // With a fixed amount of work every touch counts, and all of its time.
                _ => (after, completed_ns),
            };
            walks = self.page_walks()?;
            next_ns = monotonic_ns() + window_ns;
        }
    }

    /// Waits for messages of the processes; `None` at the deadline.
    fn wait(&mut self, until_ns: u64) -> Result<Option<Vec<Message>>, End> {
        loop {
            let fd = Some(self.group.messages.as_fd());
            let woken = self.observer.wait(self.load, fd, until_ns)?;
            if woken == Woken::Time {
                return Ok(None);
            }
            if woken == Woken::Readable {
                let messages: Vec<Message> = self.group.messages.read()?;
                if !messages.is_empty() {
                    return Ok(Some(messages));
                }
            }
            if let Some(death) = self.group.dead() {
                return Err(End::Died(death));
            }
        }
    }

    fn is_touch(&self) -> bool {
        matches!(self.work, MemoryJob::Touch(_))
    }

    fn write_pass(
        &mut self,
        started_ns: u64,
        completed_ns: u64,
        done: &Totals,
        page_walks: Option<u64>,
    ) -> io::Result<()> {
        self.under_way = None;
        let elapsed_ns = completed_ns.saturating_sub(started_ns);
        let mut usage = named_usage(&done.usage);
        usage.insert("touches".into(), done.touches);
        usage.insert("processes".into(), self.work.processes());
        let first = self.is_touch().then_some(done.first);
        let rest = [("first_touches", first), ("loops", self.loops), ("page_walks", page_walks)];
        usage.extend(rest.into_iter().filter_map(|(name, number)| Some((name.into(), number?))));
        let output = &mut self.observer.output;
        let record = PassRecord {
            at_ns: output.now_ns(),
            worker: 0,
            pass: self.passes.len() as u32,
            started_ns: output.relative_ns(started_ns),
            completed_ns: output.relative_ns(completed_ns),
            usage,
        };
        output.line(&Line::Pass(Box::new(record)))?;
        self.passes.push((elapsed_ns, elapsed_ns.max(1) as f64 / done.touches as f64));
        self.observer.write_counters(self.load)
    }

    /// Whether the steady state was measured for long enough.
    fn is_done(&self) -> bool {
        let warm = &self.passes[self.cold..];
        let costs: Vec<f64> = warm.iter().map(|(_, cost)| *cost).collect();
        let steady_ns = steady_from(&costs)
            .map_or(0, |from| warm[from..].iter().map(|(elapsed_ns, _)| elapsed_ns).sum());
        steady_ns >= self.work.time_ns()
    }

    fn warn_unsteady(&mut self) -> io::Result<()> {
        let limit = format_duration(self.work.limit_ns());
        let time = format_duration(self.work.time_ns());
        self.observer.output.warning(format!(
            "no steady state of {time} within limit={limit}: the time of a touch still changes, or \
             there are too few passes to judge; give it a larger limit"
        ))
    }

    fn warn_undone(&mut self, working: u64) -> io::Result<()> {
        let limit = format_duration(self.work.limit_ns());
        self.observer.output.warning(format!(
            "{working} of {} processes had not finished their work within limit={limit}: \
             the pass counts with the work done by then",
            self.work.processes()
        ))
    }

    /// Page walks so far; a failure is reported once.
    fn page_walks(&mut self) -> io::Result<Option<u64>> {
        match self.group.page_walks() {
            Some(Ok(walks)) => Ok(Some(walks)),
            Some(Err(error)) if !self.walks_lost => {
                self.walks_lost = true;
                let text = format!("page walks are no longer counted: {error}");
                self.observer.output.warning(text).map(|()| None)
            }
            _ => Ok(None),
        }
    }

    fn walks_since(&mut self, before: Option<u64>) -> io::Result<Option<u64>> {
        let after = self.page_walks()?;
        Ok(after.zip(before).map(|(after, before)| after.saturating_sub(before)))
    }
}
