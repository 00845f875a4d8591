//! The machines of runs, each set up on first use.

use std::path::Path;

use agent::Waiter;
use keep::Cells;
use model::{Spec, SubjectSpec, VmSpec};
use remote::{RunEvent, Session};
use subject::{LocalSubject, Stage, StageError};
use vm::Vm;

use crate::deterministic::Deterministic;
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::event::Event;
use crate::plan::CellPlan;
use crate::subject_arg::{self, RemoteArg, SubjectArg};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Executor {
    Stage,
    /// The session of this index.
    Remote(usize),
    /// The guest machine of this index.
    Guest(usize),
    Simulator,
}

impl Executor {
    /// Whether it is a real machine, which takes part in what it makes.
    pub(crate) fn is_measured(self) -> bool {
        matches!(self, Self::Stage | Self::Remote(_))
    }
}

pub(crate) struct Order {
    pub(crate) run_id: String,
    /// Its name in progress.
    pub(crate) label: String,
    /// Index of its cell, or its position in the order of a matrix.
    pub(crate) cell: usize,
    pub(crate) spec: Spec,
    pub(crate) at: Executor,
}

/// What executes a cell's runs, and the subject as their headers describe it.
pub(crate) type CellTarget = (Executor, SubjectSpec);

#[derive(Default)]
pub(crate) struct Machines {
    /// This host, with its swap file.
    stage: Option<(Option<u64>, Stage)>,
    /// Sessions on other hosts, with their swap files.
    sessions: Vec<(Option<u64>, Session)>,
    guests: Vec<(VmSpec, Vm)>,
    /// The store of finished simulations.
    simulated: Option<Cells>,
}

impl Machines {
    /// The machine that a cell needs, with all its settings tried on it. `purpose` is the purpose
    /// of a session on another host.
    pub(crate) fn place(
        &mut self,
        cell: &CellPlan,
        purpose: &Path,
        driver: &mut Driver<'_>,
    ) -> Result<CellTarget> {
        match &cell.subject {
            Some(SubjectArg::Vm(request)) => {
                let (spec, note) = subject_arg::vm_spec(request);
                let index = self.guest_index(&spec, note, driver)?;
                Ok((Executor::Guest(index), SubjectSpec::Vm(Box::new(spec))))
            }
            Some(SubjectArg::Mmu(mmu)) => {
                self.simulated = driver.options.simulated();
                Ok((Executor::Simulator, SubjectSpec::Mmu(mmu.clone())))
            }
            Some(SubjectArg::Remote(remote)) => self.on_remote(cell, remote, purpose, driver),
            Some(SubjectArg::Here(asked)) => self.on_stage(cell, Some(asked), driver),
            None => self.on_stage(cell, None, driver),
        }
    }

    fn on_stage(
        &mut self,
        cell: &CellPlan,
        asked: Option<&LocalSubject>,
        driver: &mut Driver<'_>,
    ) -> Result<CellTarget> {
        let (swap_bytes, stage) = match &mut self.stage {
            Some(known) => known,
            None => {
                let options = driver.options.stage(cell.swap_bytes);
                let agent = instrument::program()
                    .map_err(|error| ExperimentError::NotMeasured(error.to_string()))?;
                let stage = Stage::set(options, agent.clone(), driver.waiter)?;
                stage.notes().into_iter().for_each(|note| driver.note_once(note));
                self.stage.insert((cell.swap_bytes, stage))
            }
        };
        if *swap_bytes != cell.swap_bytes {
            return Err(ExperimentError::NotMeasured(
                "swap: the swap file of this host is the same in all cells; vary it in a guest \
                 (subject.swap) instead"
                    .to_owned(),
            ));
        }
        let (subject, note) =
            subject::resolve(asked, stage).map_err(ExperimentError::NotMeasured)?;
        note.into_iter().for_each(|note| driver.note_once(note));
        let problems = stage.try_parameters(&cell.sysctls);
        match problems.is_empty() {
            true => Ok((Executor::Stage, subject)),
            false => {
                let problems: Vec<String> = problems.iter().map(StageError::to_string).collect();
                Err(ExperimentError::NotMeasured(problems.join("; ")))
            }
        }
    }

    fn on_remote(
        &mut self,
        cell: &CellPlan,
        remote: &RemoteArg,
        purpose: &Path,
        driver: &mut Driver<'_>,
    ) -> Result<CellTarget> {
        let Driver { options, waiter, on_event, .. } = driver;
        let say = &mut |text: &str| on_event(&Event::Note { text });
        let address = &remote.address;
        let known = self.sessions.iter().position(|(_, known)| known.address() == address);
        let index = match known {
            Some(index) if self.sessions[index].0 == cell.swap_bytes => index,
            Some(_) => {
                return Err(ExperimentError::NotMeasured(format!(
                    "swap: the swap file of {address} is the same in all cells"
                )));
            }
            None => {
                let mut remote = options.remote.clone();
                remote.purpose = purpose.to_owned();
                remote.stage = options.stage(cell.swap_bytes);
                let session = Session::open(address, &remote, waiter, say)?;
                self.sessions.push((cell.swap_bytes, session));
                self.sessions.len() - 1
            }
        };
        let session = &mut self.sessions[index].1;
        let (subject, note) =
            session.prepare(remote.subject.as_ref(), &cell.sysctls, waiter, say)?;
        note.into_iter().for_each(|note| driver.note_once(format!("{address}: {note}")));
        Ok((Executor::Remote(index), subject))
    }

    /// The index of a guest machine, booted unless an earlier cell has the same.
    fn guest_index(
        &mut self,
        spec: &VmSpec,
        note: Option<String>,
        driver: &mut Driver<'_>,
    ) -> Result<usize> {
        if let Some(index) = self.guests.iter().position(|(other, _)| other == spec) {
            return Ok(index);
        }
        note.into_iter().for_each(|note| driver.note_once(note));
        let overlay = spec.overlay.as_ref().map_or_else(String::new, |path| format!(", {path}"));
        let root = spec.root.as_ref().map_or_else(String::new, |root| format!(", {}", root.name));
        driver.note_once(format!("{} with {}{overlay}{root}", spec.machine.name, spec.kernel));
        let Driver { options, waiter, on_event, .. } = driver;
        let stop = || waiter.stop_requested();
        let say = &mut |text: &str| on_event(&Event::Note { text });
        let vm = Vm::prepare(spec, &options.guests(), &stop, say)?;
        self.guests.push((spec.clone(), vm));
        Ok(self.guests.len() - 1)
    }

    /// The guest machine, if the runs use one.
    pub(crate) fn guest(&self, at: Executor) -> Option<&Vm> {
        match at {
            Executor::Guest(index) => self.guests.get(index).map(|(_, vm)| vm),
            _ => None,
        }
    }

    /// What makes the runs, if they are exactly repeatable.
    pub(crate) fn deterministic(&self, at: Executor) -> Option<Deterministic<'_>> {
        match at {
            Executor::Simulator => Some(Deterministic::Simulator(self.simulated.as_ref())),
            at => self.guest(at).map(Deterministic::Guest),
        }
    }

    /// The address of the other host, if the runs use one.
    pub(crate) fn address(&self, at: Executor) -> Option<String> {
        match at {
            Executor::Remote(index) => Some(self.sessions[index].1.address().to_string()),
            _ => None,
        }
    }

    /// Host memory of the largest guest, in bytes; `None` without a guest.
    pub(crate) fn largest_guest_bytes(&self) -> Option<u64> {
        self.guests.iter().map(|(_, vm)| vm.memory_bytes()).max()
    }

    /// Waits until the last run has no effect on the next. Sessions do so themselves.
    pub(crate) fn settle(&self, at: Executor, waiter: &Waiter) {
        if let (Executor::Stage, Some((_, stage))) = (at, &self.stage) {
            stage.settle(waiter);
        }
    }

    /// Executes one run on a real machine; returns why it has no end, if it has none.
    pub(crate) fn measure(
        &mut self,
        order: &Order,
        folder: &Path,
        waiter: &Waiter,
        hear: &mut dyn FnMut(RunEvent<'_>) -> std::io::Result<()>,
    ) -> Result<Option<String>> {
        let Order { spec, run_id, at, .. } = order;
        let outcome = match (at, &mut self.stage) {
            (Executor::Remote(index), _) => {
                self.sessions[*index].1.run(spec, run_id, folder, waiter, hear)?
            }
            (_, Some((_, stage))) => stage
                .run(spec, run_id, waiter, &mut |bytes, line| hear(RunEvent::Line(bytes, line)))?,
            (_, None) => return Err(ExperimentError::NotMeasured("there is no stage".to_owned())),
        };
        Ok(outcome.death)
    }

    /// Removes what was created on this host and others, and notes what cannot be removed.
    pub(crate) fn close(&mut self, driver: &mut Driver<'_>) {
        let stage = self.stage.as_mut();
        let mut all = stage.map_or_else(Vec::new, |(_, stage)| stage.remove_all());
        all.extend(self.sessions.iter_mut().flat_map(|(_, session)| session.close(driver.waiter)));
        for left in all {
            driver.note(&format!("cannot be removed, the next start tries again: {left}"));
        }
    }
}
