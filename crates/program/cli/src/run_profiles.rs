//! Profiles of what runs on this machine measure (`run --profile -- COMMAND`, and a run of `limit`), kept
//! next to the run files.

use std::path::Path;

use experiment::Event;
use keep::out_file::write_whole;
use model::Line;
use profile::RunProfile;
use sampler::{ChildRecording, FaultKind, Options, SampledFaults};

/// Samples a second: a prime number does not beat with what is periodic.
const FREQUENCY_HZ: u64 = 997;
/// Most call stacks of waits and of page faults a second: a run is longer than what a profile is made for,
/// and next to what it is limited by there may be little CPU for the recorder, so that more would be lost.
const STACKS_HZ: u64 = 997;
/// The names of the processes that measure.
const INSTRUMENT: [&str; 2] = ["thrashlab", "thrashlab-agent"];

/// Records the runs of a driver, one after the other, on the thread that makes them.
#[derive(Default)]
pub(crate) struct ProfileRecorder {
    /// The profiles of the runs that have ended.
    pub(crate) runs: Vec<RunProfile>,
    /// Why there are none, if that is so.
    pub(crate) refused: Option<String>,
    run_id: Option<String>,
    recording: Option<ChildRecording>,
}

impl ProfileRecorder {
    /// Takes the next event of the driver.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { .. } if self.refused.is_none() => self.begin(),
            Event::Line { line: Line::Header(header), .. } => {
                self.run_id = Some(header.run_id.clone());
            }
            Event::Ended { path, .. } => self.end(path),
            Event::Skipped { .. } => self.recording = None,
            _ => {}
        }
    }

    fn begin(&mut self) {
        let faults = Some(SampledFaults { kind: FaultKind::Major, frequency_hz: STACKS_HZ });
        let options = Options {
            frequency_hz: FREQUENCY_HZ,
            switches_hz: Some(STACKS_HZ),
            faults,
            with_times: false,
        };
        match ChildRecording::begin(options) {
            Ok(recording) => self.recording = Some(recording),
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    /// Ends a run, and writes its profile next to its file.
    fn end(&mut self, run_file: &Path) {
        let (Some(run_id), Some(recording)) = (self.run_id.take(), self.recording.take()) else {
            return;
        };
        let profile = match recording.finish(&INSTRUMENT) {
            Ok(profile) => profile,
            Err(error) => {
                self.refused.get_or_insert_with(|| error.to_string());
                return;
            }
        };
        let made = RunProfile { run_id, frequency_hz: FREQUENCY_HZ, profile };
        let written =
            RunProfile::beside(run_file).map(|path| write_whole(&path, made.text().as_bytes()));
        if let Some(Err(error)) = written {
            self.refused.get_or_insert_with(|| format!("they cannot be kept: {error}"));
        }
        self.runs.push(made);
    }
}
