//! The programs that a bare guest needs besides this one: a shell and `true`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// A shell's code for a missing command (POSIX).
const NOT_FOUND: u8 = 127;

/// Runs as the program of the name under which this one was started; `None` for any other name.
pub fn applet(arguments: &[OsString]) -> Option<u8> {
    let name = Path::new(arguments.first()?).file_name()?;
    let option = arguments.get(1).and_then(|option| option.to_str());
    match (name.to_str()?, option, arguments.get(2)) {
        ("true", ..) => Some(0),
        ("sh", Some("-c"), Some(script)) => Some(run(&script.to_string_lossy())),
        _ => None,
    }
}

/// A minimal shell: commands separated by `;`, and `exit CODE`.
fn run(script: &str) -> u8 {
    let mut code = 0;
    for command in script.split(';') {
        let mut words = command.split_whitespace();
        match (words.next(), words) {
            (None, _) => {}
            (Some("exit"), mut words) => {
                return words.next().and_then(|word| word.parse().ok()).unwrap_or(code);
            }
            (Some(program), words) => {
                code = match Command::new(program).args(words).status() {
                    // Killed by a signal; shells return more than 128.
                    Ok(status) => status.code().map_or(129, |code| code as u8),
                    Err(_) => NOT_FOUND,
                };
            }
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applet_of(words: &[&str]) -> Option<u8> {
        applet(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_shell_runs_commands_and_exits() {
        assert_eq!(applet_of(&["/bin/sh", "-c", "/bin/true; exit 3"]), Some(3));
        assert_eq!(applet_of(&["sh", "-c", "/bin/false"]), Some(1));
        assert_eq!(applet_of(&["sh", "-c", "/no/such/command"]), Some(NOT_FOUND));
        assert_eq!(applet_of(&["sh", "-c", ""]), Some(0));
    }

    #[test]
    fn under_its_own_name_it_is_itself() {
        assert_eq!(applet_of(&["/usr/bin/thrashlab", "-c", "exit 3"]), None);
        assert_eq!(applet_of(&[]), None);
    }
}
