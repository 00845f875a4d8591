//! Any text is the user's commands, a service and figures in an output, or refused with the reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::CommandSpec;
use workloads::{COMMAND, check_command, metrics};

fuzz_target!(|texts: (String, String, String, String, String)| {
    let (run, service, ready, metric, output) = texts;
    let mut job = COMMAND.spec();
    for (name, text) in [("run", run), ("service", service), ("ready", ready), ("metric", metric)] {
        if COMMAND.set(&mut job, name, &text).is_err() {
            assert!(text.contains('\0'));
        }
    }
    let job = CommandSpec::new(job);
    if let Err(why) = check_command(&job) {
        assert!(!why.is_empty());
    }
    for metric in metrics(&job).unwrap_or_default() {
        assert!(metric.name.chars().any(char::is_alphabetic));
        if let Some(figure) = metric.find(&output) {
            assert!(figure.is_finite());
        }
    }
});
