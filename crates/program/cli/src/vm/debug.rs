//! `thrashlab vm debug`: a run up to a point of it, where gdb can look.

use std::path::PathBuf;

use agent::Waiter;
use anyhow::{Context, anyhow};
use clap::Args;
use keep::out_file::write_whole;
use model::units::exact_duration;
use profile::{LastWrite, Response, Responses, Symbols};
use render::{Block, Document, Table};
use serde_json::{Value, json};
use vm::{Debugged, Position, REGISTERS, Registers};

use super::condition::{Condition, Point, Word};
use crate::output::{OutputArgs, show};
use crate::progress::Progress;
use crate::repeated::{Repeatable, difference};
use crate::{Failure, Result, guests};

const EXAMPLES: &str = "\
Examples:
  thrashlab vm debug RUN.run.jsonl --at response:3
  thrashlab vm debug RUN.run.jsonl --at response:3 --break swapin_readahead
  thrashlab vm debug RUN.run.jsonl --at 2.5s --break __alloc_pages \\
      --if 'arg2 >= 4'
  thrashlab vm debug RUN.run.jsonl --at 2.5s --last-write 0xffff888003a4c010
                                          who wrote this word last?
  thrashlab vm debug RUN.run.jsonl --at clock:12345678904 --no-wait

The run continues from its booted machine up to the point, always to the same
instruction, and waits for gdb until gdb or Ctrl-C ends it: docs/debug.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DebugArgs {
    /// The run file of a run in a deterministic machine (`run --subject vm`)
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Stop at this point: `response:N` for its intended start, a time of the run like `2.5s`, or
    /// `clock:NS` as it was printed before
    #[arg(long, value_name = "POINT")]
    at: Point,

    /// From there, stop where this function of the kernel is entered next
    #[arg(long, value_name = "FUNCTION")]
    r#break: Option<String>,

    /// Only if a register or argument is so: `arg1 == 0`, `rdi & 4`, `arg3 >= 0x10`
    #[arg(long, value_name = "CONDITION", requires = "break")]
    r#if: Option<Condition>,

    /// Stop before the instruction that writes these bytes of the kernel last before the point:
    /// `ADDRESS` or `ADDRESS:SIZE` (8)
    #[arg(long, value_name = "ADDRESS", conflicts_with = "break")]
    last_write: Option<Word>,

    #[command(flatten)]
    output: OutputArgs,

    /// Print where the machine stands, and do not wait for gdb
    #[arg(long)]
    no_wait: bool,

    /// No progress on standard error
    #[arg(long, short, display_order = 500)]
    quiet: bool,
}

/// Registers in a row of the table.
const COLUMNS: usize = 2;

/// What is found at a point of a run.
struct Found<'a> {
    repeatable: &'a Repeatable,
    responses: &'a [Response],
    what: String,
    position: Position,
    proof: String,
}

pub(crate) fn debug(args: &DebugArgs) -> Result<()> {
    let waiter = Waiter::new().context("catch signals")?;
    debug_with(args, &waiter).map_err(|failure| guests::stopped_or(&waiter, failure))
}

fn debug_with(args: &DebugArgs, waiter: &Waiter) -> Result<()> {
    let progress = Progress::new(args.quiet, None);
    let repeatable = Repeatable::read(&args.run, waiter, &progress)?;
    let responses = Responses::of(&repeatable.file.run, &[]);
    let (mut point, symbols) = (point(args.at, &repeatable, &responses)?, &repeatable.symbols);
    let function = args.r#break.as_deref().map(|name| function(name, symbols)).transpose()?;
    let (stop, failed) = (|| waiter.stop_requested(), guests::failure);
    let Repeatable { vm, spec, .. } = &repeatable;
    let mut what = format!("Before the first instruction at {}.", args.at);
    if let Some(word) = args.last_write {
        progress.say(&format!("{}: looking for writes to {word}", repeatable.run_id()));
        let plan = LastWrite::plan(word.address, word.size_bytes, point);
        let found = vm.last_write(spec, &plan, &stop).map_err(failed)?;
        let absent = || absent(format!("write to {word} before {}", args.at));
        let LastWrite { writes, virtual_ns, .. } = found.ok_or_else(absent)?;
        what = format!("Before the last of {writes} writes to {word} before {}.", args.at);
        point = virtual_ns;
    }
    progress.say(&format!("{}: going to {}", repeatable.run_id(), args.at));
    let mut guest = vm.debug(spec, point).map_err(failed)?;
    let mut position = guest.go(&stop).map_err(failed)?;
    if let Some((name, address)) = function {
        let condition = args.r#if.as_ref();
        let holds = |registers: &Registers| condition.is_none_or(|it| it.holds(registers));
        let found = guest.until(address, &holds, &stop).map_err(failed)?;
        let when = condition.map(|it| format!(" with {it}")).unwrap_or_default();
        let entry = format!("entry of {name}{when} after {}", args.at);
        what = format!("The first {entry}.");
        position = found.ok_or_else(|| absent(entry))?;
    }
    let proof = check(&repeatable, &mut guest)?;
    let found = Found { repeatable: &repeatable, responses: &responses.all, what, position, proof };
    let document = found.document().with_data(found.data());
    show(&document, &args.output)?;
    if args.no_wait {
        return Ok(());
    }
    wait(&mut guest, symbols, waiter, &progress)
}

fn absent(what: String) -> Failure {
    Failure::NotMeasured(anyhow!("the run has no {what}"))
}

/// The emulator's time of a point.
fn point(point: Point, of: &Repeatable, responses: &Responses) -> Result<u64> {
    let started_ns = of.file.header.started_unix_ns;
    let time_ns = match point {
        Point::Clock(virtual_ns) => return Ok(virtual_ns),
        Point::Time(time_ns) if time_ns <= responses.end_ns => time_ns,
        Point::Time(_) => {
            let end = exact_duration(responses.end_ns);
            return Err(wrong!("--at {point}: the run ends at {end}"));
        }
        Point::Response(index) => {
            responses.find(index).map_err(|why| wrong!("--at {point}: {why}"))?.intended_ns
        }
    };
    Ok(of.symbols.virtual_ns(started_ns, time_ns))
}

/// A function of the kernel by its name, and its address.
fn function<'a>(name: &'a str, symbols: &Symbols) -> Result<(&'a str, u64)> {
    match symbols.addresses_of(name)[..] {
        [address] => Ok((name, address)),
        [] => Err(wrong!(
            "--break {name}: the guest's kernel has no function of this name; it may be inlined: \
             thrashlab profile shows those that are executed"
        )),
        [first, ..] => Err(wrong!(
            "--break {name}: the guest's kernel has several functions of this name, the first at \
             {first:#x}; use one that calls it"
        )),
    }
}

/// Fails unless what the run has written so far is what the file begins with; says so.
fn check(of: &Repeatable, guest: &mut Debugged) -> Result<String> {
    let printed = guest.printed(of.run_id()).map_err(guests::failure)?;
    let expected = &of.file.bytes[..printed.len().min(of.file.bytes.len())];
    match difference(expected, &printed) {
        None => {
            let of_what = match of.is_given {
                true => "the given file",
                false => "the run as this thrashlab, engine and kernel make it",
            };
            Ok(format!("it has written the first {} bytes of {of_what}", printed.len()))
        }
        Some(why) => Err(Failure::NotMeasured(anyhow!(
            "{}: the stopped run is another one; {why}",
            of.run_id()
        ))),
    }
}

/// Waits until gdb or the user ends the machine.
fn wait(
    guest: &mut Debugged,
    symbols: &Symbols,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<()> {
    let file = guest.folder().join("kernel");
    let written = write_whole(&file, &symbols.to_elf());
    written.with_context(|| format!("write {}", file.display()))?;
    guest.release();
    let socket = guest.socket();
    progress.say(&format!(
        "the machine waits for gdb; Ctrl-C ends it:\n  gdb -ex 'target remote {}' {}",
        socket.display(),
        file.display()
    ));
    while !waiter.stop_requested() {
        if guest.has_ended().map_err(guests::failure)? {
            return Ok(());
        }
    }
    Ok(())
}

impl Found<'_> {
    fn run_ns(&self) -> u64 {
        let started_ns = self.repeatable.file.header.started_unix_ns;
        self.repeatable.symbols.run_ns(started_ns, self.position.virtual_ns)
    }

    fn function(&self) -> String {
        match self.repeatable.symbols.place(self.position.pc()) {
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => "user code".to_owned(),
        }
    }

    /// The response that runs, and how long.
    fn response(&self) -> Option<(u32, u64)> {
        let at_ns = self.run_ns();
        let mut running =
            self.responses.iter().filter(|it| (it.intended_ns..it.end_ns).contains(&at_ns));
        running.next_back().map(|it| (it.index, at_ns - it.intended_ns))
    }

    fn document(&self) -> Document<'static> {
        let position = &self.position;
        let response = self.response().map_or("none".to_owned(), |(index, since_ns)| {
            format!("{index}, since {}", exact_duration(since_ns))
        });
        let named = |index: usize| {
            let value = position.registers.get(index).map(|value| format!("{value:016x}"));
            [
                REGISTERS.get(index).copied().unwrap_or_default().to_owned(),
                value.unwrap_or_default(),
            ]
        };
        let rows = REGISTERS.len().div_ceil(COLUMNS);
        let columns = |row| (0..COLUMNS).flat_map(move |column| named(column * rows + row));
        let head = ["register", "value"].into_iter().cycle().take(2 * COLUMNS);
        let table = Table::of("", head, (0..rows).map(columns));
        let blocks = vec![Block::Sentence(self.what.clone()), Block::Table(table)];
        Document::of(blocks).with_facts([
            ("run", self.repeatable.run_id().to_owned()),
            ("time of the run", exact_duration(self.run_ns())),
            ("response", response),
            ("function", self.function()),
            ("virtual CPU", position.cpu.to_string()),
            ("again", format!("--at clock:{}", position.virtual_ns)),
        ])
    }

    fn data(&self) -> Value {
        let position = &self.position;
        let registers: serde_json::Map<String, Value> = REGISTERS
            .iter()
            .zip(position.registers)
            .map(|(name, value)| ((*name).to_owned(), json!(format!("{value:#x}"))))
            .collect();
        json!({
            "run_id": self.repeatable.run_id(),
            "point": self.what,
            "run_ns": self.run_ns(),
            "response": self.response().map(|(index, _)| index),
            "clock_ns": position.virtual_ns,
            "virtual_cpu": position.cpu,
            "function": self.function(),
            "registers": registers,
            "proof": self.proof,
        })
    }
}
