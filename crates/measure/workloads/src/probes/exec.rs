//! `exec`: fork and execute the smallest command, until its first write arrives.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use sys::clock::{is_readable, monotonic_ns};
use sys::process::{Program, wait};

use super::elf;
use crate::{
    Interaction, Parts, Plan, Probe, ProbeResult, Rhythm, Setting, Work, Workload, WorkloadError,
    at,
};

pub(crate) const PROBE: Workload = Workload {
    name: "exec",
    about: "fork and execute a tiny static program, until its first write",
    measures: &["fork_ns", "first_write_ns"],
    ..Workload::new(Work::Probe(Probe { rhythm: Rhythm::Interval, plan, make }))
};

fn plan(_: &Setting) -> Plan {
    Plan::new(0, [("program_bytes", elf::tiny_program().len() as u64)])
}

struct Exec {
    program: Program,
    child: Option<u32>,
    reader: std::io::PipeReader,
    writer: std::io::PipeWriter,
}

fn make(setting: &Setting, _: &Plan) -> ProbeResult {
    let path = setting.work_dir.join("tiny");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(&path)
        .map_err(at("create the tiny program"))?;
    file.write_all(&elf::tiny_program()).map_err(at("write the tiny program"))?;
    file.sync_data().map_err(at("sync the tiny program"))?;
    drop(file);
    let program = Program::new(&path, &["tiny"]).map_err(at("name the tiny program"))?;
    let (reader, writer) = std::io::pipe().map_err(at("create a pipe"))?;
    let mut probe = Exec { program, child: None, reader, writer };
    // An untimed start finds a program that cannot run (a noexec mount) before the first sample.
    let mut parts = Parts::default();
    let first = probe.interact(&mut parts);
    probe.settle();
    first.map(|()| Box::new(probe) as Box<dyn Interaction>)
}

impl Interaction for Exec {
    fn interact(&mut self, parts: &mut Parts) -> Result<(), WorkloadError> {
        let start_ns = monotonic_ns();
        let child = self.program.start(self.writer.as_fd()).map_err(at("fork"))?;
        self.child = Some(child);
        let forked_ns = monotonic_ns();
        let mut byte = [0];
        self.await_byte(child, &mut byte)?;
        parts[0] = forked_ns - start_ns;
        parts[1] = monotonic_ns() - forked_ns;
        Ok(())
    }

    fn settle(&mut self) {
        if let Some(child) = self.child.take() {
            // The child ends right after its write.
            let _ = wait(child, true);
        }
    }
}

impl Exec {
    /// Waits for the child's first byte; fails if it ends without writing.
    fn await_byte(&mut self, child: u32, byte: &mut [u8; 1]) -> Result<(), WorkloadError> {
        let mut ended = false;
        loop {
            if is_readable(&self.reader, if ended { 0 } else { 100_000_000 }) {
                return self.reader.read_exact(byte).map_err(at("read the first write"));
            }
            if ended {
                let silent = std::io::Error::other("the program ended without writing");
                return Err(at("execute the tiny program")(silent));
            }
            // It may have written before: read once more, or the next interaction gets its byte.
            ended = matches!(wait(child, false), Ok(Some(_)));
            if ended {
                self.child = None;
            }
        }
    }
}
