//! A running QEMU.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guest::{NOTICE, Notice, ROOT_FILE, Setup};
use model::{DeathRecord, whole_lines};
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::json;
use sys::process::{KilledOnDrop, signal, signals, spawn_bound};

use crate::qemu::{Qemu, Start, Stopping, file_arguments, machine_arguments, path_of};
use crate::qmp::{Event, Qmp};
use crate::{Result, Stop, TICK, VmError, start_script};

/// Additional time for a root: slow hosts unpack so much in a second.
const UNPACKED_BYTES_PER_S: u64 = 512 << 10;
/// The limit of ending in order.
const QUIT: Duration = Duration::from_secs(120);
const MIGRATION: Duration = Duration::from_secs(120);
/// Console lines kept after a crash: an oops with registers and call trace has about 60.
const LOG_LINES: usize = 100;

/// How long a guest may boot, on the wall clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BootLimit {
    limit: Duration,
    /// What an error adds to it.
    hint: &'static str,
}

impl BootLimit {
    /// Where the user cannot choose it.
    pub(crate) const FIXED: Self = Self { limit: Duration::from_secs(300), hint: "" };

    /// The limit of guests that may be silent for so long: a third of it, and at least
    /// [`Self::FIXED`].
    pub(crate) fn of_silence(silence: Duration) -> Self {
        let limit = Self::FIXED.limit.max(silence / 3);
        Self { limit, hint: ", or a third of --wall-limit if that is longer" }
    }

    pub(crate) fn with_root(self, archive_bytes: u64) -> Self {
        let limit = self.limit + Duration::from_secs(archive_bytes / UNPACKED_BYTES_PER_S);
        Self { limit, ..self }
    }
}

pub(crate) enum Message {
    Run(Vec<u8>),
    Notice(Notice),
    Event(Event),
}

pub(crate) struct GuestProcess {
    child: KilledOnDrop,
    pub(crate) qmp: Qmp,
    channel: File,
    rest: Vec<u8>,
    console: File,
    errors: File,
    /// The limit of each step that [`Self::follow`] waits for.
    pub(crate) boot_limit: BootLimit,
    is_engine: bool,
    /// Whether a plugin is loaded, which writes its file when QEMU ends in order.
    has_plugin: bool,
    // QEMU opens them by their path in this process.
    _inputs: [File; 2],
}

/// A file in memory.
pub(crate) fn memory_file(name: &str, content: &[u8]) -> io::Result<File> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all_at(content, 0)?;
    Ok(file)
}

impl GuestProcess {
    /// Starts QEMU with the files in a folder, a cell, which may be empty, and the archive of a root
    /// to boot with; it dies with the calling thread. Fails when it cannot start or ends at once,
    /// with its output.
    pub(crate) fn start(
        qemu: &Qemu,
        setup: &Setup,
        cell: &[u8],
        folder: &Path,
        start: Start<'_>,
        root: Option<&Path>,
    ) -> io::Result<Self> {
        let setup_file = memory_file("setup", &serde_json::to_vec(setup)?)?;
        let cell = memory_file("cell", cell)?;
        let channel = memory_file("channel", &[])?;
        let printed = memory_file("console", &[])?;
        let errors = memory_file("errors", &[])?;
        let mut command = Command::new(&qemu.program);
        command.args(qemu.firmware.iter().flat_map(|folder| ["-L".as_ref(), folder.as_os_str()]));
        command.args(machine_arguments(setup, start, qemu.firmware.is_some()));
        command.args(file_arguments(setup, start, folder, [&setup_file, &cell, &channel]));
        if let Some(archive) = root {
            let archive = archive.display().to_string().replace(',', ",,");
            command.args(["-fw_cfg", &format!("name={ROOT_FILE},file={archive}")]);
        }
        let console = match start {
            Start::Boot { terminal: Some(socket) } => format!("socket,id=console,fd={socket}"),
            _ => format!("file,id=console,path={}", path_of(&printed)),
        };
        command.args(["-chardev", &console, "-qmp", "stdio"]);
        let mut has_plugin = false;
        if let Start::Restore(how) = start {
            command.args(["-incoming", "defer"]);
            let plugins = how.clock.into_iter().chain(how.plugin);
            command.args(plugins.flat_map(|plugin| ["-plugin", plugin]));
            has_plugin = how.plugin.is_some();
            if let Some(Stopping { socket, .. }) = how.stopping {
                let socket = socket.display().to_string().replace(',', ",,");
                command.args(["-gdb", &format!("unix:{socket},server=on,wait=off")]);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors.try_clone()?);
        let mut child = KilledOnDrop(spawn_bound(&mut command)?);
        match Qmp::connect(&mut child.0) {
            Ok(qmp) => {
                let (rest, _inputs) = (Vec::new(), [setup_file, cell]);
                let is_engine = qemu.firmware.is_some();
                let (console, boot_limit) = (printed, BootLimit::FIXED);
                Ok(Self {
                    child,
                    qmp,
                    channel,
                    rest,
                    console,
                    errors,
                    boot_limit,
                    is_engine,
                    has_plugin,
                    _inputs,
                })
            }
            Err(error) => {
                let _ = signal(child.0.id(), signals::KILL);
                let exit = child.0.wait()?;
                let said = text_of(&errors);
                let why = if said.is_empty() { format!("{error}; {exit}") } else { said };
                Err(io::Error::other(format!("QEMU: {why}")))
            }
        }
    }

    pub(crate) fn messages(&mut self) -> io::Result<Vec<Message>> {
        self.channel.read_to_end(&mut self.rest)?;
        let whole = whole_lines::take(&mut self.rest);
        Ok(whole_lines::lines(&whole)
            .filter_map(|line| match line.first() {
                Some(&NOTICE) => Notice::decode(line).map(Message::Notice),
                _ => Some(Message::Run(line.to_vec())),
            })
            .collect())
    }

    /// Waits until `found` returns something. Fails if the guest cannot complete `step`.
    pub(crate) fn follow<T>(
        &mut self,
        step: &str,
        stop: Stop<'_>,
        mut found: impl FnMut(Message) -> Option<T>,
    ) -> Result<T> {
        let BootLimit { limit, hint } = self.boot_limit;
        let until = Instant::now() + limit;
        loop {
            let event = self.qmp.event(TICK)?;
            for said in self.messages()?.into_iter().chain([Message::Event(event)]) {
                match said {
                    Message::Notice(Notice::Failed(why)) => return Err(VmError::Boot(why)),
                    Message::Notice(Notice::LacksMemory(why)) => {
                        return Err(VmError::KernelMemory(why));
                    }
                    said => {
                        if let Some(found) = found(said) {
                            return Ok(found);
                        }
                    }
                }
            }
            let how = match event {
                Event::Ended => format!("it ended before it could {step}"),
                _ if stop() => return Err(VmError::Interrupted),
                _ if Instant::now() > until => {
                    format!("it did not {step} within {} s{hint}", limit.as_secs())
                }
                _ => continue,
            };
            return Err(self.died(&how));
        }
    }

    /// Saves a paused guest's devices; its memory is a file.
    pub(crate) fn save(&mut self, devices: &File) -> io::Result<()> {
        let uri = format!("exec:cat > {}", path_of(devices));
        self.migrate("migrate", &uri, "save the guest")
    }

    pub(crate) fn restore(&mut self, devices: &File) -> io::Result<()> {
        // Before QEMU 8.2 a file is read by another program.
        let reader = if self.is_engine { "file:" } else { "exec:cat " };
        let uri = format!("{reader}{}", path_of(devices));
        self.migrate("migrate-incoming", &uri, "restore the guest")
    }

    /// Lets a restored guest continue.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        // It may end before QEMU answers.
        self.qmp.send("cont", json!({}))
    }

    fn migrate(&mut self, command: &str, uri: &str, step: &str) -> io::Result<()> {
        // File-backed memory is not saved.
        let capabilities = json!([{ "capability": "x-ignore-shared", "state": true }]);
        let arguments = json!({ "capabilities": capabilities });
        self.qmp.command("migrate-set-capabilities", arguments)?;
        self.qmp.command(command, json!({ "uri": uri }))?;
        let until = Instant::now() + MIGRATION;
        loop {
            let state = self.qmp.command("query-migrate", json!({}))?;
            let why = match state["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => text_of(&self.errors),
                _ if Instant::now() > until => "it takes too long".to_owned(),
                _ => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            return Err(io::Error::other(format!("{step}: {why}")));
        }
    }

    /// Ends QEMU in order, so that what it has loaded can write its files, unless it has ended by
    /// itself. Fails when it does not end in time, with what it printed.
    pub(crate) fn quit(&mut self) -> io::Result<()> {
        // It may end at any time.
        let _ = self.qmp.send("quit", json!({}));
        if self.ends_within(QUIT)? {
            return Ok(());
        }
        let text = text_of(&self.errors);
        Err(io::Error::other(format!("QEMU does not end within {} s: {text}", QUIT.as_secs())))
    }

    /// What QEMU printed.
    pub(crate) fn errors(&self) -> String {
        text_of(&self.errors)
    }

    pub(crate) fn died(&mut self, how: &str) -> VmError {
        let (text, death) = self.examine(how);
        match death.is_some_and(|death| death.cause.to_lowercase().contains("memory")) {
            true => VmError::KernelMemory(text),
            false => VmError::Boot(text),
        }
    }

    /// Whether QEMU ends in this time, and has closed its files.
    pub(crate) fn ends_within(&mut self, time: Duration) -> io::Result<bool> {
        let until = Instant::now() + time;
        while self.child.0.try_wait()?.is_none() {
            if Instant::now() > until {
                return Ok(false);
            }
            std::thread::sleep(TICK / 2);
        }
        Ok(true)
    }

    /// Ends QEMU; returns how it ended, and the kernel's death with its log (without the time).
    pub(crate) fn examine(&mut self, how: &str) -> (String, Option<DeathRecord>) {
        if self.has_plugin {
            let _ = self.quit();
        }
        let _ = signal(self.child.0.id(), signals::KILL);
        let exit =
            self.child.0.wait().map_or_else(|error| error.to_string(), |exit| exit.to_string());
        let console = text_of(&self.console);
        let errors = text_of(&self.errors);
        if let Some(why) = start_script::failure(&console) {
            return (why, None);
        }
        let Some(cause) = last_words(&console) else {
            let text = match errors.is_empty() {
                false => format!("{how}: {errors}"),
                true => {
                    let last = console.lines().last().unwrap_or("nothing").trim();
                    format!("{how} ({exit}); the last line of its console: {last}")
                }
            };
            return (text, None);
        };
        let text = format!("the guest's kernel died: {cause}");
        let skipped = console.lines().count().saturating_sub(LOG_LINES);
        let log = console.lines().skip(skipped).map(|line| line.trim_end().to_owned()).collect();
        (text, Some(DeathRecord { at_ns: 0, cause, log }))
    }
}

/// The kernel's complaint and the panic after it.
fn last_words(console: &str) -> Option<String> {
    let from = |word: &str| {
        console.lines().find_map(|line| line.find(word).map(|at| line[at..].trim().to_owned()))
    };
    let panic = from("Kernel panic")?;
    let complaint = ["BUG: ", "INFO: task ", "watchdog: "].iter().find_map(|word| from(word));
    Some(complaint.map_or(panic.clone(), |complaint| format!("{complaint}; {panic}")))
}

fn text_of(file: &File) -> String {
    let bytes = fs::read(path_of(file)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_may_take_a_third_of_what_a_guest_may_be_silent() {
        let limit_s =
            |silence_s| BootLimit::of_silence(Duration::from_secs(silence_s)).limit.as_secs();
        assert_eq!([6, 900, 3600].map(limit_s), [300, 300, 1200]);
        assert_eq!(BootLimit::FIXED.with_root(60 << 20).limit.as_secs(), 300 + 120);
    }

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
