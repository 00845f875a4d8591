//! The profile of a command of this machine.

use std::io::IsTerminal;
use std::process::{Command, Stdio};

use agent::Waiter;
use anyhow::Context;
use profile::Part;
use report::{SampledView, sampled_document};
use sampler::{Options, profile_command};

use super::ProfileArgs;
use crate::output::show;
use crate::{Failure, Result};

/// Observes the command. Its output goes to standard error, as the result has standard output.
pub(super) fn profile(args: &ProfileArgs) -> Result<()> {
    let [program, arguments @ ..] = &args.command[..] else {
        return Err(wrong!("no command: thrashlab profile -- COMMAND"));
    };
    let waiter = Waiter::new().context("catch signals")?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(std::io::stderr());
    // Its group is not the terminal's, so it would be stopped where it reads.
    if std::io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    let options = Options { frequency_hz: args.rate };
    let (profile, status) = profile_command(&mut command, &options, &|| waiter.stop_requested())
        .map_err(|error| Failure::NotMeasured(error.into()))?;
    if waiter.stop_requested() {
        return Err(Failure::Interrupted);
    }
    let failure = (!status.success()).then(|| format!("ended with {status}"));
    let part = if args.waits { Part::Waits } else { Part::OnCpu };
    args.write_stacks(&profile, profile.counts(part))?;
    let words = args.command.iter().map(String::as_str);
    let typed = shlex::try_join(words).unwrap_or_else(|_| args.command.join(" "));
    let view = SampledView {
        command: &typed,
        failure: failure.as_deref(),
        frequency_hz: args.rate,
        profile: &profile,
        most_functions: args.functions.unwrap_or(10) as usize,
    };
    show(&sampled_document(&view), &args.output)
}
