//! A mix as it is written, and what contradicts itself in it.

use std::collections::BTreeMap;
use std::fmt::Display;

use model::units::{parse_duration_ns, parse_size_bytes};
use serde::Deserialize;
use toml::Spanned;

use super::{Command, Group, Mix, MixProgram, TouchOrder, Wait, Work};
use crate::machine::{Checks, MachineError, read};
use crate::sun4::machine::SEGMENT_BYTES;
use crate::sun4::program::Backing;
use crate::sun4::system::Libraries;
use crate::sun4::workload::image::{FIRST_FILE, Image, Library, Shape};

/// The largest part of a program, in bytes: the half of an address space.
const MOST_BYTES: u64 = 512 << 20;
const MOST_PROCESSES: u64 = 4096;
const MOST_INTERACTIONS: u64 = 100_000;
const MOST_CYCLES: u64 = 1 << 40;
const MOST_WAIT_NS: u64 = 86_400_000_000_000;
/// Pages that all processes of a mix touch, as far as they are kept one by one.
const MOST_PAGES: u64 = 1 << 24;
/// Descriptions of parts, of each kind.
const MOST_PARTS: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    libraries: BTreeMap<String, LibraryTable>,
    #[serde(default)]
    segments: BTreeMap<String, SegmentTable>,
    programs: BTreeMap<String, ProgramTable>,
    #[serde(default)]
    commands: BTreeMap<String, CommandTable>,
    processes: Vec<Spanned<ProcessTable>>,
}

type Size = Spanned<String>;
type Name = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LibraryTable {
    text: Size,
    data: Option<Size>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SegmentTable {
    size: Size,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    library: Name,
    used: Size,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramTable {
    text: Size,
    data: Option<Size>,
    heap: Option<Size>,
    stack: Option<Size>,
    spread: Option<Size>,
    #[serde(default)]
    libraries: Vec<Use>,
    #[serde(default)]
    segments: Vec<Name>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Touches {
    text: Option<Size>,
    library: Option<Size>,
    data: Option<Size>,
    heap: Option<Size>,
    stack: Option<Size>,
    segment: Option<Size>,
    #[serde(default)]
    order: TouchOrder,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTable {
    program: Name,
    #[serde(default)]
    touches: Touches,
    compute_cycles: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessTable {
    name: Name,
    program: Name,
    count: Option<Spanned<u64>>,
    think: Option<Name>,
    every: Option<Name>,
    #[serde(default)]
    serves: bool,
    interactions: Option<Spanned<u64>>,
    #[serde(default)]
    touches: Touches,
    compute_cycles: Option<Spanned<u64>>,
    sweep_each: Option<Spanned<u64>>,
    #[serde(default)]
    calls: Vec<Name>,
    #[serde(default)]
    runs: Vec<Name>,
    run_each: Option<Spanned<u64>>,
}

/// Reads a description.
pub(super) fn parse(text: &str) -> Result<Mix, MachineError> {
    let raw: Description = read(text)?;
    let reader = Reader { checks: Checks { text }, raw: &raw };
    reader.mix()
}

struct Reader<'a> {
    checks: Checks<'a>,
    raw: &'a Description,
}

impl Reader<'_> {
    fn mix(&self) -> Result<Mix, MachineError> {
        let raw = self.raw;
        self.checks.that(&raw.name, !raw.name.get_ref().trim().is_empty(), "a mix needs a name")?;
        let parts = [raw.libraries.len(), raw.segments.len(), raw.programs.len()];
        let parts = parts.into_iter().chain([raw.commands.len(), raw.processes.len()]);
        if parts.max() > Some(MOST_PARTS) {
            return Err(self.nowhere(format!("more than {MOST_PARTS} of a kind")));
        }
        let programs: Result<Vec<_>, _> =
            raw.programs.iter().enumerate().map(|(at, one)| self.program(at, one)).collect();
        let programs = programs?;
        let commands: Result<Vec<_>, _> =
            raw.commands.iter().map(|(name, table)| self.command(name, table)).collect();
        let mut groups = Vec::new();
        for table in &raw.processes {
            groups.push(self.group(table)?);
        }
        let mix = Mix {
            name: raw.name.get_ref().clone(),
            about: raw.about.clone(),
            programs,
            commands: commands?,
            groups,
        };
        self.check(&mix).map(|()| mix)
    }

    fn program(
        &self,
        index: usize,
        (name, table): (&String, &ProgramTable),
    ) -> Result<MixProgram, MachineError> {
        let file = FIRST_FILE + self.raw.libraries.len() as u32 + index as u32;
        let text_bytes = self.size(Some(&table.text))?;
        self.checks.that(&table.text, text_bytes > 0, "a program needs text")?;
        let (mut libraries, mut segments) = (Vec::new(), Vec::new());
        for used in &table.libraries {
            libraries.push(self.library(used)?);
        }
        for segment in &table.segments {
            let (number, found) = self.find(&self.raw.segments, segment, "segment")?;
            segments.push((number as u32, self.size(Some(&found.size))?));
        }
        let spread = table.spread.as_ref();
        let spread_bytes = if spread.is_none() { 4096 } else { self.size(spread)? };
        if let Some(spread) = spread {
            let is_whole = spread_bytes >= 4096 && spread_bytes.is_multiple_of(4096);
            self.checks.that(
                spread,
                is_whole,
                "spread is a multiple of 4096, the size of a page",
            )?;
        }
        let stack = table.stack.as_ref();
        let shape = Shape {
            file,
            text_bytes,
            data_bytes: self.size(table.data.as_ref())?.max(1),
            heap_bytes: self.size(table.heap.as_ref())?,
            heap_backing: Backing::Zero,
            stack_bytes: if stack.is_none() { 16 << 10 } else { self.size(stack)?.max(1) },
            libraries,
            segments,
        };
        self.fits(table, &shape)?;
        Ok(MixProgram { name: name.clone(), shape, spread_bytes })
    }

    /// Refuses a program that is too large for some machine, with either kind of libraries.
    fn fits(&self, table: &ProgramTable, shape: &Shape) -> Result<(), MachineError> {
        for libraries in [Libraries::Shared, Libraries::Static] {
            let mut page_bytes = 4096;
            while page_bytes <= SEGMENT_BYTES {
                let image = Image::lay_out(page_bytes, libraries, shape);
                image.map_err(|reason| self.checks.at(&table.text, reason))?;
                page_bytes *= 2;
            }
        }
        Ok(())
    }

    fn library(&self, used: &Use) -> Result<Library, MachineError> {
        let (number, table) = self.find(&self.raw.libraries, &used.library, "library")?;
        let text_bytes = self.size(Some(&table.text))?;
        let used_bytes = self.size(Some(&used.used))?;
        let reason = format!("{used_bytes} bytes of a library of {text_bytes} cannot be used");
        self.checks.that(&used.used, used_bytes <= text_bytes, reason)?;
        Ok(Library {
            file: FIRST_FILE + number as u32,
            text_bytes,
            data_bytes: self.size(table.data.as_ref())?,
            used_bytes,
        })
    }

    fn command(&self, name: &str, table: &CommandTable) -> Result<Command, MachineError> {
        let (program, _) = self.find(&self.raw.programs, &table.program, "program")?;
        let work = self.work(&table.touches, table.compute_cycles.as_ref())?;
        Ok(Command { name: name.to_owned(), program, work })
    }

    fn work(&self, touches: &Touches, cycles: Option<&Spanned<u64>>) -> Result<Work, MachineError> {
        Ok(Work {
            text_bytes: self.size(touches.text.as_ref())?,
            library_bytes: self.size(touches.library.as_ref())?,
            data_bytes: self.size(touches.data.as_ref())?,
            heap_bytes: self.size(touches.heap.as_ref())?,
            stack_bytes: self.size(touches.stack.as_ref())?,
            segment_bytes: self.size(touches.segment.as_ref())?,
            order: touches.order,
            compute_cycles: self.number("compute_cycles", cycles, 0, 0, MOST_CYCLES)?,
        })
    }

    fn group(&self, table: &Spanned<ProcessTable>) -> Result<Group, MachineError> {
        let table = table.get_ref();
        let (program, _) = self.find(&self.raw.programs, &table.program, "program")?;
        let runs: Result<Vec<usize>, _> = table
            .runs
            .iter()
            .map(|run| self.find(&self.raw.commands, run, "command").map(|(at, _)| at))
            .collect();
        let calls: Result<Vec<usize>, _> =
            table.calls.iter().map(|call| self.server(call)).collect();
        let interactions = table.interactions.as_ref();
        let group = Group {
            name: table.name.get_ref().clone(),
            program,
            count: self.number("count", table.count.as_ref(), 1, 1, MOST_PROCESSES)?,
            wait: self.wait(table)?,
            interactions: match interactions {
                None => None,
                some => Some(self.number("interactions", some, 1, 1, MOST_INTERACTIONS)?),
            },
            work: self.work(&table.touches, table.compute_cycles.as_ref())?,
            sweep_each: self.number("sweep_each", table.sweep_each.as_ref(), 0, 1, 1 << 20)?,
            calls: calls?,
            runs: runs?,
            run_each: self.number("run_each", table.run_each.as_ref(), 1, 1, 1 << 20)?,
        };
        if let (Wait::Call, Some(interactions)) = (group.wait, interactions) {
            let reason = "who serves goes on for ever: interactions are those of its callers";
            return Err(self.checks.at(interactions, reason));
        }
        if let (Wait::Call, Some(call)) = (group.wait, table.calls.first()) {
            // Two that call each other would wait for ever.
            return Err(self.checks.at(call, "who serves may not call others"));
        }
        Ok(group)
    }

    fn wait(&self, table: &ProcessTable) -> Result<Wait, MachineError> {
        match (&table.think, &table.every, table.serves) {
            (Some(think), None, false) => self.duration(think).map(Wait::Think),
            (None, Some(every), false) => self.duration(every).map(Wait::Every),
            (None, None, true) => Ok(Wait::Call),
            _ => {
                let reason = "a process has one of think, every and serves = true";
                Err(self.checks.at(&table.name, reason))
            }
        }
    }

    /// Index of the group that serves under a name.
    fn server(&self, name: &Name) -> Result<usize, MachineError> {
        let groups = self.raw.processes.iter().map(Spanned::get_ref);
        let mut groups = groups.enumerate();
        let found = groups.find(|(_, group)| group.name.get_ref() == name.get_ref());
        match found {
            Some((index, group)) if group.serves => Ok(index),
            Some(_) => Err(self.checks.at(name, format!("{:?} does not serve", name.get_ref()))),
            None => Err(self.checks.at(name, format!("no process is named {:?}", name.get_ref()))),
        }
    }

    fn check(&self, mix: &Mix) -> Result<(), MachineError> {
        let of_commands = mix.commands.iter().map(super::scene::pages_of_command);
        let (mut processes, mut pages) = (0_u64, of_commands.sum::<u64>());
        let is_user = |group: &Group| group.interactions.is_some();
        for (index, (group, table)) in mix.groups.iter().zip(&self.raw.processes).enumerate() {
            let name = &table.get_ref().name;
            let is_first = mix.groups[..index].iter().all(|other| other.name != group.name);
            self.checks.that(name, is_first, "another process has this name")?;
            processes += group.count;
            let times = super::scene::bursts(group);
            let each = super::scene::pages(group, &mix.programs[group.program]);
            pages = pages.saturating_add(group.count.saturating_mul(times).saturating_mul(each));
            let reason = format!("more than {MOST_PROCESSES} processes together");
            self.checks.that(name, processes <= MOST_PROCESSES, reason)?;
            let reason = format!(
                "up to here {pages} touches are to be kept and at most {MOST_PAGES} are possible: \
                 take fewer interactions or less memory"
            );
            self.checks.that(name, pages <= MOST_PAGES, reason)?;
        }
        if mix.groups.iter().any(is_user) {
            return Ok(());
        }
        Err(self.nowhere("no process has interactions: there would be no end"))
    }

    fn find<'t, T>(
        &self,
        tables: &'t BTreeMap<String, T>,
        name: &Name,
        kind: &str,
    ) -> Result<(usize, &'t T), MachineError> {
        let mut named = tables.iter().enumerate();
        let found = named.find(|(_, (known, _))| *known == name.get_ref());
        found.map(|(index, (_, table))| (index, table)).ok_or_else(|| {
            let known: Vec<&str> = tables.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            self.checks
                .at(name, format!("no {kind} is named {:?}; there are {known}", name.get_ref()))
        })
    }

    fn size(&self, size: Option<&Size>) -> Result<u64, MachineError> {
        let Some(size) = size else { return Ok(0) };
        let bytes = parse_size_bytes(size.get_ref())
            .map_err(|error| self.checks.at(size, error.to_string()))?;
        let reason = format!("{bytes} bytes are more than {MOST_BYTES}, half an address space");
        self.checks.that(size, bytes <= MOST_BYTES, reason).map(|()| bytes)
    }

    fn duration(&self, text: &Name) -> Result<u64, MachineError> {
        let ns = parse_duration_ns(text.get_ref())
            .map_err(|error| self.checks.at(text, error.to_string()))?;
        self.checks.that(
            text,
            (1..=MOST_WAIT_NS).contains(&ns),
            "a wait is between 1ns and a day",
        )?;
        Ok(ns)
    }

    fn number(
        &self,
        name: &str,
        value: Option<&Spanned<u64>>,
        default: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, MachineError> {
        let Some(value) = value else { return Ok(default) };
        self.checks.between(name, value, least, most).map(|()| *value.get_ref())
    }

    fn nowhere(&self, reason: impl Display) -> MachineError {
        MachineError::at(self.checks.text, None, reason.to_string())
    }
}
