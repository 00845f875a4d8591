//! Starts programs under the emulator. The crate `tracer` includes this file by its path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The mark of the emulator's processes, hidden from the traced program.
pub(crate) const MARK: &str = "THRASHLAB_RUN";
/// Index of the program's name in [`Settings::emulator_words`].
pub(crate) const NAME_AT: usize = 6;
/// Index of its path; its arguments follow.
pub(crate) const PATH_AT: usize = 7;
/// The system's limit of nested interpreters.
const MOST_INTERPRETERS: usize = 4;
/// How much of a script the system reads.
const SCRIPT_BYTES: usize = 256;
const SET_ID: u32 = 0o6000;
const EXECUTE: u32 = 0o111;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) plugin: String,
    pub(crate) channel: String,
    pub(crate) process: u64,
    pub(crate) image: u64,
    pub(crate) fetches: Fetches,
}

/// Which fetches of instructions are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetches {
    None = 0,
    /// Their count and page, at the start of each block of instructions.
    Blocks = 1,
    /// Each, before the instruction's own references.
    Instructions = 2,
}

impl Settings {
    /// Parses the plugin's arguments. Fails without a channel.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> io::Result<Self> {
        let arguments: Vec<String> = arguments.collect();
        let value = |name: &str| {
            let mut named = arguments.iter().filter_map(|argument| argument.split_once('='));
            named.find(|(other, _)| *other == name).map_or("", |(_, value)| value)
        };
        let settings = Self {
            plugin: value("plugin").to_owned(),
            channel: value("channel").to_owned(),
            process: value("process").parse().unwrap_or(0),
            image: value("image").parse().unwrap_or(0),
            fetches: match value("fetches") {
                "1" => Fetches::Blocks,
                "2" => Fetches::Instructions,
                _ => Fetches::None,
            },
        };
        if settings.channel.is_empty() {
            return Err(io::Error::other("there is no channel"));
        }
        Ok(settings)
    }

    pub(crate) fn option(&self) -> String {
        let Self { plugin, channel, process, image, fetches } = self;
        let fetches = *fetches as u8;
        format!(
            "{plugin},plugin={plugin},channel={channel},process={process},image={image},\
             fetches={fetches}"
        )
    }

    pub(crate) fn emulator_words(
        &self,
        emulator: &OsStr,
        name: &OsStr,
        program: &Program,
    ) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![emulator.into(), "-U".into(), MARK.into(), "-plugin".into(), self.option().into()];
        words.extend(["-0".into(), name.into(), program.path.clone().into()]);
        words.extend(program.first_arguments.iter().cloned());
        words
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program, or a script's interpreter.
    pub(crate) path: PathBuf,
    /// Arguments before those of the command, without its name.
    pub(crate) first_arguments: Vec<OsString>,
    /// Whether it is an interpreter, which is named by its path.
    pub(crate) is_interpreter: bool,
}

/// What to execute for a path. Fails with a reason if it only runs natively, else without one.
pub(crate) fn resolve(path: &Path) -> Result<Program, Option<String>> {
    let mut program =
        Program { path: path.to_owned(), first_arguments: Vec::new(), is_interpreter: false };
    for _ in 0..=MOST_INTERPRETERS {
        let Ok(facts) = fs::metadata(&program.path) else { return Err(None) };
        let mode = facts.permissions().mode();
        if !facts.is_file() || mode & EXECUTE == 0 {
            return Err(None);
        }
        let start = first_bytes(&program.path).map_err(|_| Some("it cannot be read".to_owned()))?;
        let Some(line) = start.strip_prefix(b"#!") else {
            return judge(&start, mode).map(|()| program);
        };
        let Some((interpreter, argument)) = interpreter(line) else { return Err(None) };
        let script = std::mem::replace(&mut program.path, interpreter);
        program.first_arguments.insert(0, script.into());
        program.first_arguments.splice(0..0, argument);
        program.is_interpreter = true;
    }
    Err(None)
}

fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(SCRIPT_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// A script's interpreter and optional argument.
fn interpreter(line: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (path, argument) = line.split_at(end);
    let argument = argument.trim_ascii();
    let argument = (!argument.is_empty()).then(|| OsString::from_vec(argument.to_vec()));
    (!path.is_empty()).then(|| (PathBuf::from(OsStr::from_bytes(path)), argument))
}

/// Whether a program is of this architecture and has no set-ID bits.
fn judge(start: &[u8], mode: u32) -> Result<(), Option<String>> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    const CLASS_64: u8 = 2;
    let [0x7f, b'E', b'L', b'F', class, _, ..] = start else { return Err(None) };
    let machine = start.get(18..20).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    if *class != CLASS_64 || machine != Some(MACHINE) {
        return Err(Some("it is for another kind of machine".to_owned()));
    }
    if mode & SET_ID != 0 {
        return Err(Some("it runs with other privileges (set-user-ID)".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_what_was_put_in() {
        let settings = Settings {
            plugin: "/proc/1/fd/3".to_owned(),
            channel: "/proc/1/fd/4".to_owned(),
            process: 5,
            image: 6,
            fetches: Fetches::Blocks,
        };
        let option = settings.option();
        let (file, rest) = option.split_once(',').unwrap();
        assert_eq!(file, settings.plugin);
        assert_eq!(Settings::read(rest.split(',').map(str::to_owned)).unwrap(), settings);
        assert!(Settings::read(std::iter::once("image=1".to_owned())).is_err());
    }

    #[test]
    fn words_stand_where_they_are_looked_for() {
        let settings = Settings::read(std::iter::once("channel=c".to_owned())).unwrap();
        let program = resolve(&std::env::current_exe().unwrap()).unwrap();
        let words = settings.emulator_words(OsStr::new("q"), OsStr::new("name"), &program);
        assert_eq!(words[NAME_AT], "name");
        assert_eq!(words[PATH_AT], program.path);
        assert_eq!(words.len(), PATH_AT + 1);
    }

    #[test]
    fn a_script_is_run_by_its_interpreter_and_others_are_told_apart() {
        let dir = std::env::temp_dir().join(format!("launch-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = |name: &str, text: &[u8], mode| {
            let path = dir.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        let me = std::env::current_exe().unwrap();
        let script = file("script", format!("#! {} -e  -x \nmore", me.display()).as_bytes(), 0o755);
        let program = resolve(&script).unwrap();
        assert_eq!(program.path, me);
        assert_eq!(program.first_arguments, [OsStr::new("-e  -x"), script.as_os_str()]);
        let round = dir.join("round");
        file("round", format!("#!{}\n", round.display()).as_bytes(), 0o755);
        assert_eq!(resolve(&round), Err(None));
        assert_eq!(resolve(&file("plain", b"text", 0o755)), Err(None));
        assert_eq!(resolve(&file("not", b"#!/bin/sh\n", 0o644)), Err(None));
        assert_eq!(resolve(&dir.join("nothing")), Err(None));
        let mut bytes = first_bytes(&me).unwrap();
        let with_rights = file("rights", &bytes, 0o4755);
        assert!(matches!(resolve(&with_rights), Err(Some(why)) if why.contains("privileges")));
        bytes[18] = 8;
        let other = file("other", &bytes, 0o755);
        assert!(matches!(resolve(&other), Err(Some(why)) if why.contains("machine")));
        fs::remove_dir_all(&dir).unwrap();
    }
}
