//! The prober: the timed process, inside the sandbox, which sleeps between its interactions.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until_ns};
use sys::process::{Exit, end, fork_child, usage, wait};
use workloads::{Interaction, Parts, Plan, Probe, Rhythm, Setting};

use crate::children::{enter_groups, wide_pipe};
use crate::due::Schedule;
use crate::record::{Kind, RECORD_BYTES, Record};
use crate::waiter::{Death, End, Waiter, Woken};

const READY_NS: u64 = 30_000_000_000;

pub(crate) struct Prober {
    pub(crate) pid: u32,
    pub(crate) records: File,
    start: PipeWriter,
    /// Its exit, once it was reaped.
    exit: Option<Exit>,
}

impl Prober {
    /// Forks the prober; its first record reports whether it is ready.
    pub(crate) fn start(
        probe: Probe,
        setting: &Setting,
        plan: &Plan,
        schedule: Schedule,
        enter: &[PathBuf],
    ) -> io::Result<Self> {
        let (records, writer) = wide_pipe()?;
        let (start_reader, start) = io::pipe()?;
        let pid = fork_child(|| {
            // The delay must be the system's, not the default timer slack.
            let _ = set_timer_slack_ns(1);
            let entered = enter_groups(enter).map_err(|error| error.to_string());
            let made = entered
                .and_then(|()| (probe.make)(setting, plan).map_err(|error| error.to_string()));
            match made {
                Ok(interaction) => {
                    follow(probe.rhythm, &writer, interaction, schedule, &start_reader)
                }
                Err(why) => (&writer).write_all(&Record::word(Kind::NotReady, why).encode()),
            }
            .map_or(1, |()| 0)
        })?;
        let records = File::from(std::os::fd::OwnedFd::from(records));
        Ok(Self { pid, records, start, exit: None })
    }

    pub(crate) fn await_ready(&mut self, waiter: &Waiter) -> Result<(), End> {
        let until_ns = monotonic_ns() + READY_NS;
        let late = "it is not ready after 30 s";
        while waiter.until_ready(self.records.as_fd(), until_ns, late)? != Woken::Readable {}
        match self.read_record() {
            Some(Record { kind: Kind::Ready, .. }) => Ok(()),
            Some(record) => Err(End::Failed(record.message)),
            None => Err(End::Died(self.await_death())),
        }
    }

    pub(crate) fn read_record(&mut self) -> Option<Record> {
        let mut bytes = [0; RECORD_BYTES];
        self.records.read_exact(&mut bytes).ok()?;
        Record::decode(&bytes)
    }

    /// Starts the schedule at a monotonic time.
    pub(crate) fn begin(&mut self, at_ns: u64) -> io::Result<()> {
        self.start.write_all(&at_ns.to_le_bytes())
    }

    /// Whether its process ended before its schedule.
    pub(crate) fn has_died(&mut self) -> bool {
        if self.exit.is_none() {
            self.exit = wait(self.pid, false).ok().flatten();
        }
        self.exit.is_some_and(|exit| exit != Exit::Code(0))
    }

    /// Waits for the end of a process that closed its pipe.
    pub(crate) fn await_death(&mut self) -> Death {
        self.exit = self.exit.or_else(|| wait(self.pid, true).ok().flatten());
        let unknown = || "its process cannot be waited for".to_owned();
        let how = self.exit.map_or_else(unknown, |exit| exit.to_string());
        Death { who: "the probe".to_owned(), how, exit: self.exit }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        if self.exit.is_none() {
            let _ = end([self.pid]);
        }
    }
}

fn follow(
    rhythm: Rhythm,
    mut writer: &PipeWriter,
    mut interaction: Box<dyn Interaction>,
    schedule: Schedule,
    mut start: &PipeReader,
) -> io::Result<()> {
    writer.write_all(&Record::word(Kind::Ready, String::new()).encode())?;
    let mut at_bytes = [0; 8];
    start.read_exact(&mut at_bytes)?;
    let origin_ns = u64::from_le_bytes(at_bytes);
    for offset_ns in schedule {
        let intended_ns = origin_ns + offset_ns;
        match rhythm {
            Rhythm::Interval => {
                let record = timed(interaction.as_mut(), intended_ns);
                // After the record: settling may only delay a start that is due already.
                writer.write_all(&record.encode())?;
                interaction.settle();
            }
            Rhythm::Periodic => {
                sleep_until_ns(intended_ns);
                let delay_ns = monotonic_ns().saturating_sub(intended_ns);
                writer.write_all(&delay_ns.to_le_bytes())?;
            }
        }
    }
    Ok(())
}

/// Sleeps until the intended start, if it is in the future, then interacts.
fn timed(interaction: &mut dyn Interaction, intended_ns: u64) -> Record {
    let mut parts = Parts::default();
    let before = usage();
    sleep_until_ns(intended_ns);
    let started_ns = monotonic_ns();
    let outcome = interaction.interact(&mut parts);
    let completed_ns = monotonic_ns();
    let after = usage();
    let (kind, message) = match outcome {
        Ok(()) => (Kind::Sample, String::new()),
        Err(error) => (Kind::Failed, error.to_string()),
    };
    Record { kind, started_ns, completed_ns, parts, before, after, message }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use model::Timing;
    use sys::clock::is_readable;

    use super::*;

    /// An interaction that looks, while it settles, whether its record is in the pipe.
    struct Settling {
        records: PipeReader,
        sent: Arc<AtomicBool>,
    }

    impl Interaction for Settling {
        fn interact(&mut self, _: &mut Parts) -> Result<(), workloads::WorkloadError> {
            // Discards the prober's ready record.
            let _ = self.records.read_exact(&mut [0; RECORD_BYTES]);
            Ok(())
        }

        fn settle(&mut self) {
            self.sent.store(is_readable(&self.records, 0), Ordering::Relaxed);
        }
    }

    #[test]
    fn an_interaction_is_reported_before_it_settles() {
        let (records, writer) = io::pipe().expect("a pipe");
        let (start, mut starter) = io::pipe().expect("a pipe");
        starter.write_all(&monotonic_ns().to_le_bytes()).expect("the start");
        let timing = Timing {
            profile: "custom".to_owned(),
            interval_ns: 1,
            points: 1,
            warmup_ns: 0,
            timeout_ns: 0,
        };
        let sent = Arc::new(AtomicBool::new(false));
        let interaction = Box::new(Settling { records, sent: Arc::clone(&sent) });
        let schedule = Schedule::by_interval(&timing);
        follow(Rhythm::Interval, &writer, interaction, schedule, &start).expect("the schedule");
        assert!(sent.load(Ordering::Relaxed));
    }
}
