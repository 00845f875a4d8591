//! A running QEMU: started, listened to, saved, restored, and made an end of.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use guest::{NOTICE, Notice, Setup};
use model::{DeathRecord, whole_lines};
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::json;
use sys::process::{signal, signals, spawn_bound};

use crate::qemu::{Console, Qemu, Start, file_arguments, machine_arguments, path_of};
use crate::qmp::{Event, Qmp};
use crate::{Stop, TICK, VmError};

/// How long a boot may take on a busy host.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// Longest time that saving or restoring may take.
const MIGRATION: Duration = Duration::from_secs(120);
/// How many of the kernel's last lines are kept when it died: an oops with registers and call
/// trace has about 60.
const LOG_LINES: usize = 100;

/// What is started.
pub(crate) struct Launch<'a> {
    pub(crate) qemu: &'a Qemu,
    pub(crate) setup: &'a Setup,
    /// The cell as the guest reads it; empty before there is one.
    pub(crate) cell: &'a [u8],
    /// Where kernel, root and memory are.
    pub(crate) folder: &'a Path,
    pub(crate) start: Start,
    pub(crate) console: Console,
}

/// A line that the guest wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A line of the run, newline included.
    Run(Vec<u8>),
    /// A word beside it.
    Notice(Notice),
}

/// What a guest that comes up says, or QEMU of it.
pub(crate) enum News {
    Said(Notice),
    Event(Event),
}

/// A running guest; killed and reaped when dropped.
pub(crate) struct GuestProcess {
    child: Child,
    qmp: Qmp,
    channel: File,
    rest: Vec<u8>,
    console: File,
    errors: File,
    // QEMU opens them by their path in this process.
    _inputs: [File; 2],
}

/// What a guest came to its end of.
pub(crate) struct Autopsy {
    /// In a sentence.
    pub(crate) text: String,
    /// What its kernel died of, with the end of its log; the time is not known here.
    pub(crate) kernel: Option<DeathRecord>,
}

/// A file without a name.
fn memory_file(name: &str, content: &[u8]) -> io::Result<File> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all_at(content, 0)?;
    Ok(file)
}

impl GuestProcess {
    /// Starts QEMU; it dies with the calling thread. Fails when it cannot be started or ends at
    /// once, with what it said.
    pub(crate) fn start(launch: &Launch<'_>) -> io::Result<Self> {
        let setup = memory_file("setup", &serde_json::to_vec(launch.setup)?)?;
        let cell = memory_file("cell", launch.cell)?;
        let channel = memory_file("channel", &[])?;
        let console = memory_file("console", &[])?;
        let errors = memory_file("errors", &[])?;
        let Launch { setup: Setup { machine, .. }, folder, start, .. } = *launch;
        let mut command = Command::new(&launch.qemu.program);
        command.args(machine_arguments(machine, launch.console, start));
        command.args(file_arguments(machine, start, folder, [&setup, &cell, &channel]));
        let terminal = match launch.console {
            Console::Terminal(socket) => format!("socket,id=console,fd={socket}"),
            _ => format!("file,id=console,path={}", path_of(&console)),
        };
        command.args(["-chardev", &terminal, "-qmp", "stdio"]);
        if start == Start::Restore {
            command.args(["-incoming", "defer"]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors.try_clone()?);
        let mut child = spawn_bound(&mut command)?;
        match Qmp::connect(&mut child) {
            Ok(qmp) => {
                let (rest, _inputs) = (Vec::new(), [setup, cell]);
                Ok(Self { child, qmp, channel, rest, console, errors, _inputs })
            }
            Err(error) => {
                let _ = signal(child.id(), signals::KILL);
                let exit = child.wait()?;
                let said = text_of(&errors);
                let why = if said.is_empty() { format!("{error}; {exit}") } else { said };
                Err(io::Error::other(format!("QEMU: {why}")))
            }
        }
    }

    /// What QEMU tells next.
    pub(crate) fn event(&mut self, patience: Duration) -> io::Result<Event> {
        self.qmp.event(patience)
    }

    /// What the guest has written since the last call, in whole lines.
    pub(crate) fn said(&mut self) -> io::Result<Vec<Said>> {
        self.channel.read_to_end(&mut self.rest)?;
        let whole = whole_lines::take(&mut self.rest);
        Ok(whole_lines::lines(&whole)
            .filter_map(|line| match line.first() {
                Some(&NOTICE) => Notice::decode(line).map(Said::Notice),
                _ => Some(Said::Run(line.to_vec())),
            })
            .collect())
    }

    /// Follows a guest until `found` returns what is waited for, or it cannot `step` any more.
    pub(crate) fn follow<T>(
        &mut self,
        step: &str,
        stop: Stop<'_>,
        mut found: impl FnMut(News) -> Option<T>,
    ) -> Result<T, VmError> {
        let until = Instant::now() + BOOT_LIMIT;
        loop {
            let event = self.event(TICK)?;
            for said in self.said()? {
                let found = match said {
                    Said::Notice(Notice::Failed(why)) => return Err(VmError::Boot(why)),
                    Said::Notice(notice) => found(News::Said(notice)),
                    Said::Run(_) => None,
                };
                if let Some(found) = found {
                    return Ok(found);
                }
            }
            if let Some(found) = found(News::Event(event)) {
                return Ok(found);
            }
            let how = match event {
                Event::Ended => format!("it ended before it could {step}"),
                _ if stop() => return Err(VmError::Interrupted),
                _ if Instant::now() > until => {
                    format!("it did not {step} within {} s", BOOT_LIMIT.as_secs())
                }
                _ => continue,
            };
            return Err(self.died(&how));
        }
    }

    /// Saves a paused guest's devices; its memory is in its file.
    pub(crate) fn save(&mut self, devices: &File) -> io::Result<()> {
        self.skip_memory()?;
        let uri = format!("exec:cat > {}", path_of(devices));
        self.qmp.command("migrate", json!({ "uri": uri }))?;
        self.await_migration("save the guest")
    }

    /// Restores a guest's devices and lets it go on.
    pub(crate) fn restore(&mut self, devices: &File) -> io::Result<()> {
        self.skip_memory()?;
        let uri = format!("exec:cat {}", path_of(devices));
        self.qmp.command("migrate-incoming", json!({ "uri": uri }))?;
        self.await_migration("restore the guest")?;
        // A guest may be over before QEMU answers.
        self.qmp.send("cont", json!({}))
    }

    /// Memory that is a file is not part of what is saved.
    fn skip_memory(&mut self) -> io::Result<()> {
        let capabilities = json!([{ "capability": "x-ignore-shared", "state": true }]);
        let arguments = json!({ "capabilities": capabilities });
        self.qmp.command("migrate-set-capabilities", arguments).map(drop)
    }

    fn await_migration(&mut self, step: &str) -> io::Result<()> {
        let until = Instant::now() + MIGRATION;
        loop {
            let state = self.qmp.command("query-migrate", json!({}))?;
            match state["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    return Err(io::Error::other(format!("{step}: {}", text_of(&self.errors))));
                }
                _ if Instant::now() > until => {
                    return Err(io::Error::other(format!("{step}: it takes too long")));
                }
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// The error of a guest that did not come up; ends QEMU.
    pub(crate) fn died(&mut self, how: &str) -> VmError {
        VmError::Boot(self.examine(how).text)
    }

    /// Ends QEMU and reports how it came to its end, with the last words of guest and QEMU, and what
    /// the guest's kernel died of, if it died.
    pub(crate) fn examine(&mut self, how: &str) -> Autopsy {
        let _ = signal(self.child.id(), signals::KILL);
        let exit =
            self.child.wait().map_or_else(|error| error.to_string(), |exit| exit.to_string());
        let console = text_of(&self.console);
        let errors = text_of(&self.errors);
        let Some(cause) = last_words(&console) else {
            let text = match errors.is_empty() {
                false => format!("{how}: {errors}"),
                true => {
                    let last = console.lines().last().unwrap_or("nothing").trim();
                    format!("{how} ({exit}); the last line of its console: {last}")
                }
            };
            return Autopsy { text, kernel: None };
        };
        let hint = match cause.to_lowercase().contains("memory") {
            true => "; a larger kernel needs more than this machine has: kernel_mem=SIZE",
            false => "",
        };
        let text = format!("the guest's kernel died: {cause}{hint}");
        let skipped = console.lines().count().saturating_sub(LOG_LINES);
        let log = console.lines().skip(skipped).map(|line| line.trim_end().to_owned()).collect();
        Autopsy { text, kernel: Some(DeathRecord { at_ns: 0, cause, log }) }
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        let _ = signal(self.child.id(), signals::KILL);
        let _ = self.child.wait();
    }
}

/// What the kernel died of: its complaint, and the panic that followed.
fn last_words(console: &str) -> Option<String> {
    let from = |word: &str| {
        console.lines().find_map(|line| line.find(word).map(|at| line[at..].trim().to_owned()))
    };
    let panic = from("Kernel panic")?;
    let complaint = ["BUG: ", "INFO: task ", "watchdog: "].iter().find_map(|word| from(word));
    Some(complaint.map_or(panic.clone(), |complaint| format!("{complaint}; {panic}")))
}

/// A file as text.
fn text_of(file: &File) -> String {
    let bytes = fs::read(path_of(file)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_last_words_are_its_complaint_and_its_panic() {
        let console = "[ 42.1] BUG: kernel NULL pointer dereference, address: 0\r\n\
                       [ 42.2] RIP: 0010:f+0xbc\r\n\
                       [ 42.3] Kernel panic - not syncing: Fatal exception\r\n";
        let expected = "BUG: kernel NULL pointer dereference, address: 0; Kernel panic - not \
                        syncing: Fatal exception";
        assert_eq!(last_words(console).as_deref(), Some(expected));
        let alone = "[ 0.1] Kernel panic - not syncing: VFS";
        assert_eq!(last_words(alone).as_deref(), Some("Kernel panic - not syncing: VFS"));
        assert_eq!(last_words("all is well"), None);
    }
}
