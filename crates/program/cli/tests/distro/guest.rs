//! A guest for a test: whether one can run here, what users do in it, and what must not be left.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::answer::{Answer, encoded};
use crate::architecture::Architecture;
use crate::machine::Machine;
use crate::skip::skip;

/// A run that is over soon, on an emulated processor too.
pub(crate) const SHORT: &str =
    "--load noload --probe wake --interval 300ms --points 2 --warmup 10s --no-report";
/// What `make test-distro` sets.
const LONG_TESTS: &str = "THRASHLAB_LONG_TESTS";
/// Longest wait for something in the guest, which is emulated and may be next to other work.
const PATIENCE: Duration = Duration::from_secs(900);

/// A booted guest of one test.
pub(crate) struct Guest {
    machine: Machine,
}

impl Guest {
    /// A guest for a test that takes minutes; `None`, which is noted, unless `make test-distro`
    /// asks for it, and where none can run.
    pub(crate) fn for_long(test: &str) -> Option<Self> {
        if std::env::var_os(LONG_TESTS).is_none() {
            skip(test, "it takes minutes: make test-distro");
            return None;
        }
        Self::new(test)
    }

    /// A guest; `None`, which is noted, where none can run.
    pub(crate) fn new(test: &str) -> Option<Self> {
        if let Err(why) = possible() {
            skip(test, why);
            return None;
        }
        Some(Self { machine: Machine::restore() })
    }

    /// Runs a script as root.
    pub(crate) fn root(&mut self, script: &str) -> Answer {
        self.machine.run(script)
    }

    /// Runs a script in a login of a user.
    pub(crate) fn login(&mut self, user: &str, script: &str) -> Answer {
        let number = self.start(user, script);
        self.machine.answer(number)
    }

    /// Starts a script in a login of a user.
    pub(crate) fn start(&mut self, user: &str, script: &str) -> u32 {
        // The script goes through a file, so that it needs no quoting.
        self.machine.start_script(&format!(
            "file=$(mktemp /tmp/script.XXXXXX)\ncat >$file <<'END OF THE SCRIPT'\n{script}\n\
             END OF THE SCRIPT\nchmod 644 $file\nexec runuser -l {user} -c \"bash $file\""
        ))
    }

    /// Compiles a program in C on this machine, and puts it into a folder of the guest that all may read.
    pub(crate) fn install(&mut self, path: &str, text: &str, options: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let [source, program] = ["it.c", "it"].map(|name| folder.path().join(name));
        std::fs::write(&source, text).unwrap();
        let mut compiler = Command::new(Architecture::chosen().compiler);
        compiler.args(options).args(["-static", "-o"]).args([&program, &source]);
        assert!(compiler.status().unwrap().success());
        let bytes = encoded(&std::fs::read(&program).unwrap());
        let lines: Vec<&str> = bytes.as_bytes().chunks(1000).flat_map(str::from_utf8).collect();
        let lines = lines.join("\n");
        self.root(&format!("base64 -d >{path} <<'END'\n{lines}\nEND\nchmod 755 {path}"))
            .expect(0, &[]);
    }

    /// The answer of a script that was started.
    pub(crate) fn answer(&mut self, number: u32) -> Answer {
        self.machine.answer(number)
    }

    /// From now on its disk is as slow as one with a spindle, in requests a second; 0 ends that.
    pub(crate) fn limit_disk(&mut self, requests: u32) {
        self.machine.limit_disk(requests);
    }

    /// Cuts the power: what was not written to the disk is lost. The next script waits for the boot.
    pub(crate) fn cut_power(&mut self) {
        self.machine.reset();
    }

    /// Waits until a condition of the shell is true.
    #[track_caller]
    pub(crate) fn await_that(&mut self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.root(condition).code != 0 {
            assert!(Instant::now() < deadline, "never: {condition}");
        }
    }

    /// Fails if thrashlab has left processes, control groups, units, queues or files; the guest, whose
    /// systemd is emulated next to other guests, has 5 s for the removal.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&mut self) {
        let left = self.root(
            "for look in $(seq 25); do
                 left=$(
                     pgrep -ax thrashlab
                     find /sys/fs/cgroup -name '*thrashlab*'
                     tail -n +2 /proc/sysvipc/msg
                     tail -n +2 /proc/sysvipc/shm
                     find /var/tmp/thrashlab-* /home/*/.local/state/thrashlab \
                         /root/.local/state/thrashlab -type f ! -name thrashlab.lock 2>/dev/null
                 )
                 [ -n \"$left\" ] || exit 0
                 sleep 0.2
             done
             echo \"$left\"
             exit 1",
        );
        assert_eq!(left.code, 0, "left: {}", left.stdout);
    }
}

/// Whether a guest can run here, or why not.
fn possible() -> Result<(), &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let architecture = Architecture::chosen();
    if !has(architecture.emulator) {
        return Err("QEMU is not installed");
    }
    match architecture.folder().join("recipe").is_file() {
        true => Ok(()),
        false if !has("mmdebstrap") => Err("mmdebstrap is not installed"),
        false if !rustix::process::geteuid().is_root() => {
            Err("building a root file system needs root")
        }
        false => Err("no Debian could be installed into target/distro"),
    }
}
