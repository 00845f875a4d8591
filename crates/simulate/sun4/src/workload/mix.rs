//! Mixes: machines with several users, as TOML (docs/mmu-mixes.md).

mod check;
mod scene;

use std::collections::BTreeMap;

use model::description::{Description, DescriptionError};
use model::units::{parse_duration_ns, parse_size_bytes};
use serde::Deserialize;

use super::image::{FIRST_FILE, Library, Shape};

pub(super) use scene::scene;

/// The mixes that come with thrashlab: names and descriptions.
pub const MIXES: &[(&str, &str)] = &[
    ("xterms", include_str!("../../mixes/xterms.toml")),
    ("shells", include_str!("../../mixes/shells.toml")),
    ("lisp", include_str!("../../mixes/lisp.toml")),
    ("database", include_str!("../../mixes/database.toml")),
];

/// The largest part of a program, in bytes: the half of an address space.
const MOST_BYTES: u64 = 512 << 20;
const MOST_WAIT_NS: u64 = 86_400_000_000_000;

/// A machine with several users, as its description has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Its name.
    pub name: String,
    /// A summary in one line.
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    libraries: BTreeMap<String, LibrarySizes>,
    #[serde(default)]
    segments: BTreeMap<String, Segment>,
    programs: BTreeMap<String, MixProgram>,
    #[serde(default)]
    commands: BTreeMap<String, Command>,
    #[serde(rename = "processes")]
    groups: Vec<Group>,
}

/// A size in bytes, written like `64K`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Size(u64);

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match parse_size_bytes(&text)? {
            bytes @ 0..=MOST_BYTES => Ok(Self(bytes)),
            bytes => {
                Err(format!("{bytes} bytes are more than {MOST_BYTES}, half an address space"))
            }
        }
    }
}

/// A time in ns, written like `5s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Pause(u64);

impl TryFrom<String> for Pause {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match parse_duration_ns(&text)? {
            ns @ 1..=MOST_WAIT_NS => Ok(Self(ns)),
            _ => Err("a wait is between 1ns and a day".to_owned()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LibrarySizes {
    text: Size,
    #[serde(default)]
    data: Size,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Segment {
    size: Size,
}

/// A library of a program, and how much of its text is used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    library: String,
    used: Size,
}

/// A program: the sizes of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MixProgram {
    text: Size,
    #[serde(default)]
    data: Size,
    #[serde(default)]
    heap: Size,
    #[serde(default = "usual_stack")]
    stack: Size,
    /// Address space for each page of the heap that is used.
    #[serde(default = "one_page")]
    spread: Size,
    #[serde(default)]
    libraries: Vec<Use>,
    #[serde(default)]
    segments: Vec<String>,
}

/// A program that is run, does its work once, and ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    program: String,
    #[serde(default)]
    touches: Touches,
    #[serde(default)]
    compute_cycles: u64,
}

/// How much is touched at a time, by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Touches {
    text: Size,
    library: Size,
    data: Size,
    heap: Size,
    stack: Size,
    segment: Size,
    order: TouchOrder,
}

/// Which pages of heap and segments are touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TouchOrder {
    /// Popular ones, by Zipf's law, from low to high addresses.
    #[default]
    Popular,
    /// Any, as they come.
    Uniform,
}

/// Processes that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    program: String,
    #[serde(default = "once")]
    count: u64,
    /// It waits for the think time of its user (a mean), a timer of this period, or a call.
    think: Option<Pause>,
    every: Option<Pause>,
    #[serde(default)]
    serves: bool,
    /// Interactions of a user until it is done.
    interactions: Option<u64>,
    #[serde(default)]
    touches: Touches,
    #[serde(default)]
    compute_cycles: u64,
    /// Interval of sweeps of the whole heap; 0 = none.
    #[serde(default)]
    sweep_each: u64,
    /// Groups that are called, in order.
    #[serde(default)]
    calls: Vec<String>,
    /// Commands, in random order, each once before one comes again.
    #[serde(default)]
    runs: Vec<String>,
    /// Interval of commands.
    #[serde(default = "once")]
    run_each: u64,
}

fn usual_stack() -> Size {
    Size(16 << 10)
}

fn one_page() -> Size {
    Size(4096)
}

fn once() -> u64 {
    1
}

impl Mix {
    /// Reads a description in TOML; an error has its place and reason.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let description = Description(text);
        let mix: Self = description.read()?;
        mix.check(description).map(|()| mix)
    }

    /// The parts of each program, in the order of their names.
    fn shapes(&self) -> impl Iterator<Item = Shape> {
        let programs = self.programs.values().enumerate();
        programs.map(|(index, program)| self.shape(index, program))
    }

    fn shape(&self, index: usize, program: &MixProgram) -> Shape {
        let library = |used: &Use| {
            let library = self.libraries.get(&used.library)?;
            Some(Library {
                file: FIRST_FILE + index_of(&self.libraries, &used.library) as u32,
                text_bytes: library.text.0,
                data_bytes: library.data.0,
                used_bytes: used.used.0,
            })
        };
        let segment = |name: &String| {
            Some((index_of(&self.segments, name) as u32, self.segments.get(name)?.size.0))
        };
        Shape {
            file: FIRST_FILE + (self.libraries.len() + index) as u32,
            text_bytes: program.text.0,
            data_bytes: program.data.0.max(1),
            heap_bytes: program.heap.0,
            stack_bytes: program.stack.0.max(1),
            libraries: program.libraries.iter().filter_map(library).collect(),
            segments: program.segments.iter().filter_map(segment).collect(),
            ..Shape::default()
        }
    }
}

/// The index of a known name, in the order of names.
fn index_of<T>(things: &BTreeMap<String, T>, name: &str) -> usize {
    things.keys().take_while(|known| known.as_str() < name).count()
}

#[cfg(test)]
#[path = "mix_tests.rs"]
mod tests;
