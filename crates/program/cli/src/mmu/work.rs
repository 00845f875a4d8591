//! What runs on a Sun-4: a program with its settings, a mix of several users, a trace.

use std::path::Path;

use anyhow::{Context, anyhow};
use experiment::TypedJob;
use experiment::typed::Setting;
use sun4::{MIXES, Mix, TraceProgram, Workload};
use trace::{Granularity, open};

use crate::{Failure, Result};

/// Most visits of segments that are kept of a trace, some 100 bytes each.
const MOST_VISITS: u64 = 1_000_000;
/// How many of a trace run at the same time: a setting of traces.
const COPIES: &str = "copies";

pub(super) enum Work {
    /// A program that has a size and settings of its own.
    Program(TypedJob),
    /// Work without a size.
    Whole(Whole),
}

/// Work that has no size parameter.
pub(super) struct Whole {
    pub(super) name: String,
    pub(super) workload: Workload,
    /// What its user must know.
    pub(super) note: Option<String>,
}

impl Work {
    /// Finds it by name; removes the settings of traces from `settings`.
    pub(super) fn find(what: &str, settings: &mut Vec<Setting>) -> Result<Self> {
        let unknown = match what.parse::<TypedJob>() {
            Ok(program) => return Ok(Self::Program(program)),
            Err(why) => why,
        };
        let whole = |workload, note| Self::Whole(Whole { name: what.to_owned(), workload, note });
        let mix =
            |text: &str| Mix::parse(text).map(Workload::Mix).with_context(|| format!("mix {what}"));
        if let Some((_, text)) = MIXES.iter().find(|(name, _)| *name == what) {
            return Ok(whole(mix(text).map_err(Failure::WrongUse)?, None));
        }
        if !Path::new(what).exists() {
            let mixes: Vec<&str> = MIXES.iter().map(|(name, _)| *name).collect();
            return Err(wrong!(
                "{unknown}; mixes of several users are {}; and there is no file of this name",
                mixes.join(", ")
            ));
        }
        if what.ends_with(".toml") {
            let text = std::fs::read_to_string(what).with_context(|| format!("read {what}"))?;
            return Ok(whole(mix(&text).map_err(Failure::WrongUse)?, None));
        }
        let copies = copies(settings).map_err(Failure::WrongUse)?;
        let trace = || format!("trace {what}");
        let mut source = open(Path::new(what), Granularity::Page).with_context(trace)?;
        let program = TraceProgram::take(source.as_mut(), copies, MOST_VISITS);
        let program = program.with_context(trace)?;
        let note = program.note();
        Ok(whole(Workload::Trace(program), note))
    }
}

fn copies(settings: &mut Vec<Setting>) -> anyhow::Result<u64> {
    let Some(at) = settings.iter().rposition(|(name, _)| name == COPIES) else { return Ok(1) };
    let (_, value) = settings.remove(at);
    match value.parse() {
        Ok(copies @ 1..=1000) => Ok(copies),
        _ => Err(anyhow!("--set copies={value}: a number from 1 to 1000")),
    }
}
