//! The documents list all parameters of the memory jobs, no more and no less, and how a load is
//! added.

use std::collections::BTreeMap;

use jobs::{Job, MemoryJob, TOUCH, VMTEST, Value};
use workloads::COMMAND;

const DOCUMENT: &str = include_str!("../../../../docs/memory-jobs.md");

/// The section of a job.
fn section(job: Job) -> &'static str {
    let heading = format!("\n## `{}`\n", job.name);
    let (_, rest) = DOCUMENT.split_once(&heading).expect("the heading");
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// First and second column of a section's tables whose first column is a name.
fn rows(section: &str) -> BTreeMap<&str, &str> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| {
        let (name, rest) = row.split_once("` | ")?;
        Some((name, rest.split_once(" | ")?.0))
    })
    .collect()
}

#[test]
fn every_parameter_and_choice_stands_in_the_page_and_no_other() {
    for job in [VMTEST, TOUCH] {
        let mut told = rows(section(job));
        let mut spec = job.spec();
        for param in job.params {
            let stands = told.remove(param.name).unwrap_or_else(|| panic!("{}", param.name));
            match param.value {
                Value::Number(number) => {
                    job.set(&mut spec, param.name, stands).expect("the default is a value");
                    assert_eq!(spec.params[param.name], number.default, "{}", param.name);
                }
                Value::Choice(names) => {
                    let of: Vec<&str> = stands.split('`').skip(1).step_by(2).collect();
                    assert_eq!(of, names, "{}", param.name);
                }
                Value::Text => assert_eq!(stands, "", "{}", param.name),
            }
        }
        assert!(told.is_empty(), "{} has no {told:?}", job.name);
    }
}

#[test]
fn every_parameter_of_a_command_stands_in_its_pages_and_no_other() {
    let page = concat!(
        include_str!("../../../../docs/your-command.md"),
        include_str!("../../../../docs/services.md")
    );
    let rows = page.lines().filter(|line| line.contains("| `command."));
    let mut rows = rows.filter(|line| !line.contains("`--client CMD`")).count();
    for param in COMMAND.params {
        assert!(page.contains(&format!("| `command.{}` | ", param.name)), "{}", param.name);
        rows -= 1;
    }
    assert_eq!(rows, 0);
}

#[test]
fn commands_of_the_page_can_be_given() {
    let commands = DOCUMENT.lines().filter_map(|line| line.strip_prefix("thrashlab run --job "));
    let mut count = 0;
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let job = workloads::find_job(words[0]).expect("a job");
        let mut spec = job.spec();
        for pair in words.windows(2).filter(|pair| pair[0] == "--set") {
            let (name, value) = pair[1].split_once('=').expect("NAME=VALUE");
            job.set(&mut spec, name, value).expect(command);
        }
        MemoryJob::new(&spec).expect(command);
        count += 1;
    }
    assert_eq!(count, 3);
}
