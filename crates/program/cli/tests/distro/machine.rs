//! The guest's machine in QEMU: its devices, its monitor, and the snapshot of it after its boot.
//! One thread runs both virtual CPUs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sys::process::spawn_bound;
use tempfile::TempDir;

use crate::answer::{Answer, encoded};
use crate::architecture::Architecture;

/// Memory of the guest.
const MEMORY: &str = "1024M";
/// Size of the swap area and of the disk with the program, in bytes.
const SWAP_BYTES: u64 = 512 << 20;
const PROGRAM_BYTES: u64 = 64 << 20;
/// Longest time of a boot and of a script. Both are minutes on a busy machine, where an emulated guest has
/// a fraction of a CPU; only a guest that hangs makes use of them.
const BOOT: Duration = Duration::from_secs(1800);
const SCRIPT: Duration = Duration::from_secs(1800);
/// Pause between two looks.
const TICK: Duration = Duration::from_millis(20);

/// A running machine; it ends when this is dropped.
pub(crate) struct Machine {
    qemu: Child,
    monitor: BufReader<UnixStream>,
    port: BufReader<UnixStream>,
    /// Sockets, console and disk of this machine.
    own: TempDir,
    scripts: u32,
    /// Answers that came before the request.
    early: BTreeMap<u32, Answer>,
}

impl Machine {
    /// A machine that continues from its snapshot, which is taken first if there is none.
    pub(crate) fn restore() -> Self {
        let snapshot = snapshot();
        let own = own_folder();
        let bytes = fs::read(Architecture::chosen().program()).unwrap();
        assert!(bytes.len() as u64 <= PROGRAM_BYTES, "the program is larger than its disk");
        fs::write(own.path().join("program"), &bytes).unwrap();
        let mut machine = Self::start(&snapshot, own, true);
        machine.command("migrate-set-capabilities", ignoring_shared_memory());
        let state = snapshot.join("state");
        let uri = format!("exec:cat '{}'", state.display());
        machine.command("migrate-incoming", json!({ "uri": uri }));
        machine.await_status("query-status", "paused");
        machine.command("cont", json!({}));
        let size = bytes.len();
        let install = format!(
            "head -c {size} /dev/vdc >/usr/local/bin/thrashlab && chmod 755 /usr/local/bin/thrashlab"
        );
        machine.run(&install).expect(0, &[]);
        machine
    }

    /// Starts QEMU with the disks and the memory of a folder; a copy leaves them as they are.
    fn start(disks: &Path, own: TempDir, is_copy: bool) -> Self {
        let architecture = Architecture::chosen();
        let files = architecture.folder();
        let path = |name: &str| own.path().join(name).display().to_string();
        let disk = |file: String, options: &str| {
            format!("file={file},format=raw,if=virtio,cache=unsafe{options}")
        };
        let private = if is_copy { ",snapshot=on" } else { "" };
        let of_disks = |name: &str| disk(disks.join(name).display().to_string(), private);
        let share = if is_copy { "off" } else { "on" };
        let memory = disks.join("memory").display().to_string();
        File::options()
            .append(true)
            .create(true)
            .open(own.path().join("program"))
            .and_then(|file| file.set_len(PROGRAM_BYTES))
            .unwrap();
        let mut command = Command::new(architecture.emulator);
        command
            .args(["-accel", "tcg,thread=single", "-cpu", architecture.processor, "-smp", "2"])
            .args(["-m", MEMORY, "-machine"])
            .arg(format!("{},memory-backend=ram", architecture.machine))
            .arg("-nodefaults")
            .args(["-no-user-config", "-display", "none", "-no-reboot", "-object"])
            .arg(format!(
                "memory-backend-file,id=ram,size={MEMORY},mem-path={memory},share={share}"
            ))
            .arg("-kernel")
            .arg(files.join("vmlinuz"))
            .arg("-initrd")
            .arg(files.join("initrd.img"))
            .arg("-append")
            .arg(format!(
                "root=/dev/vda rw {} mitigations=off cryptomgr.notests quiet psi=1 audit=0",
                architecture.kernel_options
            ))
            .args(["-drive", &of_disks("root.img"), "-drive", &of_disks("swap.img")])
            .args(["-drive", &disk(path("program"), ",readonly=on")])
            .args(["-device", "virtio-rng-pci", "-device", "virtio-serial-pci"])
            .args(["-chardev", &format!("socket,id=port,path={},server=on,wait=off", path("port"))])
            .args(["-device", "virtserialport,chardev=port,name=thrashlab"])
            .args(["-serial", &format!("file:{}", path("console"))])
            .args(["-qmp", &format!("unix:{},server=on,wait=off", path("monitor"))]);
        if is_copy {
            command.args(["-incoming", "defer"]);
        }
        let errors = File::create(own.path().join("errors")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let mut qemu = spawn_bound(&mut command).unwrap();
        let monitor = connected(&mut qemu, own.path(), "monitor");
        let port = connected(&mut qemu, own.path(), "port");
        let mut machine = Self { qemu, monitor, port, own, scripts: 0, early: BTreeMap::new() };
        machine.command("qmp_capabilities", json!({}));
        machine
    }

    /// Gives QEMU's monitor a command.
    fn command(&mut self, name: &str, arguments: Value) -> Value {
        let text = json!({ "execute": name, "arguments": arguments }).to_string();
        self.monitor.get_mut().write_all(text.as_bytes()).unwrap();
        loop {
            let mut line = String::new();
            self.monitor.read_line(&mut line).unwrap();
            let mut answer: Value = serde_json::from_str(&line).unwrap_or_default();
            assert!(answer["error"].is_null() && !line.is_empty(), "{name}: {answer}");
            if answer.get("return").is_some() {
                return answer["return"].take();
            }
        }
    }

    /// Asks until there is a status.
    fn await_status(&mut self, question: &str, wanted: &str) {
        let deadline = Instant::now() + SCRIPT;
        while self.command(question, json!({}))["status"] != wanted {
            assert!(Instant::now() < deadline, "{question} is never {wanted}: {}", self.said());
            std::thread::sleep(TICK);
        }
    }

    /// Starts a script as root; returns its number.
    pub(crate) fn start_script(&mut self, script: &str) -> u32 {
        self.scripts += 1;
        let line = format!("{} {}\n", self.scripts, encoded(script.as_bytes()));
        self.port.get_mut().write_all(line.as_bytes()).unwrap();
        self.scripts
    }

    /// Waits for the answer to a script.
    pub(crate) fn answer(&mut self, number: u32) -> Answer {
        loop {
            if let Some(answer) = self.early.remove(&number) {
                return answer;
            }
            let mut line = String::new();
            let count = self.port.read_line(&mut line);
            let count = count.unwrap_or_else(|error| panic!("{error}: {}", self.said()));
            assert!(count > 0, "the guest ended: {}", self.said());
            let answer = line.split_once(' ').and_then(|(of, text)| Some((of.parse().ok()?, text)));
            if let Some((of, text)) = answer {
                self.early.insert(of, Answer::parse(text));
            }
        }
    }

    /// Runs a script as root, to its end.
    pub(crate) fn run(&mut self, script: &str) -> Answer {
        let number = self.start_script(script);
        self.answer(number)
    }

    /// From now on the first disk answers so many requests a second.
    pub(crate) fn limit_disk(&mut self, requests: u32) {
        let names = ["bps", "bps_rd", "bps_wr", "iops_rd", "iops_wr"];
        let mut limits: serde_json::Map<String, Value> =
            names.map(|name| (name.to_owned(), json!(0))).into_iter().collect();
        limits.extend([
            ("device".to_owned(), json!("virtio0")),
            ("iops".to_owned(), json!(requests)),
        ]);
        self.command("block_set_io_throttle", Value::Object(limits));
    }

    /// Presses the machine's reset button; it boots.
    pub(crate) fn reset(&mut self) {
        self.command("set-action", json!({ "reboot": "reset" }));
        self.command("system_reset", json!({}));
        // Answers of scripts that were under way.
        self.early.clear();
    }

    /// The output of QEMU and the guest's console.
    fn said(&self) -> String {
        let read = |name| fs::read(self.own.path().join(name)).unwrap_or_default();
        let text = |name| String::from_utf8_lossy(&read(name)).into_owned();
        let console = text("console");
        let last = console.lines().rev().take(40).collect::<Vec<_>>();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{}\n{}", text("errors"), last.join("\n"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// The memory, which is a file of its own, is not part of the state.
fn ignoring_shared_memory() -> Value {
    json!({ "capabilities": [{ "capability": "x-ignore-shared", "state": true }] })
}

fn own_folder() -> TempDir {
    tempfile::Builder::new().prefix("thrashlab-distro-").tempdir_in("/var/tmp").unwrap()
}

/// A connection to a socket that QEMU makes.
fn connected(qemu: &mut Child, own: &Path, name: &str) -> BufReader<UnixStream> {
    let deadline = Instant::now() + SCRIPT;
    loop {
        if let Ok(stream) = UnixStream::connect(own.join(name)) {
            stream.set_read_timeout(Some(SCRIPT)).unwrap();
            return BufReader::new(stream);
        }
        let ended = qemu.try_wait().unwrap();
        let errors = || fs::read_to_string(own.join("errors")).unwrap_or_default();
        assert!(ended.is_none(), "QEMU ended: {}", errors());
        assert!(Instant::now() < deadline, "QEMU does not come up: {}", errors());
        std::thread::sleep(TICK);
    }
}

/// The folder of the snapshot: memory, disks and state of the booted machine.
fn snapshot() -> PathBuf {
    let folder = Architecture::chosen().folder();
    let snapshot = folder.join("snapshot");
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let made_of = made_of();
    if fs::read_to_string(snapshot.join("made-of")).is_ok_and(|text| text == made_of) {
        return snapshot;
    }
    let new = folder.join("new");
    for old in [&new, &snapshot] {
        let _ = fs::remove_dir_all(old);
    }
    fs::create_dir(&new).unwrap();
    boot(&new);
    fs::write(new.join("made-of"), made_of).unwrap();
    fs::rename(&new, &snapshot).unwrap();
    snapshot
}

/// What a snapshot depends on: the root file system, QEMU, and the machine as defined here.
fn made_of() -> String {
    let architecture = Architecture::chosen();
    let version = Command::new(architecture.emulator).arg("--version").output().unwrap().stdout;
    let recipe = fs::read_to_string(architecture.folder().join("recipe")).unwrap();
    let defined = concat!(include_str!("machine.rs"), include_str!("architecture.rs"));
    let hash = blake3::hash(defined.as_bytes());
    format!("{recipe}{}{hash}", String::from_utf8_lossy(&version))
}

/// Boots a machine and leaves it in a folder.
fn boot(new: &Path) {
    let copied = Command::new("cp")
        .arg("--sparse=always")
        .args([&Architecture::chosen().folder().join("root.img"), &new.join("root.img")])
        .status();
    assert!(copied.unwrap().success(), "the root file system cannot be copied");
    let swap = File::create(new.join("swap.img")).unwrap();
    swap.set_len(SWAP_BYTES).unwrap();
    let mut machine = Machine::start(new, own_folder(), false);
    machine.port.get_ref().set_read_timeout(Some(BOOT)).unwrap();
    let prepare = "systemctl is-system-running --wait; mkswap -q /dev/vdb; swapon /dev/vdb; sync; \
                   sleep 2";
    machine.run(prepare).expect(0, &[]);
    machine.command("stop", json!({}));
    machine.command("migrate-set-capabilities", ignoring_shared_memory());
    let uri = format!("exec:cat > '{}'", new.join("state").display());
    machine.command("migrate", json!({ "uri": uri }));
    machine.await_status("query-migrate", "completed");
    let _ = machine.monitor.get_mut().write_all(b"{ \"execute\": \"quit\" }");
    machine.qemu.wait().unwrap();
}
