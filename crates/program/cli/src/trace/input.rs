//! A trace file that is read from beginning to end, with progress on a terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use agent::Waiter;
use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trace::{Block, Format, Granularity, Notes, Source, open_as};

use super::read_ahead::ReadAhead;
use crate::{Failure, Result};

/// How often a moving line is drawn at most.
const DRAWS_PER_SECOND: u8 = 5;

#[derive(Args)]
pub(crate) struct InputArgs {
    /// The trace, `-` for standard input; it may be compressed with gzip, xz or zstd
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,

    /// Format of the input; of a trace tlt, lackey, din, champsim, champsim-cloudsuite,
    /// oracleGeneral or csv [default: recognised by its content]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<Format>,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

pub(crate) struct Input {
    pub(crate) format: Format,
    source: ReadAhead,
    name: String,
    waiter: Waiter,
    bar: ProgressBar,
}

type Opened = (Format, Box<dyn Source + Send>);

impl Input {
    /// Opens a trace; from here on signals are caught, and checked between blocks.
    pub(crate) fn open(args: &InputArgs, columns: Granularity) -> Result<Self> {
        let waiter = Waiter::new().context("catch signals")?;
        let name = args.path.display().to_string();
        let (format, source) = open_ahead(args, columns, &waiter)?;
        let bar = bar(&args.path, args.quiet);
        Ok(Self { format, source: ReadAhead::new(source), name, waiter, bar })
    }

    pub(crate) fn notes(&self) -> Notes {
        self.source.notes()
    }

    pub(crate) fn read_bytes(&self) -> u64 {
        self.source.read_bytes()
    }

    /// Gives each block to `each`, until the end.
    pub(crate) fn for_each(&mut self, mut each: impl FnMut(&Block) -> Result<()>) -> Result<()> {
        let mut block = Block::default();
        let outcome = loop {
            let stop = || self.waiter.stop_requested();
            match self.source.next_unless(&mut block, stop) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => break Ok(()),
                Ok(None) => break Err(Failure::Interrupted),
                Err(error) => break Err(anyhow!("{}: {error}", self.name).into()),
            }
            if let Err(failure) = each(&block) {
                break Err(failure);
            }
            self.bar.set_position(self.source.read_bytes());
        };
        self.bar.finish_and_clear();
        outcome
    }
}

/// Opens a trace on another thread, as a pipe may block.
fn open_ahead(args: &InputArgs, columns: Granularity, waiter: &Waiter) -> Result<Opened> {
    let (sender, opened) = channel();
    let (path, format) = (args.path.clone(), args.input_format);
    // Who does not listen any more has been interrupted.
    thread::spawn(move || drop(sender.send(open_as(&path, columns, format))));
    loop {
        if waiter.stop_requested() {
            return Err(Failure::Interrupted);
        }
        match opened.recv_timeout(Duration::from_millis(20)) {
            Ok(opened) => return Ok(opened.with_context(|| args.path.display().to_string())?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow!("the thread that opens the trace has failed").into());
            }
        }
    }
}

/// How much of a file is read, or of a pipe was.
fn bar(path: &Path, is_quiet: bool) -> ProgressBar {
    match std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file) {
        Some(file) => {
            let template = "{bytes} of {total_bytes} read, {bytes_per_sec}, {eta} left";
            moving_line(Some(file.len()), template, is_quiet)
        }
        None => moving_line(None, "{bytes} read, {bytes_per_sec}", is_quiet),
    }
}

/// A line that moves on a terminal, and nothing elsewhere.
pub(crate) fn moving_line(length: Option<u64>, template: &str, is_quiet: bool) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() && !is_quiet {
        true => ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(length, target);
    // The templates have no field that could be unknown.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
