//! The words of a command that say what is measured.

use model::units::{exact_duration, exact_size};
use model::{JobSpec, Measure, Script};
use workloads::Kind;

use super::files::Files;
use super::option;

/// What is measured; a script that does not ship becomes a file.
pub(super) fn measure(measure: &Measure, files: &mut Files) -> Vec<String> {
    match measure {
        Measure::Probe(probe) => vec![option("probe", &probe.name)],
        Measure::Job(job) => {
            let mut words = vec![option("job", &job.name)];
            words.extend(job.script.iter().flat_map(|script| session(script, files)));
            let params = job.params.iter().map(|(name, value)| (name, typed(job, name, *value)));
            let choices = job.choices.iter().map(|(name, value)| (name, value.clone()));
            words.extend(params.chain(choices).map(|(name, value)| set(name, &value)));
            words
        }
    }
}

fn set(name: &str, value: &str) -> String {
    option("set", &format!("{name}={value}"))
}

/// A parameter as it is typed, so that the same number is read.
fn typed(job: &JobSpec, name: &str, value: u64) -> String {
    let number = workloads::find_job(&job.name).and_then(|known| known.number(name));
    match number.map(|number| number.kind) {
        Some(Kind::Size) => exact_size(value),
        Some(Kind::Time) => exact_duration(value),
        Some(Kind::Thousandths) => Kind::Thousandths.format(value),
        Some(Kind::Count) | None => value.to_string(),
    }
}

/// The script: of the one that ships what was changed of it, any other one as a file.
fn session(script: &Script, files: &mut Files) -> Vec<String> {
    let shipped = workloads::parse_script(workloads::DEFAULT_SCRIPT).ok();
    if let Some(shipped) = shipped.filter(|shipped| has_same_commands(shipped, script)) {
        let mut words = Vec::new();
        if script.users != shipped.users {
            words.push(option("users", &script.users.to_string()));
        }
        let times = [
            ("think", shipped.think_ns, script.think_ns),
            ("limit", shipped.limit_ns, script.limit_ns),
        ];
        let changed = times.into_iter().filter(|(_, before, after)| before != after);
        words.extend(changed.map(|(name, _, after)| set(name, &exact_duration(after))));
        if script.tools != shipped.tools {
            words.push(set("tools", tools(script)));
        }
        return words;
    }
    match workloads::script_text(script) {
        Ok(text) => vec![option("script", &files.add(&script.name, text))],
        // No script that was read is such a one; the command then says what is missing.
        Err(_) => vec![option("script", &script.name)],
    }
}

fn has_same_commands(shipped: &Script, script: &Script) -> bool {
    (&shipped.name, shipped.version, &shipped.commands, &shipped.variables)
        == (&script.name, script.version, &script.commands, &script.variables)
}

/// Whose tools the commands took, which is known of a run.
fn tools(script: &Script) -> &'static str {
    match script.tools {
        model::Tools::Auto => "auto",
        model::Tools::System => "system",
        model::Tools::Builtin => "builtin",
    }
}
