//! Which programs run the commands of a script on this subject: its own or the built-in ones.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use model::{Command, Script, Tools};
use rustix::fs::{Access, access};

/// The search path if the environment has none.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// A script as it is run on one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The script; its tools are `system` or `builtin`.
    pub script: Script,
    /// Why the built-in tools are used although the subject's were wanted.
    pub note: Option<String>,
}

impl Resolved {
    /// The arguments of a command, and whether they name a built-in tool.
    pub fn words<'a>(&self, command: &'a Command) -> (&'a [String], bool) {
        let wants_own = self.script.tools == Tools::Builtin;
        match (wants_own && !command.builtin.is_empty()) || command.run.is_empty() {
            true => (&command.builtin, true),
            false => (&command.run, false),
        }
    }
}

/// The directories in which programs are searched: those of the environment, or the usual ones. As
/// in execvp(3), an empty entry is the current directory, and so is an empty path.
pub fn search_path(environment: Option<OsString>) -> OsString {
    environment.unwrap_or_else(|| USUAL_PATH.into())
}

/// Chooses the tools. Fails for a command that cannot be issued, with what is missing.
pub fn resolve(script: &Script, path: &OsStr) -> Result<Resolved, String> {
    // A program in the user's directory is assumed to exist.
    let lacks = |command: &Command| {
        let program = super::variables::program(script, command.run.first()?)?;
        (!is_there(&program, path)).then_some(program)
    };
    let missing: BTreeSet<String> = script.commands.iter().filter_map(lacks).collect();
    let (tools, note) = match script.tools {
        Tools::Auto if missing.is_empty() => (Tools::System, None),
        Tools::Auto => {
            let listed = missing.into_iter().collect::<Vec<_>>().join(", ");
            let note = format!("tools: our own, as the subject lacks {listed}");
            (Tools::Builtin, Some(note))
        }
        wanted => (wanted, None),
    };
    let without_run = script.commands.iter().find(|command| command.run.is_empty());
    if let Some(command) = without_run.filter(|_| script.tools == Tools::System) {
        return Err(format!(
            "command {:?} has no `run`, but the subject's tools are wanted: add it, or set tools \
             to \"builtin\" or \"auto\"",
            command.name
        ));
    }
    let lacking = script.commands.iter().find_map(|command| {
        let is_run = tools == Tools::System || command.builtin.is_empty();
        lacks(command).filter(|_| is_run).map(|program| (command, program))
    });
    if let Some((command, program)) = lacking {
        return Err(format!(
            "command {:?} needs {program:?}, which was not found (PATH is {}); install it, or give \
             the command a `builtin`",
            command.name,
            path.display()
        ));
    }
    Ok(Resolved { script: Script { tools, ..script.clone() }, note })
}

/// Whether a program can be executed.
fn is_there(program: &str, path: &OsStr) -> bool {
    why_not_there(program, path, "").is_none()
}

/// Why a program cannot be executed; `None` if it can. `place` is where it is looked for, for the
/// text.
pub fn why_not_there(program: &str, path: &OsStr, place: &str) -> Option<String> {
    if program.is_empty() {
        return Some("the name of the program is empty".to_owned());
    }
    let all: Vec<PathBuf> = match program.contains('/') {
        true => vec![program.into()],
        false => std::env::split_paths(path).map(|folder| folder.join(program)).collect(),
    };
    let may_start = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if all.iter().any(may_start) {
        return None;
    }
    let reason = match all.iter().find(|path| path.exists()) {
        None => format!("there is no program {program:?} {place}"),
        Some(path) if path.is_dir() => format!("{} is a folder, and no program", path.display()),
        Some(path) if !path.is_file() => {
            format!("{} is not a file, and no program", path.display())
        }
        Some(path) => format!("{0} may not be executed: chmod +x {0}", path.display()),
    };
    Some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(tools: Tools, commands: &[(&str, &[&str])]) -> Script {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let commands = commands.iter().enumerate().map(|(number, (run, builtin))| Command {
            name: format!("c{number}"),
            run: run.split_whitespace().map(str::to_owned).collect(),
            builtin: words(builtin),
        });
        Script {
            name: "test".to_owned(),
            version: 1,
            users: 1,
            think_ns: 0,
            limit_ns: 1,
            tools,
            variables: [].into(),
            commands: commands.collect(),
        }
    }

    fn resolved(script: &Script) -> Result<Resolved, String> {
        resolve(script, OsStr::new("/usr/bin:/bin"))
    }

    #[test]
    fn what_is_all_there_is_used() {
        let script = script(Tools::Auto, &[("true", &["list"]), ("/bin/sh -c x", &[])]);
        let found = resolved(&script).unwrap();
        assert_eq!((found.script.tools, &found.note), (Tools::System, &None));
        assert_eq!(found.words(&script.commands[0]), (&["true".to_owned()][..], false));
    }

    #[test]
    fn one_missing_program_means_our_own_wherever_there_is_one() {
        let script =
            script(Tools::Auto, &[("no-such", &["list"]), ("true", &[]), ("true", &["sort"])]);
        let found = resolved(&script).unwrap();
        assert_eq!(found.script.tools, Tools::Builtin);
        assert!(found.note.as_ref().unwrap().contains("no-such"), "{found:?}");
        let own: Vec<bool> = script.commands.iter().map(|command| found.words(command).1).collect();
        assert_eq!(own, [true, false, true]);
    }

    #[test]
    fn what_cannot_be_issued_is_refused_by_name() {
        for (tools, commands) in [
            (Tools::Auto, &[("no-such", &[][..])][..]),
            (Tools::System, &[("no-such", &["list"][..])]),
            (Tools::Builtin, &[("/no/such", &[])]),
            (Tools::System, &[("", &["list"])]),
        ] {
            let error = resolved(&script(tools, commands)).unwrap_err();
            assert!(error.contains("\"c0\""), "{error}");
        }
    }

    #[test]
    fn a_program_that_a_variable_names_is_searched_unless_it_is_the_user_s() {
        let with = |value: &str, run: &str| {
            let variables = [("cc".to_owned(), value.to_owned())].into();
            resolved(&Script { variables, ..script(Tools::Auto, &[(run, &[])]) })
        };
        let error = with("no-such", "{cc} -c").unwrap_err();
        assert!(error.contains("needs \"no-such\", which was not found"), "{error}");
        for (value, run) in [("true", "{cc} -c"), ("{dir}/x", "{cc}"), ("x", "{dir}/{cc}")] {
            assert_eq!(with(value, run).unwrap().note, None, "{value}, {run}");
        }
    }

    #[test]
    fn a_search_path_is_that_of_the_environment_if_it_has_one() {
        assert_eq!(search_path(Some("/x".into())), "/x");
        assert_eq!(search_path(None), USUAL_PATH);
        let why = |program| why_not_there(program, OsStr::new("/"), "here").unwrap();
        assert_eq!(why(""), "the name of the program is empty");
        assert_eq!(why("/dev/null"), "/dev/null is not a file, and no program");
        // The current directory, as for who starts a program.
        assert_eq!(search_path(Some("".into())), "");
        assert_eq!(
            why_not_there("src", OsStr::new(""), "here").unwrap(),
            "src is a folder, and no program"
        );
    }
}
