//! Critical paths of responses on this machine: the probe's thread is recorded while runs are made
//! (`run --profile`), and what was found is kept next to the run files.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;

use experiment::Event;
use keep::out_file::write_whole;
use model::{Line, Measure, Phase, SampleRecord};
use profile::{CriticalPath, Response, RunPaths};
use sampler::{ResponseRecording, SamplerError};
use sys::clock::realtime_offset_ns;

/// What a recording found, and what is missing.
type Found = Result<(Vec<CriticalPath>, Vec<String>), SamplerError>;

/// Records the runs of a driver, one after the other.
#[derive(Default)]
pub(crate) struct PathRecorder {
    /// The paths of the runs that have ended.
    pub(crate) runs: Vec<RunPaths>,
    /// Why there are none, if that is so.
    pub(crate) refused: Option<String>,
    /// The name of the run under way, and the time at which its clock is 0.
    run: Option<(String, u64)>,
    recording: Option<Recording>,
}

struct Recording {
    responses: Sender<(Response, bool)>,
    thread: JoinHandle<Found>,
    /// The end of the last response.
    former_end_ns: u64,
}

impl PathRecorder {
    /// Takes the next event of the driver.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Line { line: Line::Header(header), .. } => {
                let is_probe = matches!(header.spec.measure, Measure::Probe(_));
                let origin_ns = header.started_unix_ns.saturating_sub(realtime_offset_ns());
                self.run = is_probe.then(|| (header.run_id.clone(), origin_ns));
            }
            Event::Line { line: Line::Phase(phase), .. } if phase.phase == Phase::Measuring => {
                self.begin();
            }
            Event::Line { line: Line::Sample(sample), .. } => {
                if let Some(recording) = &mut self.recording {
                    recording.add(sample);
                }
            }
            Event::Ended { path, .. } => self.end(path),
            _ => {}
        }
    }

    fn begin(&mut self) {
        let Some((_, origin_ns)) = self.run else { return };
        let Some(probe) = probe() else {
            self.refused.get_or_insert_with(|| "the probe's process was not found".to_owned());
            return;
        };
        let (responses, received) = mpsc::channel();
        let thread = std::thread::spawn(move || record(probe, origin_ns, &received));
        self.recording = Some(Recording { responses, thread, former_end_ns: 0 });
    }

    /// Ends a run, and writes its paths next to its file.
    fn end(&mut self, run_file: &Path) {
        let (Some((run_id, _)), Some(recording)) = (self.run.take(), self.recording.take()) else {
            return;
        };
        drop(recording.responses);
        let (paths, missed) = match recording.thread.join() {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                self.refused.get_or_insert_with(|| error.to_string());
                return;
            }
            Err(_) => return,
        };
        let found = RunPaths { run_id, paths, missed };
        let written = RunPaths::beside(run_file).map(|path| {
            let text = serde_json::to_vec(&found).map_err(std::io::Error::other)?;
            write_whole(&path, &text)
        });
        if let Some(Err(error)) = written {
            self.refused.get_or_insert_with(|| format!("they cannot be kept: {error}"));
        }
        self.runs.push(found);
    }
}

impl Recording {
    fn add(&mut self, sample: &SampleRecord) {
        let response = Response {
            index: sample.index,
            worker: 0,
            intended_ns: sample.intended_ns,
            end_ns: sample.intended_ns + sample.delay_ns(),
            is_complete: sample.completed_ns.is_some(),
        };
        let is_due = self.former_end_ns <= response.intended_ns;
        self.former_end_ns = response.end_ns;
        // It fails if the recording did, which is reported at its end.
        let _ = self.responses.send((response, is_due));
    }
}

/// Records a thread until no more responses come.
fn record(thread: u32, origin_ns: u64, responses: &Receiver<(Response, bool)>) -> Found {
    let mut recording = ResponseRecording::begin(thread, origin_ns)?;
    loop {
        recording.round();
        match responses.try_recv() {
            Ok((response, is_due)) => recording.add(response, is_due),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return recording.finish(),
        }
    }
}

/// The process of the probe: the agent is a child of this process, and starts the probe first.
fn probe() -> Option<u32> {
    let is_agent = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == agent::ROLE.as_bytes())
    };
    let agent = children(std::process::id()).into_iter().find(is_agent)?;
    children(agent).first().copied()
}

/// The children of a process, the first of each thread first.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let pids = |text: String| text.split_whitespace().map(str::parse).collect::<Vec<_>>();
    texts.flat_map(pids).flatten().collect()
}
