//! Daemons as policies: a program of user space that kills before the kernel does.
//!
//! A daemon is started by a start script of the guest (`docs/vm.md`), before the machine is kept. The
//! script is a file of an overlay, which is written into the user's cache under the hash of its text.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use analysis::freeze::IDLE_DAEMON;
use keep::Cache;
use keep::out_file::write_whole;
use serde::Deserialize;
use vm::{START_SCRIPT, START_SCRIPT_PACKAGE, is_path_of_root};

use super::groups::{GROUPS_SCRIPT, Groups, PLACE};
use crate::typed::Setting;

/// The root of daemons whose policy names none.
const DEFAULT_ROOT: &str = "debian:13";
/// The parameters of plans that a daemon decides.
const ROOT: &str = "subject.root";
const ROOT_FILES: &str = "subject.root.files";
const OVERLAY: &str = "subject.overlay";
const DECIDED: [&str; 4] = [ROOT, ROOT_FILES, "subject.root.changes", OVERLAY];
/// Where overlays are, in the cache's folder of roots.
const OVERLAYS: &str = ".overlays";
/// Letters of the hash of a script's text.
const HASH_LETTERS: usize = 16;
/// The output of a daemon in its guest.
const LOG: &str = "/run/daemon.log";

/// A daemon that runs in the guest next to a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Daemon {
    /// What the guest's root is made of, as in `root=` of a guest.
    #[serde(default = "default_root")]
    root: String,
    /// Packages that are added to it, if it is a suite of Debian.
    #[serde(default)]
    packages: Vec<String>,
    /// Lines of a shell script before the daemon starts, such as its configuration.
    #[serde(default)]
    setup: String,
    /// The daemon, in the foreground.
    command: String,
    /// A command of the shell that works once the daemon is ready; without it the daemon has two seconds.
    ready: Option<String>,
    /// The control groups in which the processes of a run are, if they have some of their own.
    #[serde(skip)]
    groups: Option<Groups>,
}

fn default_root() -> String {
    DEFAULT_ROOT.to_owned()
}

impl Daemon {
    /// A daemon that does nothing.
    pub(super) fn idle() -> Self {
        Self {
            root: default_root(),
            packages: Vec::new(),
            setup: String::new(),
            command: IDLE_DAEMON.to_owned(),
            ready: None,
            groups: None,
        }
    }

    /// It, with the processes of a run in these control groups.
    pub(super) fn with_groups(self, groups: Groups) -> Self {
        Self { groups: Some(groups), ..self }
    }

    /// The control groups of their own in which the processes of a run are, if there are any.
    pub(super) fn groups(&self) -> Option<&Groups> {
        self.groups.as_ref()
    }

    /// Why it cannot be the daemon of a policy with these other settings.
    pub(super) fn problem(&self, others: &[Setting]) -> Option<String> {
        if self.command.trim().is_empty() {
            return Some("daemon: it needs a command".to_owned());
        }
        if is_path_of_root(&self.root) && !self.packages.is_empty() {
            return Some(format!(
                "daemon: packages are added to a suite of Debian (root = \"debian:13\"), not to {:?}",
                self.root
            ));
        }
        let decided = others.iter().find(|(name, _)| DECIDED.contains(&name.as_str()));
        decided.map(|(name, _)| format!("set: {name} is what the daemon decides"))
    }

    /// It with the whole path of a root that is named from this folder.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        if !is_path_of_root(&self.root) {
            return self;
        }
        let path = folder.join(&self.root);
        // Without a current folder it is looked for where it is named.
        let path = std::path::absolute(&path).unwrap_or(path);
        Self { root: path.to_string_lossy().into_owned(), ..self }
    }

    /// The parameters of plans that start it.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let mut root = vec![&*self.root];
        if !is_path_of_root(&self.root) {
            root.push(START_SCRIPT_PACKAGE);
            root.extend(self.packages.iter().map(String::as_str));
        }
        let overlay = self.folder().to_string_lossy().into_owned();
        // In memory a daemon answers at once: those that are measured lock themselves into it anyway.
        let files = "memory".to_owned();
        [(ROOT, root.join(",")), (ROOT_FILES, files), (OVERLAY, overlay)]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// What it is in words, each as `NAME=VALUE`.
    pub(super) fn in_words(&self) -> Vec<String> {
        let root = if self.root == DEFAULT_ROOT { "" } else { &*self.root };
        let (packages, setup) = (self.packages.join(" "), self.setup.trim());
        let all = [
            ("daemon", &*self.command),
            ("daemon.root", root),
            ("daemon.packages", &*packages),
            ("daemon.setup", setup),
        ];
        let named = all.into_iter().filter(|(_, value)| !value.is_empty());
        let named = named.map(|(name, value)| format!("{name}={value}"));
        named.chain(self.groups.iter().flat_map(Groups::in_words)).collect()
    }

    /// Writes its start script, and what that starts. Fails as the file system does.
    pub(super) fn write(&self) -> io::Result<()> {
        let path = self.folder().join(&START_SCRIPT[1..]);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        if self.groups.is_some() {
            write_whole(&path.with_file_name(GROUPS_SCRIPT), PLACE.as_bytes())?;
        }
        write_whole(&path, self.script().as_bytes())?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))
    }

    /// The overlay with its start script, and what that starts.
    fn folder(&self) -> PathBuf {
        let more = if self.groups.is_some() { PLACE } else { "" };
        let hash = blake3::hash((self.script() + more).as_bytes()).to_hex();
        Cache::of_user().roots().join(OVERLAYS).join(&hash[..HASH_LETTERS])
    }

    /// A daemon that ends, or is not ready after a minute, fails with what it wrote last.
    fn script(&self) -> String {
        let Self { setup, command, ready, groups, .. } = self;
        let groups =
            groups.as_ref().map(|groups| groups.script(command == IDLE_DAEMON)).unwrap_or_default();
        let wait = match ready {
            None => "sleep 2\n".to_owned(),
            Some(ready) => format!(
                "tries=0\nuntil {ready}; do\n  is_alive && [ $tries -lt 600 ] || fail \"is not \
                 ready\"\n  tries=$((tries + 1))\n  sleep 0.1\ndone\n"
            ),
        };
        format!(
            "#!/bin/sh\n\
             fail() {{ echo \"the daemon $1: $(tail -n 2 {LOG})\"; exit 1; }}\n\
             is_alive() {{ kill -0 $daemon 2>/dev/null; }}\n\
             set -e\n\
             {groups}{setup}\n\
             {command} >{LOG} 2>&1 &\n\
             daemon=$!\n\
             {wait}\
             is_alive || fail ended\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemon(text: &str) -> Daemon {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_daemon_is_a_script_of_an_overlay_that_its_text_names() {
        let one = daemon("packages = [\"earlyoom\"]\ncommand = \"earlyoom\"");
        let other = daemon("packages = [\"earlyoom\"]\ncommand = \"earlyoom -m 5\"");
        assert_ne!(one.folder(), other.folder());
        assert_eq!(one.settings()[0].1, "debian:13,busybox-static,earlyoom");
        let script = one.script();
        assert!(script.contains("\nearlyoom >/run/daemon.log 2>&1 &\n"), "{script}");
        assert!(script.contains("\nsleep 2\nis_alive || fail ended\n"), "{script}");
        assert_eq!(other.in_words(), ["daemon=earlyoom -m 5", "daemon.packages=earlyoom"]);
    }

    #[test]
    fn a_folder_is_a_root_that_begins_at_the_policy_s_file() {
        let own = daemon("root = \"mine\"\ncommand = \"/killer\"\nready = \"test -e /run/pid\"");
        let own = own.in_folder(Path::new("/policies"));
        assert_eq!((own.problem(&[]), &*own.settings()[0].1), (None, "/policies/mine"));
        assert!(own.script().contains("\nuntil test -e /run/pid; do\n"), "{}", own.script());
        let debian = daemon("command = \"earlyoom\"").in_folder(Path::new("/policies"));
        assert_eq!(debian.settings()[0].1, "debian:13,busybox-static");
    }

    #[test]
    fn what_is_no_daemon_of_a_policy_is_refused_with_the_reason() {
        let problem = |text: &str, others: &[Setting]| daemon(text).problem(others).unwrap();
        assert!(problem("command = \" \"", &[]).contains("needs a command"));
        let folder = "command = \"x\"\nroot = \"mine\"\npackages = [\"earlyoom\"]";
        assert!(problem(folder, &[]).contains("not to \"mine\""));
        let overlay = [("subject.overlay".to_owned(), "mine".to_owned())];
        assert!(problem("command = \"x\"", &overlay).contains("subject.overlay is what"));
        assert!(toml::from_str::<Daemon>("command = \"x\"\nspoon = 1").is_err());
        assert!(toml::from_str::<Daemon>("packages = []").is_err());
    }
}
