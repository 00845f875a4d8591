//! Answers a request.

use std::io::{self, BufRead, Write};

use analysis::sweep::find;
use curves::{place_of, sweep_document};

use crate::choices::choices;
use crate::dropped::dropped;
use crate::measured::Sweep;
use crate::reply::{Part, Reply, drawn, knee_chart, send, view};
use crate::request::{Request, SweepRequest};

/// What the chart calls several machines.
const BY: &str = "machine";

/// Reads a request and writes its answer. Fails only when reading or writing does; what is wrong
/// with a request is part of the answer.
pub fn answer(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let reply = match serde_json::from_str(&line) {
        Err(error) => Err(format!("the request is not understood: {error}")),
        Ok(Request::Choices) => choices().map(Reply::Choices),
        Ok(Request::File(request)) => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            dropped(&request, bytes).map(Reply::Result)
        }
        Ok(Request::Sweep(request)) => match Sweep::new(&request) {
            Err(why) => Err(why),
            Ok(sweep) => measured(sweep, &request, output)?.map(Reply::Result),
        },
    };
    send(output, &reply.unwrap_or_else(Reply::Refused))
}

/// Measures a sweep, and writes what is known after each step.
fn measured(
    mut sweep: Sweep,
    request: &SweepRequest,
    output: &mut dyn Write,
) -> io::Result<Result<Part, String>> {
    loop {
        match sweep.step() {
            Err(why) => return Ok(Err(why)),
            Ok(false) => return Ok(Ok(part(&sweep, request, true))),
            Ok(true) => send(output, &Reply::Result(part(&sweep, request, false)))?,
        }
    }
}

fn part(sweep: &Sweep, request: &SweepRequest, done: bool) -> Part {
    let several = sweep.machines.len() > 1;
    let headers: Vec<_> =
        sweep.machines.iter().flat_map(|machine| machine.headers.clone()).collect();
    let by = several.then(|| BY.to_owned());
    let rows = sweep.machines.iter().map(|machine| {
        let label = if several { machine.label.clone() } else { String::new() };
        (label, &machine.curve, find(&machine.curve, &sweep.settings))
    });
    let view = view(place_of(&headers), by, rows, &sweep.settings);
    let mut document = drawn(sweep_document(&view), knee_chart("knee", &view));
    if done {
        document.push("The same on the command line:");
        document.blocks.extend(commands(request).map(render::Block::Command));
    }
    Part::new(&document, done)
}

/// The commands that measure the same.
fn commands(request: &SweepRequest) -> impl Iterator<Item = String> {
    request.machines.iter().map(|machine| {
        let settings: Vec<String> =
            machine.chosen().map(|(name, value)| format!("{name}={value}")).collect();
        format!(
            "thrashlab sweep vmtest --subject mmu:{} --range {}..{} --passes {}",
            settings.join(","),
            request.first,
            request.last,
            request.passes
        )
    })
}
