//! The agent's process.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::Stdio;

use agent::{Assignment, Waiter, Woken};
use keep::AgentProgram;
use model::{DeathRecord, EndStatus};
use sys::clock::monotonic_ns;
use sys::process::{KilledOnDrop, signal, signals, spawn_bound};

use crate::run_lines::{RunLines, Sink};

/// How long the agent may take to stop, in ns.
const STOP_NS: u64 = 3_000_000_000;
/// How far a run may exceed its schedule before it counts as stuck, in ns.
const GRACE_NS: u64 = 60_000_000_000;

/// How a run came to its end, as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The status of the run's `end` line.
    pub status: EndStatus,
    /// What the agent printed or how it ended, if it died or refused before its `end` line.
    pub death: Option<String>,
}

pub(crate) struct AgentProcess {
    child: KilledOnDrop,
}

impl AgentProcess {
    pub(crate) fn start(program: &AgentProgram, assignment: &Assignment) -> io::Result<Self> {
        let mut command = program.command(agent::ROLE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut agent = Self { child: KilledOnDrop(spawn_bound(&mut command)?) };
        let text = serde_json::to_vec(assignment).map_err(io::Error::other)?;
        if let Some(mut input) = agent.child.0.stdin.take()
            && let Err(error) = input.write_all(&text)
            // The listener reports an agent that died early.
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error);
        }
        Ok(agent)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Passes the agent's lines on until it ends; adds a missing `end` line. Fails as `sink`.
    pub(crate) fn listen(
        &mut self,
        assignment: &Assignment,
        waiter: &Waiter,
        sink: &mut Sink<'_>,
    ) -> io::Result<Outcome> {
        let mut lines = RunLines::default();
        let mut deadline_ns = monotonic_ns() + longest_ns(assignment);
        // When the run began. Lines arrive after they are written, so this is never too early.
        let mut origin_ns = u64::MAX;
        let mut asked = false;
        let mut output = self.child.0.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut bytes = [0; 65536];
        let stuck = loop {
            if waiter.stop_requested() && !asked {
                asked = true;
                signal(self.pid(), signals::TERM)?;
                deadline_ns = monotonic_ns() + STOP_NS;
            }
            match waiter.wait(Some(output.as_fd()), deadline_ns) {
                Woken::Signal => {}
                Woken::Time => break true,
                Woken::Readable => match output.read(&mut bytes) {
                    Ok(0) => break false,
                    Ok(count) => {
                        let now_ns = monotonic_ns();
                        lines.push(&bytes[..count], sink)?;
                        origin_ns = origin_ns.min(now_ns.saturating_sub(lines.last_ns));
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                },
            }
        };
        let status = if asked { EndStatus::Interrupted } else { EndStatus::Killed };
        self.conclude(&mut lines, (status, stuck), origin_ns, sink)
    }

    /// Reaps the agent; returns how it ended.
    fn conclude(
        &mut self,
        lines: &mut RunLines,
        (status, stuck): (EndStatus, bool),
        origin_ns: u64,
        sink: &mut Sink<'_>,
    ) -> io::Result<Outcome> {
        let ended_ns = monotonic_ns().saturating_sub(origin_ns);
        // Its output closes when it and its children have ended; otherwise it is stuck.
        signal(self.pid(), signals::KILL)?;
        let mut said = String::new();
        if let Some(errors) = self.child.0.stderr.take() {
            let _ = errors.take(4096).read_to_string(&mut said);
        }
        let exit = self.child.0.wait()?;
        if let Some(status) = lines.status {
            return Ok(Outcome { status, death: None });
        }
        let said = said.trim().to_owned();
        let cause = match (stuck, said.is_empty()) {
            (true, _) => "the agent was stuck and was killed".to_owned(),
            (false, true) => format!("the agent ended: {exit}"),
            (false, false) => said,
        };
        let death = DeathRecord { at_ns: ended_ns, cause: cause.clone(), log: Vec::new() };
        lines.end_early(ended_ns, status, Some(death), sink)?;
        Ok(Outcome { status, death: Some(cause) })
    }
}

fn longest_ns(assignment: &Assignment) -> u64 {
    let timing = &assignment.spec.timing;
    let work_ns = workloads::longest_ns(&assignment.spec.measure, timing);
    [timing.warmup_ns, timing.timeout_ns, GRACE_NS, GRACE_NS]
        .iter()
        .fold(work_ns, |sum, part| sum.saturating_add(*part))
}
