//! Session scripts in TOML (`docs/sessions.md`): reading, changing and writing them.

use std::collections::BTreeMap;

use model::description::{Description, DescriptionError};
use model::units::{exact_duration, parse_duration_ns};
use model::{Command, Script, Tools};
use serde::{Deserialize, Serialize};

use super::variables::{OWN, is_name, names};
use crate::tools;

/// The default script.
pub const DEFAULT_SCRIPT: &str = include_str!("../../scripts/default.toml");
/// Most users of a session.
pub const MOST_USERS: u32 = 64;
const MOST_COMMANDS: usize = 1000;
/// Longest name of a command, in bytes: it must fit a table's column.
const LONGEST_NAME: usize = 40;
/// Longest think time and limit of a command, in ns: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;
/// Defaults: users (as in the RFC), mean think time and limit of a command.
const USERS: u32 = 6;
const THINK: &str = "1s";
const LIMIT: &str = "60s";
const SETTINGS: [&str; 4] = ["users", "think", "limit", "tools"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    version: Option<i64>,
    users: Option<i64>,
    think: Option<String>,
    limit: Option<String>,
    #[serde(default)]
    tools: Tools,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
    #[serde(default)]
    command: Vec<WrittenCommand>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCommand {
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    run: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    builtin: Vec<String>,
}

/// Reads a script. Fails with place and reason if it is not TOML or not a valid script.
pub fn parse_script(text: &str) -> Result<Script, DescriptionError> {
    let at = Description(text);
    let written: Written = at.read()?;
    let number = |name: &str, value: Option<i64>, usual: u32, most: u32| {
        let number = value.unwrap_or(usual.into());
        let fits = (1..=i64::from(most)).contains(&number);
        at.that(name, fits, format!("{name}: {number} is not 1 to {most}"))?;
        Ok(number as u32)
    };
    let time = |name: &str, value: &Option<String>, usual: &str, least_ns: u64| {
        let time = time_ns(value.as_deref().unwrap_or(usual), least_ns);
        time.or_else(|reason| at.refuse(name, reason))
    };
    for (name, value) in &written.variables {
        let path = format!("variables.{name}");
        let is_taken = OWN.iter().chain(&SETTINGS).any(|taken| taken == name);
        let reason = format!("{name:?} is reserved; take another name");
        at.that(&path, !is_taken, reason)?;
        let reason =
            format!("{name:?} is not a name: write letters, digits, _ and -, a letter first");
        at.that(&path, is_name(name), reason)?;
        check_value(value).or_else(|reason| at.refuse(&path, reason))?;
    }
    let script = Script {
        version: number("version", written.version, 1, u32::MAX)?,
        users: number("users", written.users, USERS, MOST_USERS)?,
        think_ns: time("think", &written.think, THINK, 0)?,
        limit_ns: time("limit", &written.limit, LIMIT, 1)?,
        tools: written.tools,
        commands: commands(at, written.command, &written.variables)?,
        name: checked_name(at, "name", written.name, "a script's name")?,
        variables: written.variables,
    };
    Ok(script)
}

/// A script as TOML for [`parse_script`]. Fails when TOML cannot represent it.
pub fn script_text(script: &Script) -> Result<String, toml::ser::Error> {
    let Script { name, variables, commands, .. } = script.clone();
    let written = |Command { name, run, builtin }| WrittenCommand { name, run, builtin };
    toml::to_string(&Written {
        name,
        version: Some(script.version.into()),
        users: Some(script.users.into()),
        think: Some(exact_duration(script.think_ns)),
        limit: Some(exact_duration(script.limit_ns)),
        tools: script.tools,
        variables,
        command: commands.into_iter().map(written).collect(),
    })
}

/// Changes a setting of a script (`--set name=value`): `users`, `think`, `limit`, `tools` or one of
/// its variables. Fails, with the valid ones, for an unknown setting or value.
pub fn set(script: &mut Script, name: &str, value: &str) -> Result<(), String> {
    match name {
        "users" => {
            let users = value.parse().ok().filter(|users| (1..=MOST_USERS).contains(users));
            script.users = users.ok_or(format!("users: {value:?} is not 1 to {MOST_USERS}"))?;
        }
        "think" => script.think_ns = time_ns(value, 0)?,
        "limit" => script.limit_ns = time_ns(value, 1)?,
        "tools" => {
            script.tools = Tools::named(value).map_err(|error| format!("tools: {error}"))?;
        }
        _ => {
            let own = script.variables.keys().map(String::as_str);
            let all: Vec<&str> = SETTINGS.into_iter().chain(own).collect();
            let unknown = format!("the script has no {name:?}; choose from {}", all.join(", "));
            let variable = script.variables.get_mut(name).ok_or(unknown)?;
            check_value(value)?;
            value.clone_into(variable);
        }
    }
    Ok(())
}

/// A duration between `least_ns` and a day.
fn time_ns(text: &str, least_ns: u64) -> Result<u64, String> {
    let time_ns = parse_duration_ns(text)?;
    match (least_ns..=LONGEST_NS).contains(&time_ns) {
        true => Ok(time_ns),
        false => Err(format!("{text:?} is not more than 0 and at most a day")),
    }
}

/// A variable's value may only refer to the user's directory and number.
fn check_value(value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err("a value cannot hold a NUL character".to_owned());
    }
    match names(value).find(|name| !OWN.contains(name)) {
        Some(name) => Err(format!("a value may hold {{dir}} and {{user}}, but not {{{name}}}")),
        None => Ok(()),
    }
}

fn checked_name(
    at: Description<'_>,
    path: &str,
    name: String,
    what: &str,
) -> Result<String, DescriptionError> {
    let fits = !name.trim().is_empty()
        && name.len() <= LONGEST_NAME
        && !name.chars().any(char::is_control);
    let reason = format!("{what} is 1 to {LONGEST_NAME} bytes of printable text, unlike {name:?}");
    at.that(path, fits, reason).map(|()| name)
}

fn commands(
    at: Description<'_>,
    written: Vec<WrittenCommand>,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Command>, DescriptionError> {
    at.that("command", !written.is_empty(), "a script has at least one [[command]]")?;
    let too_many = format!("more than {MOST_COMMANDS} commands");
    at.that(&format!("command.{MOST_COMMANDS}"), written.len() <= MOST_COMMANDS, too_many)?;
    let mut commands: Vec<Command> = Vec::new();
    for (index, WrittenCommand { name, run, builtin }) in written.into_iter().enumerate() {
        let path = |field: &str| format!("command.{index}.{field}");
        let name = checked_name(at, &path("name"), name, "a command's name")?;
        let is_new = commands.iter().all(|other| other.name != name);
        at.that(&path("name"), is_new, format!("a second command named {name:?}"))?;
        let reason = format!("command {name:?} has neither `run` nor `builtin`");
        at.that(&path("name"), !(run.is_empty() && builtin.is_empty()), reason)?;
        if let Some(tool) = builtin.first() {
            let known: Vec<&str> = tools::tool_names().collect();
            let reason = format!("no tool is named {tool:?}; choose from {}", known.join(", "));
            at.that(&path("builtin.0"), known.contains(&tool.as_str()), reason)?;
        }
        for (field, words) in [("run", &run), ("builtin", &builtin)] {
            for (number, word) in words.iter().enumerate() {
                check_argument(word, variables)
                    .or_else(|reason| at.refuse(&path(&format!("{field}.{number}")), reason))?;
            }
        }
        commands.push(Command { name, run, builtin });
    }
    Ok(commands)
}

fn check_argument(text: &str, variables: &BTreeMap<String, String>) -> Result<(), String> {
    if text.contains('\0') {
        return Err("an argument cannot hold a NUL character".to_owned());
    }
    let is_known = |name: &str| OWN.contains(&name) || variables.contains_key(name);
    match names(text).find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "no variable is named {name:?}: define it in [variables], or write {{{{{name}}}}} for \
             the text itself"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    const SMALL: &str = "name = \"x\"\n[[command]]\nname = \"a\"\nrun = [\"true\"]\n";

    #[test]
    fn the_default_script_has_six_users_and_sixteen_commands_in_both_forms() {
        let script = parse_script(DEFAULT_SCRIPT).unwrap();
        assert_eq!((script.users, script.commands.len()), (6, 16));
        assert_eq!((script.think_ns, script.tools), (1_000_000_000, Tools::Auto));
        for command in &script.commands {
            assert!(!command.run.is_empty() && !command.builtin.is_empty(), "{command:?}");
        }
    }

    #[test]
    fn the_shortest_script_has_the_usual_settings() {
        let script = parse_script(SMALL).unwrap();
        assert_eq!((script.users, script.version, script.think_ns), (6, 1, 1_000_000_000));
        assert_eq!(script.limit_ns, 60_000_000_000);
    }

    #[test]
    fn wrong_scripts_are_refused_with_place_and_reason() {
        let second = "[[command]]\nname = \"a\"\nrun = [\"x\"]\n";
        let cases = [
            ("users = 6\n".to_owned(), 1, "name"),
            ("name = \"x\"\n".to_owned(), 1, "at least one"),
            (format!("users = 0\n{SMALL}"), 1, "1 to 64"),
            (format!("think = \"5 days\"\n{SMALL}"), 1, "duration"),
            (format!("limit = \"0s\"\n{SMALL}"), 1, "more than 0"),
            (format!("tools = \"mine\"\n{SMALL}"), 1, "auto"),
            (format!("nosuch = 1\n{SMALL}"), 1, "nosuch"),
            (format!("{SMALL}{second}"), 6, "second command"),
            (SMALL.replace("\"true\"", ""), 3, "neither"),
            (SMALL.replace("run = [\"true\"]", "builtin = [\"fly\"]"), 4, "no tool"),
            (SMALL.replace("true", "{what}"), 4, "define it"),
            (format!("{SMALL}[variables]\ndir = \"x\"\n"), 6, "is reserved"),
            (format!("{SMALL}[variables]\na = \"{{b}}\"\n"), 6, "may hold"),
            (format!("{SMALL}oops"), 5, ""),
        ];
        for (text, line, reason) in cases {
            let error = parse_script(&text).unwrap_err();
            assert_eq!(error.line, line, "{error}\n{text}");
            assert!(error.reason.contains(reason), "{error}\n{text}");
        }
    }

    #[test]
    fn settings_are_changed_and_unknown_ones_refused() {
        let text = format!("{SMALL}[variables]\nfile = \"a\"\n");
        let mut script = parse_script(&text).unwrap();
        for (name, value) in [
            ("users", "2"),
            ("think", "20ms"),
            ("limit", "5s"),
            ("tools", "builtin"),
            ("file", "b"),
        ] {
            set(&mut script, name, value).unwrap();
        }
        assert_eq!(
            (script.users, script.think_ns, script.limit_ns),
            (2, 20_000_000, 5_000_000_000)
        );
        assert_eq!((script.tools, script.variables["file"].as_str()), (Tools::Builtin, "b"));
        for (name, value) in [
            ("users", "65"),
            ("think", "x"),
            ("limit", "0"),
            ("tools", "x"),
            ("x", "y"),
            ("file", "{z}"),
        ] {
            set(&mut script, name, value).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_script_or_has_a_place(text in "(?s).{0,200}") {
            if let Err(error) = parse_script(&text) {
                prop_assert!(error.line <= text.matches('\n').count() + 1);
                prop_assert!(error.column >= 1 && !error.reason.is_empty());
            }
        }

        #[test]
        fn a_script_that_is_damaged_anywhere_has_a_place(
            at in 0..DEFAULT_SCRIPT.len(), byte in "[\"\\[\\]{}=a\n#0]",
        ) {
            let text = format!("{}{byte}{}", &DEFAULT_SCRIPT[..at], &DEFAULT_SCRIPT[at..]);
            if let Err(error) = parse_script(&text) {
                prop_assert!(error.line <= text.matches('\n').count() + 1, "{}", error);
                prop_assert!(!error.reason.is_empty());
            }
        }
    }

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
