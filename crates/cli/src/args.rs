//! The command line as it is typed.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use model::resp1::Resp1Format;
use model::units::{parse_duration_ns, parse_size_bytes};

use crate::attribute::AttributeArgs;
use crate::compare::CompareArgs;
use crate::footprint::FootprintArgs;
use crate::job_args::JobArgs;
use crate::laboratory::LabArgs;
use crate::names::{load_name, probe_name};
use crate::output::{OutputArgs, possible_values};
use crate::seeds::{Seeds, seeds};
use crate::timing::TimingArgs;
use crate::vm_args::{CacheArgs, VmArgs};
use experiment::SubjectArg;
use render::{FORMATS, OutputFormat, format_named};

/// A laboratory for computers that have slowed down.
#[derive(Parser)]
#[command(
    name = "thrashlab",
    version,
    about = "A laboratory for computers that have slowed down",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure how a trivial interaction responds under each load, against no load
    Run(Box<RunArgs>),
    /// Find the step of an ordered axis at which something changed
    Bisect(Box<crate::bisect_args::BisectArgs>),
    /// Carry out a plan: factors, blocks, order; goes on where it was stopped
    Experiment(Box<crate::experiment_args::ExperimentArgs>),
    /// Make the cells of a list (from standard input): what a node of a fleet does
    Cells(crate::cells::CellsArgs),
    /// Measure the cost of work over a range of one parameter: curve, knee, and what lies under it
    Sweep(Box<crate::sweep_args::SweepArgs>),
    /// Print results again: a results folder, a run file, or published figures
    Show(ShowArgs),
    /// Compare results: what differs, by how much, and how sure that is
    Compare(CompareArgs),
    /// Say which factor and which part of the work a change is to be put down to
    Attribute(AttributeArgs),
    /// Make a report: one page with charts, or Markdown, text, JSON, Vega-Lite
    Report(crate::report::ReportArgs),
    /// Say what this machine, a recording or a run loses its time to, and how much
    Doctor(crate::doctor::DoctorArgs),
    /// Count what processes map, touch and share, to the page of their page tables
    Footprint(FootprintArgs),
    /// Simulate memory-management hardware: pmegs, TLBs, page walks, miss-ratio curves
    Mmu(crate::mmu::MmuArgs),
    /// Record, read and convert memory traces of programs
    Trace(crate::trace::TraceArgs),
    /// Look at the deterministic machine: kernels, machines, boot, shell, and whether it repeats
    Vm(Box<VmArgs>),
    /// Look at what is kept of kernels, booted machines and cells, and remove it
    Cache(CacheArgs),
    /// Read results of other programs
    Import(ImportArgs),
    /// Write results in the formats of others: CSV, Go benchmark lines, OpenMetrics, Parquet
    Export(crate::export::ExportArgs),
    /// List the published figures that come with thrashlab
    Reference(OutputArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of a command
    Man {
        /// The command [default: thrashlab itself]
        command: Option<String>,
    },
    /// Run one assignment (used by thrashlab itself)
    #[command(name = "__agent", hide = true)]
    Agent,
    /// Be the other side of a subject on another machine (used by thrashlab itself)
    #[command(name = remote::COMMAND, hide = true)]
    Remote {
        /// What of it.
        arguments: Vec<String>,
    },
    /// Be the first process of a guest (used by thrashlab itself)
    #[command(name = "__guest", hide = true)]
    Guest {
        /// Which life of it.
        argument: Option<String>,
    },
    /// Clean up when another process has ended (used by thrashlab itself)
    #[command(name = keep::COMMAND, hide = true)]
    Cleanup {
        /// What to do.
        arguments: Vec<OsString>,
    },
}

const RUN_EXAMPLES: &str = "\
Examples:
  thrashlab run                                    all loads, under three minutes
  thrashlab run --quick                            all loads, under a minute
  thrashlab run --classic --format resp1           the times and the output of 2003
  thrashlab run --subject sandbox:mem=256M,cpus=1  a machine of 256 MiB and one CPU
  thrashlab run --load cpuload,spawnload --probe wake
  sudo thrashlab run --swap 1G                     with a temporary swap file
  thrashlab run --subject vm:machine=p2-350,kernel=deb:linux-image-cloud-amd64 --seeds 1..5
                                                   a kernel in virtual time: exactly repeatable
  thrashlab run --job vmtest:size=24M --subject mmu:machine=sparcstation1,hat=old --seeds 1..3
                                                   a machine of 1989, simulated
  thrashlab run --job session                      six users at work: time, CPU time and faults a
                                                   command
  thrashlab run --subject ssh://me@server,sandbox:mem=1G
                                                   another machine, through ssh
  thrashlab run --job session --users 12 --set think=500ms --load 2ctx-mem

Loads, probes and sessions are described in docs/loads/, docs/probes.md and docs/sessions.md.";

#[derive(Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Where to run: `host[:mem=SIZE]`, `sandbox[:mem=SIZE,cpus=N,pids=N]`,
    /// `vm[:machine=NAME,kernel=KERNEL,…]` (docs/vm.md), `mmu[:machine=NAME,hat=NAME,…]`
    /// (docs/mmu.md) or `ssh://[USER@]HOST[:PORT][,host…|,sandbox…]` (docs/remote.md) [default: a
    /// sandbox of 512M where possible, else the host]
    #[arg(long, value_name = "SUBJECT")]
    pub(crate) subject: Option<SubjectArg>,

    /// Loads to run, separated by commas [default: all; with --job none]
    #[arg(long = "load", value_name = "LOADS", value_delimiter = ',', value_parser = load_name)]
    pub(crate) loads: Vec<String>,

    /// The interaction that is timed: response, wake, exec, fault or fileops
    #[arg(long, value_name = "PROBE", default_value = "response", value_parser = probe_name)]
    pub(crate) probe: String,

    #[command(flatten)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    pub(crate) timing: TimingArgs,

    /// Dose of every load: 1 is the load as documented, 0.5 half of it; 0, of loads that provoke a
    /// condition (provoke-…), is their work without the condition
    #[arg(long, value_name = "DOSE", default_value_t = 1.0, value_parser = intensity)]
    pub(crate) intensity: f64,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Seeds of an ensemble, such as 1..20 or 1,2,7: everything once with each
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed", value_parser = seeds)]
    pub(crate) seeds: Option<Seeds>,

    #[command(flatten)]
    pub(crate) lab: LabArgs,

    /// Go on in the folder of --output: runs that it has are not made again
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,

    /// Add a temporary swap file of this size (root); it is removed at the end
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub(crate) swap: Option<u64>,

    /// Folder for the run files [default: a new one in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) shape: Shape,

    /// Write no report.html into the folder of the run files
    #[arg(long)]
    pub(crate) no_report: bool,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Test hook: freeze the probe's process for this time once a second
    #[arg(long, value_name = "TIME", hide = true, value_parser = parse_duration_ns)]
    pub(crate) test_freeze: Option<u64>,
}

/// How a responsiveness matrix is printed.
#[derive(Args)]
pub(crate) struct Shape {
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = form())]
    pub(crate) format: Form,

    /// Print JSON: the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// List the N slowest responses under each load, with where their time went and what was counted
    /// meanwhile (docs/explained.md)
    #[arg(long, value_name = "N", conflicts_with = "format")]
    pub(crate) worst: Option<usize>,

    /// More: all that is not available here; of a session every user by himself; with --format
    /// resp1 S.D., size written, loops and circles per second
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// What a result is printed as.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A document in an output format.
    Document(&'static OutputFormat),
    /// The layout of resp1, of 2003 or of its first version.
    Resp1(Resp1Format),
}

impl Shape {
    /// The output format; `None` if the layout of resp1 was asked for.
    pub(crate) fn output_format(&self) -> Option<&'static OutputFormat> {
        match self.format {
            _ if self.json => format_named("json"),
            Form::Document(format) => Some(format),
            Form::Resp1(_) => None,
        }
    }
}

/// Reads a form: an output format, `table` for text, or a layout of resp1.
fn form() -> impl TypedValueParser<Value = Form> {
    let layouts = [
        PossibleValue::new("resp1").help("resp1's second format of 2003: raw and S.D. ratios"),
        PossibleValue::new("resp1-first").help("resp1's first format: S.D. and raw ratio"),
        PossibleValue::new("table").hide(true),
    ];
    PossibleValuesParser::new(possible_values().chain(layouts)).try_map(|name| match &*name {
        "resp1" => Ok(Form::Resp1(Resp1Format::Second)),
        "resp1-first" => Ok(Form::Resp1(Resp1Format::First)),
        "table" => Ok(Form::Document(&FORMATS[0])),
        name => format_named(name).map(Form::Document).context("unknown format"),
    })
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// A results folder, a run file, `reference:NAME`, or a result of another program (or a folder of
    /// such files)
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) shape: Shape,

    /// Write the result to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  thrashlab import old.json                         what is in an export of hyperfine
  thrashlab import times.csv --response loops       a column without a unit in its name
  thrashlab import resp1 2.4.20.out                 and check the ratios that it printed

What can be imported can be compared: thrashlab compare old.json new.json";

#[derive(Args)]
#[command(
    after_help = IMPORT_EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) from: Option<ImportFrom>,

    /// The file, - for standard input, a folder of runs, or `reference:NAME`
    #[arg(required = true)]
    pub(crate) file: Option<String>,

    /// What the file is: resp1, hyperfine, go, google, cyclictest, schbench, interbench, perf or
    /// csv [default: as it looks]
    #[arg(id = "input_format", long = "from", value_name = "FORMAT", value_parser = import_format)]
    pub(crate) format: Option<store::import::Format>,

    /// Columns of a CSV that were measured although no unit ends their names
    #[arg(long = "response", value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) responses: Vec<String>,

    /// Columns of a CSV that were varied although a unit ends their names
    #[arg(long = "factor", value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) factors: Vec<String>,

    /// Take trials of a CSV that repeat another one value for value
    #[arg(long)]
    pub(crate) allow_repeats: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Subcommand)]
pub(crate) enum ImportFrom {
    /// Output of resp1, in either of its formats; recomputes the ratios and checks them
    Resp1 {
        /// The file, or - for standard input
        file: PathBuf,

        #[command(flatten)]
        output: OutputArgs,
    },
}

fn import_format(text: &str) -> Result<store::import::Format, String> {
    use store::import::Format;
    let names = Format::ALL.map(|format| format.name).join(", ");
    Format::named(text).ok_or_else(|| format!("no format is named {text:?}; there are {names}"))
}

fn intensity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("a dose is a number above 0 and at most 100; or 0, of what provokes a condition"
            .to_owned()),
    }
}
