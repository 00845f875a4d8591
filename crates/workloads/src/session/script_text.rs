//! Scripts written out again: what a run file has of one, as a file that can be run.

use std::collections::BTreeMap;

use model::units::exact_duration;
use model::{Command, Script, Tools};
use serde::Serialize;

/// A script as it is written.
#[derive(Serialize)]
struct Written<'a> {
    name: &'a str,
    version: u32,
    users: u32,
    think: String,
    limit: String,
    tools: Tools,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: &'a BTreeMap<String, String>,
    command: &'a [Command],
}

/// A script as TOML, of which [`parse_script`](super::parse_script) makes the same one.
///
/// # Errors
/// When TOML cannot hold it, which no script that was ever read does.
pub fn script_text(script: &Script) -> Result<String, toml::ser::Error> {
    toml::to_string(&Written {
        name: &script.name,
        version: script.version,
        users: script.users,
        think: exact_duration(script.think_ns),
        limit: exact_duration(script.limit_ns),
        tools: script.tools,
        variables: &script.variables,
        command: &script.commands,
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::{DEFAULT_SCRIPT, parse_script};

    /// Text with everything that TOML has to escape, without braces, which name variables.
    const ANY: &str = "[^{}\\x00]{0,12}";

    fn script() -> impl Strategy<Value = Script> {
        let day_ns = 86_400_000_000_000_u64;
        let tools = prop_oneof![Just(Tools::Auto), Just(Tools::System), Just(Tools::Builtin)];
        let numbers = (1..=u32::MAX, 1..=64_u32, 0..=day_ns, 1..=day_ns, tools);
        let variables = btree_map("v[a-z0-9_-]{0,6}", ANY, 0..3);
        let names = ("[a-z][a-z \"#=]{0,10}", variables, vec(vec(ANY, 1..4), 1..4));
        (numbers, names).prop_map(|((version, users, think_ns, limit_ns, tools), names)| {
            let (name, variables, runs) = names;
            let command = |(index, run): (usize, Vec<String>)| Command {
                name: format!("{index} {name}"),
                builtin: if index == 0 { vec!["list".to_owned()] } else { Vec::new() },
                run,
            };
            let commands = runs.into_iter().enumerate().map(command).collect();
            Script { version, users, think_ns, limit_ns, tools, variables, commands, name }
        })
    }

    #[test]
    fn the_default_script_is_itself_again() {
        let script = parse_script(DEFAULT_SCRIPT).unwrap();
        let text = script_text(&script).unwrap();
        assert_eq!(parse_script(&text).unwrap(), script);
        assert!(text.starts_with("name = \"default\"\nversion = 1\nusers = 6\nthink = \"1s\"\n"));
    }

    proptest! {
        #[test]
        fn a_script_that_is_written_out_reads_as_the_same(script in script()) {
            let text = script_text(&script).unwrap();
            prop_assert_eq!(parse_script(&text), Ok(script), "{}", text);
        }
    }
}
