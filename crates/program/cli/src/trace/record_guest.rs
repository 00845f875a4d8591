//! A trace of a whole guest: a run in the deterministic machine is repeated, and all references of its
//! virtual CPUs are recorded.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::path::Path;

use agent::Waiter;
use anyhow::{Context, anyhow};
use clap::Args;
use keep::out_file::OutFile;
use model::units::{format_size, parse_duration_ns};
use profile::GuestTrace;
use trace::{Granularity, Header};
use vm::Passing;

use crate::progress::Progress;
use crate::repeated::{Repeatable, difference};
use crate::{Failure, OrWrong, Result, complain, guests};

/// A guest in place of a command.
#[derive(Args)]
pub(crate) struct GuestArgs {
    /// Record the whole guest of this run file (`run --subject vm`), kernel included: pages and
    /// instruction fetches, as with --pages --fetch
    #[arg(long, value_name = "RUN", conflicts_with_all = ["words", "input", "skip", "limit", "with"])]
    pub(crate) guest: Option<std::path::PathBuf>,

    /// Only what executed from this time of the run on; without it, also what was before the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, requires = "guest")]
    since: Option<u64>,

    /// Only what executed until this time of the run; without it, also what was after the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, requires = "guest")]
    until: Option<u64>,
}

/// Repeats a run, and writes the references of its guest. Fails as `profile` does, and when the trace
/// cannot be written.
pub(super) fn record_guest(args: &GuestArgs, run: &Path, output: &Path) -> Result<()> {
    let (waiter, progress) = (Waiter::new().context("catch signals")?, Progress::new(false, None));
    if args.since.unwrap_or(0) >= args.until.unwrap_or(u64::MAX) {
        return Err(wrong!("--since and --until: the first must be earlier"));
    }
    let failed = |failure| guests::stopped_or(&waiter, failure);
    let repeatable = Repeatable::read(run, &waiter, &progress).map_err(failed)?;
    let run_id = repeatable.run_id().to_owned();
    let Repeatable { file, vm, symbols, spec, .. } = repeatable;
    let started_unix_ns = file.header.started_unix_ns;
    let (plan, window) = (
        symbols.plan(started_unix_ns, &[]),
        symbols.window(started_unix_ns, args.since, args.until),
    );
    let (out, created) =
        OutFile::create(output).or_wrong(format!("create {}", output.display()))?;
    let mut trace = GuestTrace::new(BufWriter::new(created), &header(&run_id))
        .with_context(|| format!("write {}", output.display()))?;
    progress.say(&format!("{run_id}: recording the references of the guest"));
    let stop = || waiter.stop_requested();
    let mut take = |words: &[u8]| trace.add(words).map_err(io::Error::other);
    let observed = guests::with_bytes(|sink| {
        let passing = Passing { plan: &plan, window_ns: window.clone(), take: &mut take };
        vm.references(&spec, &run_id, passing, &stop, sink)
    });
    let ((), bytes) = observed.map_err(|error| failed(guests::failure(error)))?;
    if let Some(why) = difference(&file.bytes, &bytes) {
        return Err(Failure::NotMeasured(anyhow!(
            "no trace of {run_id}: the recorded run is another one; {why}"
        )));
    }
    let references = trace.finish().with_context(|| format!("write {}", output.display()))?;
    out.finish().with_context(|| format!("write {}", output.display()))?;
    let size_bytes = std::fs::metadata(output).map_or(0, |metadata| metadata.len());
    complain(&format!(
        "{}: {references} references of the guest of {run_id}, {}",
        output.display(),
        format_size(size_bytes)
    ));
    Ok(())
}

fn header(run_id: &str) -> Header {
    Header {
        program: format!("the guest of {run_id}"),
        data: true,
        fetches: true,
        granularity: Granularity::Page,
        tool: concat!("thrashlab ", env!("CARGO_PKG_VERSION")).to_owned(),
        versions: BTreeMap::new(),
        architecture: Some("x86_64".to_owned()),
    }
}
