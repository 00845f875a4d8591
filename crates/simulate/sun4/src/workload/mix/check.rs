//! Contradictions in a mix, with their places.

use std::collections::BTreeMap;

use model::description::{Description, DescriptionError};

use super::scene::bursts;
use super::{Group, Mix, MixProgram, Touches};
use crate::machine::SEGMENT_BYTES;
use crate::system::Libraries;
use crate::workload::image::{Image, Shape};

const MOST_PROCESSES: u64 = 4096;
const MOST_INTERACTIONS: u64 = 100_000;
const MOST_CYCLES: u64 = 1 << 40;
const MOST_TIMES: u64 = 1 << 20;
/// Touches that are kept one by one.
const MOST_PAGES: u64 = 1 << 24;
/// Descriptions of parts, of each kind.
const MOST_PARTS: usize = 1000;

impl Mix {
    pub(super) fn check(&self, description: Description<'_>) -> Result<(), DescriptionError> {
        description.that("name", !self.name.trim().is_empty(), "a mix needs a name")?;
        let parts = [self.libraries.len(), self.segments.len(), self.programs.len()];
        let parts = parts.into_iter().chain([self.commands.len(), self.groups.len()]);
        if parts.max() > Some(MOST_PARTS) {
            return description.refuse("", format!("more than {MOST_PARTS} of a kind"));
        }
        for ((name, program), shape) in self.programs.iter().zip(self.shapes()) {
            self.check_program(description, &format!("programs.{name}"), program, &shape)?;
        }
        for (name, command) in &self.commands {
            let path = |key: &str| format!("commands.{name}.{key}");
            known(description, &path("program"), "program", &self.programs, &command.program)?;
            let cycles = command.compute_cycles;
            description.between(&path("compute_cycles"), cycles, 0, MOST_CYCLES)?;
        }
        for (index, group) in self.groups.iter().enumerate() {
            self.check_group(description, &format!("processes.{index}"), group)?;
        }
        self.check_total(description)
    }

    fn check_program(
        &self,
        description: Description<'_>,
        path: &str,
        program: &MixProgram,
        shape: &Shape,
    ) -> Result<(), DescriptionError> {
        let text = format!("{path}.text");
        description.that(&text, shape.text_bytes > 0, "a program needs text")?;
        for (at, used) in program.libraries.iter().enumerate() {
            let path = |key: &str| format!("{path}.libraries.{at}.{key}");
            known(description, &path("library"), "library", &self.libraries, &used.library)?;
            let all = self.libraries.get(&used.library).map_or(0, |library| library.text.0);
            let used = used.used.0;
            let reason = format!("{used} bytes of a library of {all} cannot be used");
            description.that(&path("used"), used <= all, reason)?;
        }
        for (at, segment) in program.segments.iter().enumerate() {
            let path = format!("{path}.segments.{at}");
            known(description, &path, "segment", &self.segments, segment)?;
        }
        let spread = program.spread.0;
        let is_whole = spread >= 4096 && spread.is_multiple_of(4096);
        let reason = "spread is a multiple of 4096, the size of a page";
        description.that(&format!("{path}.spread"), is_whole, reason)?;
        // It must fit into every machine, with either kind of libraries.
        for libraries in [Libraries::Shared, Libraries::Static] {
            let sizes = (12..).map(|log2| 1 << log2).take_while(|bytes| *bytes <= SEGMENT_BYTES);
            for page_bytes in sizes {
                if let Err(reason) = Image::lay_out(page_bytes, libraries, shape) {
                    return description.refuse(&text, reason);
                }
            }
        }
        Ok(())
    }

    fn check_group(
        &self,
        description: Description<'_>,
        path: &str,
        group: &Group,
    ) -> Result<(), DescriptionError> {
        known(description, &format!("{path}.program"), "program", &self.programs, &group.program)?;
        for (at, command) in group.runs.iter().enumerate() {
            known(description, &format!("{path}.runs.{at}"), "command", &self.commands, command)?;
        }
        for (at, call) in group.calls.iter().enumerate() {
            let path = format!("{path}.calls.{at}");
            let called = self.groups.iter().find(|other| other.name == *call);
            let reason = format!("no process is named {call:?}");
            description.that(&path, called.is_some(), reason)?;
            let serves = called.is_some_and(|called| called.serves);
            description.that(&path, serves, format!("{call:?} does not serve"))?;
        }
        for (name, number, least, most) in [
            ("count", group.count, 1, MOST_PROCESSES),
            ("interactions", group.interactions.unwrap_or(1), 1, MOST_INTERACTIONS),
            ("compute_cycles", group.compute_cycles, 0, MOST_CYCLES),
            ("sweep_each", group.sweep_each, 0, MOST_TIMES),
            ("run_each", group.run_each, 1, MOST_TIMES),
        ] {
            description.between(&format!("{path}.{name}"), number, least, most)?;
        }
        let waits = [group.think.is_some(), group.every.is_some(), group.serves];
        let has_one = waits.into_iter().filter(|waits| *waits).count() == 1;
        let reason = "a process has one of think, every and serves = true";
        description.that(&format!("{path}.name"), has_one, reason)?;
        let is_endless = !(group.serves && group.interactions.is_some());
        let reason = "a server never ends: interactions are those of its callers";
        description.that(&format!("{path}.interactions"), is_endless, reason)?;
        // Two that call each other would wait forever.
        let is_last = !group.serves || group.calls.is_empty();
        description.that(&format!("{path}.calls.0"), is_last, "a server may not call others")
    }

    fn check_total(&self, description: Description<'_>) -> Result<(), DescriptionError> {
        let (mut processes, mut pages) = (0_u64, self.pages_of_commands());
        for (index, group) in self.groups.iter().enumerate() {
            let path = format!("processes.{index}.name");
            let is_first = self.groups[..index].iter().all(|other| other.name != group.name);
            description.that(&path, is_first, "another process has this name")?;
            processes += group.count;
            let each = self.pages_at_a_time(group);
            let all = group.count.saturating_mul(bursts(group)).saturating_mul(each);
            pages = pages.saturating_add(all);
            let reason = format!("more than {MOST_PROCESSES} processes together");
            description.that(&path, processes <= MOST_PROCESSES, reason)?;
            let reason = format!(
                "up to here {pages} touches are to be kept and at most {MOST_PAGES} are possible: \
                 take fewer interactions or less memory"
            );
            description.that(&path, pages <= MOST_PAGES, reason)?;
        }
        let ends = self.groups.iter().any(|group| group.interactions.is_some());
        description.that("", ends, "no process has interactions: there would be no end")
    }

    /// Touches of all commands.
    fn pages_of_commands(&self) -> u64 {
        let pages = self.commands.values().map(|command| command.touches.pages());
        super::scene::COMMAND_VARIANTS * pages.sum::<u64>()
    }

    /// Most touches of a process at a time.
    fn pages_at_a_time(&self, group: &Group) -> u64 {
        let program = self.programs.get(&group.program);
        let heap = program.map_or(0, |program| program.heap.0 / program.spread.0);
        // A sweep is kept only when there is one.
        group.touches.pages() + heap.checked_div(group.sweep_each).unwrap_or(0)
    }
}

impl Touches {
    fn pages(&self) -> u64 {
        let Self { text, library, data, heap, stack, segment, order: _ } = self;
        let parts = [text, library, data, heap, stack, segment];
        parts.iter().map(|size| size.0.div_ceil(jobs::PAGE_BYTES)).sum()
    }
}

/// Refuses a name that nothing of a kind has.
fn known<T>(
    description: Description<'_>,
    path: &str,
    kind: &str,
    things: &BTreeMap<String, T>,
    name: &str,
) -> Result<(), DescriptionError> {
    let known: Vec<&str> = things.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let holds = things.contains_key(name);
    description.that(path, holds, format!("no {kind} is named {name:?}; choose from {known}"))
}
