//! A Debian suite with packages, installed by mmdebstrap into an archive: without root where the
//! system has user namespaces, and without any of this system's configuration.

use std::env;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keep::Scratch;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use sys::process::{KilledOnDrop, signal_group, signals, spawn_bound};

use crate::RootError;
use crate::layer::{self, Building};
use crate::tree::{Content, Kind, Tree};

const TOOL: &str = "mmdebstrap";
/// Names of releases by their number.
const RELEASES: [(&str, &str); 5] =
    [("10", "buster"), ("11", "bullseye"), ("12", "bookworm"), ("13", "trixie"), ("14", "forky")];
/// What no program under test needs, to keep roots small. Folders of manuals stay: alternatives put
/// links there.
const EXCLUDED: [&str; 4] =
    ["/usr/share/doc/*", "/usr/share/man/*/*", "/usr/share/info/*", "/usr/share/locale/*"];
/// Files and folders whose content depends on the time or place of the installation.
const OF_INSTALLATION: [&str; 6] = [
    "var/log",
    "var/cache/apt",
    "var/cache/debconf",
    "var/cache/ldconfig",
    "var/lib/apt/lists",
    "var/lib/systemd/catalog",
];
/// Files that mmdebstrap copies from this machine. The guest writes its own.
const OF_HOST: [&[u8]; 2] = [b"etc/hostname", b"etc/resolv.conf"];
const MACHINE_ID: &[u8] = b"etc/machine-id";
/// The variables of the user that mmdebstrap gets; others could change what it installs.
const PASSED_VARIABLES: [&str; 6] =
    ["PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy"];
const LOOK: Duration = Duration::from_millis(50);
/// How long mmdebstrap may take to remove its temporary folder after SIGTERM.
const CLEANUP_LIMIT: Duration = Duration::from_secs(10);
/// Lines of the tool's complaints in an error.
const SHOWN_LINES: usize = 4;

/// A suite and the packages that are added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Debian {
    pub(crate) suite: String,
    pub(crate) packages: Vec<String>,
}

impl Debian {
    /// Reads `13,postgresql,g++`. Fails for what cannot be the name of a suite or a package.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split(',');
        let release = words.next().unwrap_or_default();
        let known = RELEASES.iter().find(|(number, _)| *number == release);
        let suite = known.map_or(release, |(_, name)| name).to_owned();
        let is_word = |word: &str, also: &str| {
            let is_known = |letter: char| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || also.contains(letter)
            };
            word.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
                && word.chars().all(is_known)
        };
        if !is_word(&suite, "-") || suite.starts_with(|letter: char| letter.is_ascii_digit()) {
            let numbers: Vec<&str> = RELEASES.iter().map(|(number, _)| *number).collect();
            return Err(format!(
                "{release:?} is not a suite of Debian; write debian:13, debian:sid, … (known numbers: \
                 {}), and packages after commas: debian:13,redis-server",
                numbers.join(", ")
            ));
        }
        let mut packages: Vec<String> =
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
        packages.sort();
        packages.dedup();
        match packages.iter().find(|name| !is_word(name, "+-.")) {
            Some(bad) => Err(format!("{bad:?} is not a name of a package")),
            None => Ok(Self { suite, packages }),
        }
    }

    /// Text that names what is installed, whatever the order in which it was typed.
    pub(crate) fn key(&self) -> String {
        format!("debian {} {} {}", self.suite, self.packages.join(","), EXCLUDED.join(" "))
    }

    /// Installs it. Fails without the tool or an archive, with the tool's last complaints.
    pub(crate) fn read(
        &self,
        name: &str,
        scratch: &Scratch,
        building: &mut Building<'_>,
    ) -> Result<(), RootError> {
        let tar = scratch.path().join("debian.tar");
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.install(name, &tar, scratch.path(), building.stop)?;
        let file = BufReader::new(File::open(&tar).map_err(RootError::cache(&tar))?);
        layer::apply(file, false, building).map_err(|why| {
            RootError::unfit(name, format!("{TOOL} wrote a damaged archive: {why}"))
        })?;
        fs::remove_file(&tar).map_err(RootError::cache(&tar))?;
        tidy(building, since_epoch.as_secs())
            .map_err(|why| RootError::unfit(name, format!("tidy: {why}")))
    }

    fn install(
        &self,
        name: &str,
        tar: &Path,
        folder: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), RootError> {
        let errors_path = folder.join("errors");
        let errors = File::create(&errors_path).map_err(RootError::cache(&errors_path))?;
        let mut command = Command::new(TOOL);
        command.args(["--variant=apt", "--format=tar", "--architectures=amd64"]);
        command.arg("--aptopt=APT::Install-Recommends \"false\"");
        command.arg("--aptopt=Acquire::Languages \"none\"");
        command.args(EXCLUDED.map(|place| format!("--dpkgopt=path-exclude={place}")));
        if !self.packages.is_empty() {
            command.arg(format!("--include={}", self.packages.join(",")));
        }
        command.arg(&self.suite).arg(tar);
        command.env_clear();
        let passed = PASSED_VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
        command.envs(passed);
        command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let started = spawn_bound(&mut command).map_err(|error| {
            let sudo = if rustix::process::geteuid().is_root() { "" } else { "sudo " };
            RootError::unfit(
                name,
                format!(
                    "{TOOL} cannot be started ({error}); install it with: {sudo}apt-get install \
                     mmdebstrap; elsewhere name a folder, a tar file or an OCI image"
                ),
            )
        })?;
        let mut tool = KilledOnDrop(started);
        loop {
            match tool.0.try_wait().map_err(RootError::cache(tar))? {
                Some(exit) if exit.success() => return Ok(()),
                Some(exit) => {
                    let said = fs::read(&errors_path).unwrap_or_default();
                    let said = String::from_utf8_lossy(&said);
                    let complains = |line: &&str| line.starts_with("E: ") || line.contains("error");
                    let lines: Vec<&str> = said.lines().filter(complains).collect();
                    let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("; ");
                    let last = if last.is_empty() { exit.to_string() } else { last };
                    return Err(RootError::unfit(name, format!("{TOOL} failed: {last}")));
                }
                None if stop() => {
                    end_group(&tool.0, CLEANUP_LIMIT);
                    return Err(RootError::Interrupted);
                }
                None => thread::sleep(LOOK),
            }
        }
    }
}

/// Asks a process and the rest of its group to end, and kills the group when the process has ended or
/// the limit has passed. The process is not waited for, so that its number remains that of the group.
fn end_group(leader: &Child, limit: Duration) {
    let Some(pid) = i32::try_from(leader.id()).ok().and_then(Pid::from_raw) else { return };
    let ended = || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    };
    // A group that cannot be signalled has ended.
    let _ = signal_group(leader.id(), signals::TERM);
    let started = Instant::now();
    while !ended() && started.elapsed() < limit {
        thread::sleep(LOOK);
    }
    let _ = signal_group(leader.id(), signals::KILL);
}

/// Removes what depends on this machine and on the time of the installation: files that it created
/// get the time of the newest file of a package.
fn tidy(building: &mut Building<'_>, begun_s: u64) -> Result<(), String> {
    building.tree.next_layer();
    for folder in OF_INSTALLATION {
        remove_files(building.tree, folder)?;
    }
    for file in OF_HOST {
        building.tree.white_out(file)?;
    }
    if let Some(entry) = building.tree.get(MACHINE_ID) {
        let attributes = entry.attributes;
        let empty: Content = {
            let kept = building.spool.keep(&mut &b""[..], building.stop);
            kept.map_err(|why| why.to_string())?
        };
        building.tree.add(MACHINE_ID, Kind::File(empty), attributes)?;
    }
    let times = building.tree.entries().map(|(_, entry)| entry.attributes.modified_s);
    let newest_s = times.filter(|time_s| *time_s < begun_s).max().unwrap_or(0);
    for (_, entry) in building.tree.entries_mut() {
        entry.attributes.modified_s = entry.attributes.modified_s.min(newest_s);
    }
    Ok(())
}

/// Folders stay: programs expect them.
fn remove_files(tree: &mut Tree, folder: &str) -> Result<(), String> {
    let inside = format!("{folder}/");
    let files: Vec<Vec<u8>> = tree
        .entries()
        .filter(|(path, entry)| {
            path.starts_with(inside.as_bytes()) && entry.kind != Kind::Directory
        })
        .map(|(path, _)| path.to_vec())
        .collect();
    files.iter().try_for_each(|path| tree.white_out(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::tests::tar_of;
    use crate::spool::Spool;

    #[test]
    fn files_of_this_machine_do_not_get_into_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(&folder.path().join("spool")).unwrap();
        let mut tree = Tree::default();
        let stop: &dyn Fn() -> bool = &|| false;
        let mut building = Building { tree: &mut tree, spool: &mut spool, stop };
        let installed = tar_of(&[
            ("etc/hostname", "mine"),
            ("etc/resolv.conf", "->/run/resolv.conf"),
            ("etc/hosts", "127.0.0.1"),
            ("var/log/dpkg.log", "installed"),
        ]);
        layer::apply(&installed[..], false, &mut building).unwrap();
        tidy(&mut building, 9).unwrap();
        let paths: Vec<&[u8]> = tree.entries().map(|(path, _)| path).collect();
        assert_eq!(paths, [&b"etc"[..], b"etc/hosts", b"var", b"var/log"]);
    }

    #[test]
    fn an_interrupted_tool_may_clean_up_and_leaves_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let (ready, cleaned) = (folder.path().join("ready"), folder.path().join("cleaned"));
        // A child that ignores SIGTERM keeps the pipe open.
        let script = "trap 'echo x > cleaned; exit 1' TERM; \
            (trap '' TERM; echo x > ready; exec sleep 100) & wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder.path()).stdout(Stdio::piped());
        let mut tool = KilledOnDrop(spawn_bound(&mut command).unwrap());
        while !ready.exists() {
            thread::sleep(LOOK);
        }
        let started = Instant::now();
        end_group(&tool.0, CLEANUP_LIMIT);
        assert!(cleaned.exists());
        std::io::copy(&mut tool.0.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        assert!(started.elapsed() < CLEANUP_LIMIT, "a process is left");
    }

    #[test]
    fn suites_have_numbers_and_packages_follow_commas() {
        let read = |text| Debian::parse(text).unwrap();
        assert_eq!(read("13").suite, "trixie");
        assert_eq!(read("sid,g++,libc6.1").packages, ["g++", "libc6.1"]);
        assert_eq!(read("13,b,a,b").key(), read("trixie,a,b").key());
        for bad in ["", "99", "13 x", "-x", "trixie/main", "13,--include", "13,A", "13,a b"] {
            assert!(Debian::parse(bad).is_err(), "{bad} was accepted");
        }
    }
}
