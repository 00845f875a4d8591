//! `thrashlab vm engine`: the patched QEMU that deterministic guests run in.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use keep::Cache;
use keep::running::Running;
use model::Architecture;
use render::{Cell, Document, Table};
use sys::process::{Exit, signals};
use vm::{ENGINE_RELEASES, EngineRelease};

use crate::output::{OutputArgs, show};
use crate::progress::Progress;
use crate::{Failure, OrWrong, Result};

/// How `engine/build` ends when a patch does not apply, or QEMU does not compile with it.
const BROKEN: i32 = 2;

const EXAMPLES: &str = "\
Examples:
  thrashlab vm engine                  which engines are built
  thrashlab vm engine build            fetch QEMU's source from Debian, patch and
                                       compile it (some minutes, 1 GB of disk)
  thrashlab vm engine build --arch aarch64
                                       the same for guests of aarch64

Guests with several virtual CPUs need it, and all others use it once it is
built. It is kept in the cache; nothing is installed. Why: docs/vm.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct EngineArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(subcommand)]
    command: Option<EngineCommand>,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Build it on this machine
    Build(BuildArgs),
}

const BUILD_EXAMPLES: &str = "\
Examples:
  thrashlab vm engine build
  thrashlab vm engine build --source qemu_10.0.13+ds.orig.tar.xz
                                       with a source that is on this disk

It needs a C compiler, GLib, Ninja and Meson; what is missing is named. Exit
codes: 1 the patches do not apply or do not compile, 3 something is missing.";

#[derive(Args)]
#[command(after_help = BUILD_EXAMPLES)]
struct BuildArgs {
    /// The architecture of the guests: x86-64 or aarch64
    #[arg(
        long,
        value_name = "NAME",
        default_value = Architecture::default().name(),
        value_parser = Architecture::named
    )]
    arch: Architecture,

    /// The release of QEMU [default: the first that `thrashlab vm engine` lists]
    #[arg(long, value_name = "VERSION", value_parser = release)]
    qemu: Option<EngineRelease>,

    /// The source archive, if it is on this disk already
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
}

fn release(version: &str) -> Result<EngineRelease, String> {
    let found = ENGINE_RELEASES.iter().find(|release| release.version == version);
    found.copied().ok_or_else(|| {
        let versions: Vec<&str> = ENGINE_RELEASES.iter().map(|it| it.version).collect();
        format!("there are patches for {}", versions.join(" and "))
    })
}

pub(crate) fn engine(args: &EngineArgs) -> Result<()> {
    match &args.command {
        None => list(&args.output),
        Some(EngineCommand::Build(args)) => build(args),
    }
}

fn list(output: &OutputArgs) -> Result<()> {
    let cache = Cache::of_user();
    let used = |architecture| Some(vm::built_engines(architecture, &cache).next()?.0);
    let rows = ENGINE_RELEASES.iter().flat_map(|release| {
        Architecture::ALL.iter().map(|architecture| {
            let folder = release.find(*architecture, &cache);
            let state = match &folder {
                Some(_) if folder == used(*architecture) => "at hand, in use",
                Some(_) => "at hand",
                None => "not built",
            };
            [release.version, architecture.name(), state].map(Cell::from)
        })
    });
    let heading = ["QEMU", "guests", "engine"];
    let mut document = Document::of(vec![Table::of("", heading, rows).into()]);
    for architecture in Architecture::ALL.iter().filter(|it| used(**it).is_none()) {
        let (name, command) = (architecture.name(), vm::engine_command(*architecture));
        document.push(format!("To build one for guests of {name}: {command}"));
    }
    show(&document, output)
}

fn build(args: &BuildArgs) -> Result<()> {
    let (cache, progress) = (Cache::of_user(), Progress::new(false, None));
    let (architecture, release) = (args.arch, args.qemu.unwrap_or(ENGINE_RELEASES[0]));
    if let Some(folder) = release.find(architecture, &cache) {
        let (version, name) = (release.version, architecture.name());
        progress.say(&format!(
            "QEMU {version} for guests of {name} is there already: {}",
            folder.display()
        ));
        return Ok(());
    }
    let source = args
        .source
        .as_ref()
        .map(|file| file.canonicalize().or_wrong(format!("--source {}", file.display())));
    let source = source.transpose()?;
    let cannot = || format!("the cache {} cannot be used", cache.root.display());
    let engine = release.unpack(architecture, &cache).with_context(cannot)?;
    let mut command = Command::new("sh");
    command.args(engine.arguments(source.as_deref())).stdin(Stdio::null());
    let running =
        instrument::program().and_then(|agent| Running::start(&mut command, agent, || Ok(())));
    let mut running = running.context("start sh")?;
    match running.finish(&|| false).context("wait for the build")? {
        _ if running.was_interrupted() => Err(Failure::Interrupted),
        Some(Exit::Code(0)) => {
            let folder = engine.keep(&cache).with_context(cannot)?;
            let used = vm::built_engines(architecture, &cache).next();
            let what = match used.is_some_and(|(used, _)| used == folder) {
                true => format!("guests of {} use it from now on", architecture.name()),
                false => "kept, not in use".to_owned(),
            };
            progress.say(&format!("{what}: {}", folder.display()));
            Ok(())
        }
        Some(Exit::Signal(signals::INT)) => Err(Failure::Interrupted),
        // The script says why; nothing that is missing here is to blame.
        Some(Exit::Code(BROKEN)) => Err(Failure::CheckFailed),
        _ => Err(anyhow!("the engine was not built").into()),
    }
}
