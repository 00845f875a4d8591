//! Scripts as users write them (TOML; `docs/sessions.md`).

use std::collections::BTreeMap;

use model::units::parse_duration_ns;
use model::{Command, Script, Tools};
use serde::Deserialize;
use toml::Spanned;

use super::variables::{OWN, is_name, names};
use crate::tools;

/// The script that is run if none is named.
pub const DEFAULT_SCRIPT: &str = include_str!("../../scripts/default.toml");
/// Most users of a session.
pub const MOST_USERS: u32 = 64;
/// Most commands of a script.
const MOST_COMMANDS: usize = 1000;
/// Longest name of a command, in bytes: it has a column in a table.
const LONGEST_NAME: usize = 40;
/// Longest think time and limit of a command, in ns: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;
/// Users, if the script does not say: those of the RFC.
const USERS: u32 = 6;
/// Mean think time, if the script does not say.
const THINK: &str = "1s";
/// Longest time of a command, if the script does not say.
const LIMIT: &str = "60s";

/// A script that cannot be run: where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct ScriptError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

/// A script as it is written; every value knows where it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    version: Option<Spanned<i64>>,
    users: Option<Spanned<i64>>,
    think: Option<Spanned<String>>,
    limit: Option<Spanned<String>>,
    tools: Option<Spanned<Tools>>,
    #[serde(default)]
    variables: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    command: Vec<Spanned<WrittenCommand>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCommand {
    name: Spanned<String>,
    #[serde(default)]
    run: Vec<Spanned<String>>,
    #[serde(default)]
    builtin: Vec<Spanned<String>>,
}

/// Reads a script.
///
/// # Errors
/// When it is not TOML, or not a script that can be run, with the place and the reason.
pub fn parse_script(text: &str) -> Result<Script, ScriptError> {
    let reader = Reader { text };
    let written: Written = toml::from_str(text).map_err(|error| {
        reader.error(error.span().map_or(0, |span| span.start), error.message())
    })?;
    let variables = reader.variables(&written)?;
    let script = Script {
        version: reader.number(written.version.as_ref(), 1, 1, i64::from(u32::MAX), "version")?,
        users: reader.number(written.users.as_ref(), USERS, 1, i64::from(MOST_USERS), "users")?,
        think_ns: reader.time(written.think.as_ref(), THINK, 0)?,
        limit_ns: reader.time(written.limit.as_ref(), LIMIT, 1)?,
        tools: written.tools.as_ref().map_or(Tools::Auto, |tools| *tools.get_ref()),
        commands: reader.commands(&written, &variables)?,
        name: reader.name(&written.name, "a script's name")?,
        variables,
    };
    Ok(script)
}

/// Changes one setting of a script, as `--set name=value` does: `users`, `think`, `limit`, `tools`
/// or a variable that the script has.
///
/// # Errors
/// When the value does not fit, or there is no such setting, with those that there are.
pub fn set(script: &mut Script, name: &str, value: &str) -> Result<(), String> {
    match name {
        "users" => {
            let users = value.parse().ok().filter(|users| (1..=MOST_USERS).contains(users));
            script.users = users.ok_or(format!("users: {value:?} is not 1 to {MOST_USERS}"))?;
        }
        "think" => script.think_ns = time_ns(value, 0)?,
        "limit" => script.limit_ns = time_ns(value, 1)?,
        "tools" => {
            script.tools = match value {
                "auto" => Tools::Auto,
                "system" => Tools::System,
                "builtin" => Tools::Builtin,
                _ => return Err(format!("tools: {value:?} is not auto, system or builtin")),
            };
        }
        _ => match script.variables.get_mut(name) {
            Some(variable) => {
                check_value(value)?;
                value.clone_into(variable);
            }
            None => {
                let own = script.variables.keys().map(String::as_str);
                let all: Vec<&str> =
                    ["users", "think", "limit", "tools"].into_iter().chain(own).collect();
                return Err(format!("the script has no {name:?}; there are {}", all.join(", ")));
            }
        },
    }
    Ok(())
}

/// A duration between `least_ns` and a day.
fn time_ns(text: &str, least_ns: u64) -> Result<u64, String> {
    let time_ns = parse_duration_ns(text).map_err(|error| error.to_string())?;
    match (least_ns..=LONGEST_NS).contains(&time_ns) {
        true => Ok(time_ns),
        false => Err(format!("{text:?} is not more than 0 and at most a day")),
    }
}

/// A variable's value may name the user's directory and number, and nothing else.
fn check_value(value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err("a value cannot hold a NUL character".to_owned());
    }
    match names(value).find(|name| !OWN.contains(name)) {
        Some(name) => Err(format!("a value may hold {{dir}} and {{user}}, but not {{{name}}}")),
        None => Ok(()),
    }
}

/// Turns places into lines and columns.
struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: usize, reason: impl Into<String>) -> ScriptError {
        // A place between two bytes of a character, or behind the end, is rounded down.
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ScriptError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            reason: reason.into(),
        }
    }

    fn at<T>(&self, value: &Spanned<T>, reason: impl Into<String>) -> ScriptError {
        self.error(value.span().start, reason)
    }

    fn number(
        &self,
        value: Option<&Spanned<i64>>,
        usual: u32,
        least: i64,
        most: i64,
        what: &str,
    ) -> Result<u32, ScriptError> {
        let Some(value) = value else { return Ok(usual) };
        let number = *value.get_ref();
        match (least..=most).contains(&number) {
            true => Ok(number as u32),
            false => Err(self.at(value, format!("{what}: {number} is not {least} to {most}"))),
        }
    }

    fn time(
        &self,
        value: Option<&Spanned<String>>,
        usual: &str,
        least_ns: u64,
    ) -> Result<u64, ScriptError> {
        match value {
            None => time_ns(usual, least_ns).map_err(|reason| self.error(0, reason)),
            Some(text) => time_ns(text.get_ref(), least_ns).map_err(|reason| self.at(text, reason)),
        }
    }

    /// A name that fits into a table.
    fn name(&self, name: &Spanned<String>, what: &str) -> Result<String, ScriptError> {
        let text = name.get_ref();
        let fits = !text.trim().is_empty()
            && text.len() <= LONGEST_NAME
            && !text.chars().any(char::is_control);
        match fits {
            true => Ok(text.clone()),
            false => Err(self.at(
                name,
                format!("{what} is 1 to {LONGEST_NAME} bytes of printable text, unlike {text:?}"),
            )),
        }
    }

    fn variables(&self, written: &Written) -> Result<BTreeMap<String, String>, ScriptError> {
        let mut variables = BTreeMap::new();
        for (name, value) in &written.variables {
            let key = name.get_ref();
            if OWN.contains(&key.as_str())
                || ["users", "think", "limit", "tools"].contains(&key.as_str())
            {
                return Err(
                    self.at(name, format!("{key:?} has a meaning of its own; take another name"))
                );
            }
            if !is_name(key) {
                return Err(self.at(
                    name,
                    format!("{key:?} is no name: write letters, digits, _ and -, a letter first"),
                ));
            }
            check_value(value.get_ref()).map_err(|reason| self.at(value, reason))?;
            variables.insert(key.clone(), value.get_ref().clone());
        }
        Ok(variables)
    }

    fn commands(
        &self,
        written: &Written,
        variables: &BTreeMap<String, String>,
    ) -> Result<Vec<Command>, ScriptError> {
        let mut commands: Vec<Command> = Vec::new();
        if written.command.is_empty() {
            let reason = "a script has at least one [[command]]";
            return Err(self.error(self.text.len(), reason));
        }
        if let Some(many) = written.command.get(MOST_COMMANDS) {
            return Err(self.at(many, format!("more than {MOST_COMMANDS} commands")));
        }
        for spanned in &written.command {
            let command = spanned.get_ref();
            let name = self.name(&command.name, "a command's name")?;
            if commands.iter().any(|other| other.name == name) {
                return Err(self.at(&command.name, format!("a second command named {name:?}")));
            }
            if command.run.is_empty() && command.builtin.is_empty() {
                let reason = format!("command {name:?} has neither `run` nor `builtin`");
                return Err(self.at(&command.name, reason));
            }
            if let Some(tool) = command.builtin.first()
                && !tools::tool_names().any(|known| known == tool.get_ref())
            {
                let known: Vec<&str> = tools::tool_names().collect();
                let reason = format!(
                    "no tool is named {:?}; there are {}",
                    tool.get_ref(),
                    known.join(", ")
                );
                return Err(self.at(tool, reason));
            }
            for argument in command.run.iter().chain(&command.builtin) {
                self.argument(argument, variables)?;
            }
            let texts = |words: &[Spanned<String>]| {
                words.iter().map(|word| word.get_ref().clone()).collect()
            };
            commands.push(Command {
                name,
                run: texts(&command.run),
                builtin: texts(&command.builtin),
            });
        }
        Ok(commands)
    }

    fn argument(
        &self,
        argument: &Spanned<String>,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), ScriptError> {
        let text = argument.get_ref();
        if text.contains('\0') {
            return Err(self.at(argument, "an argument cannot hold a NUL character"));
        }
        let is_known = |name: &str| OWN.contains(&name) || variables.contains_key(name);
        match names(text).find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(self.at(
                argument,
                format!(
                    "no variable is named {name:?}: define it in [variables], or write \
                     {{{{{name}}}}} for the text itself"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            ("name = \"x\"\n".to_owned(), 2, "at least one"),
            (format!("users = 0\n{SMALL}"), 1, "1 to 64"),
            (format!("think = \"5 days\"\n{SMALL}"), 1, "duration"),
            (format!("limit = \"0s\"\n{SMALL}"), 1, "more than 0"),
            (format!("tools = \"mine\"\n{SMALL}"), 1, "auto"),
            (format!("nosuch = 1\n{SMALL}"), 1, "nosuch"),
            (format!("{SMALL}{second}"), 6, "second command"),
            (SMALL.replace("\"true\"", ""), 3, "neither"),
            (SMALL.replace("run = [\"true\"]", "builtin = [\"fly\"]"), 4, "no tool"),
            (SMALL.replace("true", "{what}"), 4, "define it"),
            (format!("{SMALL}[variables]\ndir = \"x\"\n"), 6, "meaning of its own"),
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
}
