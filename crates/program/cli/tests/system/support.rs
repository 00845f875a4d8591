//! One invocation with folders of its own, and what can be read from it.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use model::Run;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Longest time that anything here may take, unless something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// Pause between two looks.
const TICK: Duration = Duration::from_millis(2);

/// Folders of one test: on a disk, removed at its end.
pub(crate) struct Fixture {
    dir: TempDir,
    user: Option<u32>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("thrashlab-test-").tempdir_in("/var/tmp");
        Self { dir: dir.unwrap(), user: None }
    }

    /// A fixture for an unprivileged user, who gets a copy of the program within reach.
    pub(crate) fn of_user(user: u32) -> Self {
        let fixture = Self { user: Some(user), ..Self::new() };
        fs::set_permissions(fixture.path(), PermissionsExt::from_mode(0o755)).unwrap();
        chown(fixture.path(), Some(user), Some(user)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_thrashlab"), fixture.path().join("thrashlab")).unwrap();
        fixture
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state/thrashlab")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path().join("config")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.path().join("output")
    }

    pub(crate) fn program(&self) -> PathBuf {
        match self.user {
            Some(_) => self.path().join("thrashlab"),
            None => env!("CARGO_BIN_EXE_thrashlab").into(),
        }
    }

    /// Any program with the folders of this test; its working directory marks it as ours.
    pub(crate) fn other(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_DATA_HOME", self.path().join("data"))
            .env("XDG_CONFIG_HOME", self.config())
            // What the user has cached, such as an engine, is no part of a test.
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            // Most tests are about what one screen does not show.
            .env("THRASHLAB_DETAILS", "true")
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// `thrashlab` with arguments separated by spaces.
    pub(crate) fn thrashlab(&self, arguments: &str) -> Command {
        let mut command = self.other(self.program());
        command.args(arguments.split_whitespace());
        command
    }

    /// `thrashlab run` that is over soon, in the smallest subject that this machine allows.
    pub(crate) fn run(&self, arguments: &str) -> Command {
        let subject = if self.user.is_none() && sandbox_works() { "sandbox" } else { "host" };
        self.run_on(&format!("{subject}:mem=64M"), arguments)
    }

    /// `thrashlab run` in a subject of the test's choice; the arguments override what is usual
    /// here.
    pub(crate) fn run_on(&self, subject: &str, arguments: &str) -> Command {
        let mut command = self.thrashlab("run");
        command.args(["--subject", subject]).args(arguments.split_whitespace());
        let (output, work) = (self.output(), self.work());
        let usual = [
            ("--interval", Path::new("200ms")),
            ("--points", Path::new("2")),
            ("--warmup", Path::new("1s")),
            // Other tests keep the disk busy: a sync may take its time.
            ("--timeout", Path::new("60s")),
            ("--output", &output),
            ("--work-dir", &work),
        ];
        // A job has neither points nor a time for each of them, and without a load no time to warm up.
        let is_job = arguments.contains("--job ");
        for (name, value) in usual {
            let is_of_points = !["--output", "--work-dir"].contains(&name);
            if !(arguments.contains(name) || is_job && is_of_points) {
                command.arg(name).arg(value);
            }
        }
        command
    }

    /// Starts a command whose output goes to files, so that nothing ever waits for a reader.
    pub(crate) fn start(&self, command: Command) -> Running {
        self.start_as("", command)
    }

    /// Starts a command next to others: the names of its output files begin with `name`.
    pub(crate) fn start_as(&self, name: &str, mut command: Command) -> Running {
        let [stdout, stderr] =
            ["stdout", "stderr"].map(|stream| self.path().join(format!("{name}{stream}")));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Running { child: command.spawn().unwrap(), stdout, stderr }
    }

    /// Runs a command to its end.
    pub(crate) fn finish(&self, command: Command) -> Finished {
        self.start(command).wait()
    }

    /// The run file of a number and a load, as it is now.
    pub(crate) fn run_bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.output().join(format!("{name}.run.jsonl"))).unwrap_or_default()
    }

    /// A run file, which must be valid and have its header.
    pub(crate) fn run_file(&self, name: &str) -> Run {
        let run = Run::parse(&self.run_bytes(name))
            .unwrap_or_else(|error| panic!("{name} is not valid: {error}"));
        assert!(run.header.is_some(), "{name} has no header");
        run
    }

    /// Waits until a run file holds a text.
    pub(crate) fn await_text(&self, running: &mut Running, name: &str, text: &str) {
        let what = format!("{text} in {name}");
        running.await_that(&what, || {
            let bytes = self.run_bytes(name);
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        });
    }
}

/// Whether this user may make sandboxes here.
pub(crate) fn sandbox_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let fixture = Fixture::new();
        let arguments = "--load noload --points 1 --interval 10ms";
        let finished = fixture.finish(fixture.run_on("sandbox:mem=64M", arguments));
        if finished.code() != Some(0) {
            // Any other failure is a fault and no reason to go without a sandbox.
            finished.expect(3, &["no sandbox: "]);
        }
        finished.code() == Some(0)
    })
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A running invocation; killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits until a condition holds; fails if the invocation ends first.
    pub(crate) fn await_that(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < deadline, "never: {what}");
            if let Some(status) = self.ended() {
                let said = self.said();
                panic!("ended with {status} before: {what}\n{said}");
            }
            std::thread::sleep(TICK);
        }
    }

    /// How it ended, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    pub(crate) fn wait(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.ended() {
                break status;
            }
            assert!(Instant::now() < deadline, "does not end; it said:\n{}", self.said());
            std::thread::sleep(TICK);
        };
        let stdout = fs::read_to_string(&self.stdout).unwrap();
        Finished { status, stdout, stderr: self.said() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal; a process that is gone is not a failure.
pub(crate) fn send(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}

/// What an invocation printed and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Standard output in one line, each gap one blank: sentences are wrapped where they are long.
    pub(crate) fn sentences(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Fails unless it ended with this code and printed all these words on standard error.
    pub(crate) fn expect(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code(), Some(code), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}
