//! `thrashlab trace record`: a command's references to memory, written while it runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use keep::out_file::OutFile;
use model::units::format_size;
use render::format::counted;
use trace::{Granularity, Header};
use tracer::{Ended, Recording, Request, Tool, TracerError, Written};

use super::record_guest::{GuestArgs, record_guest};
use crate::output::named;
use crate::start::{StartArgs, pass_on};
use crate::{Failure, OrWrong, Result, complain};

const EXAMPLES: &str = "\
Examples:
  thrashlab trace record -o t.tlt -- gzip -9 < big > /dev/null
  thrashlab trace record --input big -- 'sort | uniq > /dev/null'
  thrashlab trace record --pages --fetch -- make -j4
                        pages only, with instructions
  thrashlab trace record --skip 1000000000 --limit 100000000 -- ./program
  thrashlab trace record --guest RUN.run.jsonl --since 1s --until 1500ms
                        a run in the deterministic machine, kernel and all

The command has standard input, output and error to itself, and its exit code is
passed on. Its children, threads and what they execute are recorded too. Cost
and limits: docs/tracing.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES, mut_arg("words", |words| words.required_unless_present("guest")))]
pub(crate) struct RecordArgs {
    /// Write the trace to this file [default: trace.tlt, which must not exist yet]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Record instruction fetches too
    #[arg(long)]
    fetch: bool,

    /// Record only the pages that are referenced, not each reference; enough for TLBs, and smaller
    #[arg(long)]
    pages: bool,

    /// Number of references to skip at the beginning
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,

    /// Maximum number of references to record; the command then continues unrecorded
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// The recorder [default: qemu, or valgrind where QEMU is missing]
    #[arg(long, value_name = "TOOL", value_parser = named(&TOOLS))]
    with: Option<Tool>,

    #[command(flatten)]
    guest: GuestArgs,

    #[command(flatten)]
    command: StartArgs,
}

/// What can record a command, by name.
const TOOLS: [(&str, &str, Tool); 2] = [
    ("qemu", "QEMU user mode with thrashlab's plugin", Tool::Qemu),
    (
        "valgrind",
        "Valgrind's tool lackey: some hundred times slower, and the first process only",
        Tool::Valgrind,
    ),
];

/// The file of a trace whose name is not given.
const USUAL_FILE: &str = "trace.tlt";

impl RecordArgs {
    /// The file to write. Only a file that the user names is replaced.
    fn path(&self) -> Result<PathBuf> {
        let usual = Path::new(USUAL_FILE);
        match &self.output {
            Some(path) => Ok(path.clone()),
            None if usual.symlink_metadata().is_ok() => Err(wrong!(
                "{USUAL_FILE} exists: name the file of this trace with --output FILE, or write \
                 --output {USUAL_FILE} to replace it"
            )),
            None => Ok(usual.to_owned()),
        }
    }
}

pub(crate) fn record(args: &RecordArgs) -> Result<()> {
    let path = &args.path()?;
    if let Some(run) = &args.guest.guest {
        return record_guest(&args.guest, run, path);
    }
    let name = || format!("create {}", path.display());
    let (command, input) = (args.command.program()?, args.command.input()?);
    let (out, file) = OutFile::create(path).or_wrong(name())?;
    let request = Request {
        command: &command,
        input: input.as_ref(),
        fetches: args.fetch,
        pages: args.pages,
        tool: args.with,
    };
    let mut recording = start(&request)?;
    // The command runs: from now on the file grows under its name, so that a recorder that is
    // killed leaves what it has recorded. A command that cannot be started replaces nothing.
    out.finish().or_wrong(name())?;
    let end = args.limit.map_or(u64::MAX, |limit| args.skip.saturating_add(limit));
    let written = recording.write(file, &header(&recording, args), args.skip..end);
    // The command must not suffer from a failure of the trace.
    let ended = recording.finish();
    let written = written.with_context(|| format!("write {}", path.display()))?;
    let ended = ended.map_err(anyhow::Error::new)?;
    report(path, &written, &ended);
    pass_on(ended.exit)
}

/// Starts recording a command, with a notice if that will take long.
pub(crate) fn start(request: &Request<'_>) -> Result<Recording> {
    let recording = Recording::start(request).map_err(|error| {
        let is_of_user = matches!(error, TracerError::NoProgram(_));
        let error = anyhow::Error::new(error);
        if is_of_user { Failure::WrongUse(error) } else { Failure::NotMeasured(error) }
    })?;
    if recording.tool == Tool::Valgrind {
        complain(
            "recording with valgrind: about a hundred times slower than with QEMU \
             (apt-get install qemu-user), and the first process only",
        );
    }
    Ok(recording)
}

fn header(recording: &Recording, args: &RecordArgs) -> Header {
    let is_it = |(.., tool): &&(&str, &str, Tool)| *tool == recording.tool;
    let name = TOOLS.iter().find(is_it).map(|(name, ..)| *name).unwrap_or_default();
    Header {
        program: args.command.text(),
        data: true,
        fetches: args.fetch,
        granularity: if args.pages { Granularity::Page } else { Granularity::Reference },
        tool: concat!("thrashlab ", env!("CARGO_PKG_VERSION")).to_owned(),
        versions: BTreeMap::from([(name.to_owned(), recording.version().to_owned())]),
        architecture: Some(std::env::consts::ARCH.to_owned()),
    }
}

/// Reports on standard error, as standard output is the command's.
fn report(path: &Path, written: &Written, ended: &Ended) {
    complain(&format!(
        "{}: {} references of {} with {}, {}",
        path.display(),
        written.references,
        counted(ended.processes as usize, "process"),
        counted(ended.threads as usize, "thread"),
        format_size(written.size_bytes),
    ));
    report_missed(ended);
}

pub(crate) fn report_missed(ended: &Ended) {
    for missed in &ended.missed {
        complain(&format!("not recorded: {missed}"));
    }
    if ended.interrupted {
        complain("the recording was interrupted; it is complete up to that point");
    }
}
