//! Guests for tests: one kernel, one cache and one boot for all of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use instrument::Agent;
use model::Run;

use crate::skip::skip;
use crate::support::{Finished, Fixture, Running};

/// The folder of the workspace.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
/// Packages that lead to a small kernel: Debian's, Ubuntu's.
const PACKAGES: [&str; 3] = ["linux-image-cloud-amd64", "linux-image-amd64", "linux-image-virtual"];
/// An architecture of guests, as `vm engine` lists it.
const X86_64: &str = "x86-64";
/// What the nightly targets of the Makefile set.
const LONG_TESTS: &str = "THRASHLAB_LONG_TESTS";
/// What leads to Debian's full kernel.
const FULL_KERNEL: &str = "deb:linux-image-amd64";
/// What errors report where a package is unavailable.
const NOT_HERE: [&str; 4] =
    ["cannot be started", "no such package", "apt-get download", "update` failed"];

/// The folders of one test, and the cache that it uses.
pub(crate) struct Lab {
    pub(crate) fixture: Fixture,
    pub(crate) cache: PathBuf,
    kernel: String,
}

impl Lab {
    /// A test with the cache that has the engine, or without an engine as [`Self::of_system`].
    pub(crate) fn new(test: &str) -> Option<Self> {
        let lab = Self::of_system(test)?;
        Some(lab.in_engine(X86_64).unwrap_or(lab))
    }

    /// A test with the system's QEMU, and the cache of all such tests; `None`, which is noted, where
    /// no guest can run.
    pub(crate) fn of_system(test: &str) -> Option<Self> {
        static KERNEL: OnceLock<Result<String, String>> = OnceLock::new();
        match KERNEL.get_or_init(kernel) {
            Ok(kernel) => Some(Self::of(kernel)),
            Err(why) => {
                skip(test, why);
                None
            }
        }
    }

    /// A test with a cache of its own, which has the kernel and nothing else.
    pub(crate) fn with_empty_cache(test: &str) -> Option<Self> {
        Self::of_system(test).map(|lab| lab.with_own_cache())
    }

    /// A test with a cache of its own, which has the machine of all tests, and no cell.
    pub(crate) fn with_empty_cells(test: &str) -> Option<Self> {
        let common = Self::of_system(test)?;
        let lab = common.with_own_cache();
        for machine in common.entries("snapshots") {
            // Others are being made there.
            if machine.join("contents").is_file() {
                let own = lab.kept("snapshots").join(machine.file_name().unwrap());
                fs::create_dir_all(&own).unwrap();
                for file in fs::read_dir(&machine).unwrap().map(Result::unwrap) {
                    fs::hard_link(file.path(), own.join(file.file_name())).unwrap();
                }
            }
        }
        Some(lab)
    }

    /// Another test with this one's kernel, and a cache that has nothing else.
    pub(crate) fn with_own_cache(&self) -> Self {
        let mut lab = self.sibling();
        let kernels = lab.kept("kernels");
        lab.cache = lab.fixture.path().join("cache");
        fs::create_dir_all(lab.cache.join("thrashlab")).unwrap();
        symlink(kernels, lab.kept("kernels")).unwrap();
        lab
    }

    /// A test with the cache that has the engine; `None`, which is noted, where that has none.
    pub(crate) fn with_engine(test: &str) -> Option<Self> {
        let lab = Self::of_system(test)?.in_engine(X86_64);
        if lab.is_none() {
            skip(test, "the engine could not be built here");
        }
        lab
    }

    /// A test with this one's kernel and the cache that has the engine, if one for guests of this
    /// architecture was built there.
    pub(crate) fn in_engine(&self, architecture: &str) -> Option<Self> {
        let lab = Self { cache: engine_cache(), ..Self::of(&self.kernel) };
        // The first test does it.
        let _ = symlink(self.kept("kernels"), lab.kept("kernels"));
        let list = lab.command(&["vm", "engine"]).stdout;
        let is_used = |line: &str| line.contains(architecture) && line.contains("in use");
        list.lines().any(is_used).then_some(lab)
    }

    /// Another test with this one's cache.
    pub(crate) fn sibling(&self) -> Self {
        Self { cache: self.cache.clone(), ..Self::of(&self.kernel) }
    }

    /// A test that comes to no guest: its kernel is never looked for.
    pub(crate) fn without_guests() -> Self {
        Self::of("deb:none")
    }

    fn of(kernel: &str) -> Self {
        let cache = Path::new(WORKSPACE).join("target/test-cache");
        fs::create_dir_all(&cache).unwrap();
        let cache = cache.canonicalize().unwrap();
        Self { fixture: Fixture::new(), cache, kernel: kernel.to_owned() }
    }

    /// A folder of the cache.
    pub(crate) fn kept(&self, name: &str) -> PathBuf {
        self.cache.join("thrashlab").join(name)
    }

    /// The entries of a folder of the cache, without hidden notes.
    pub(crate) fn entries(&self, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.kept(name)).into_iter().flatten();
        let entries = entries.map(|entry| entry.unwrap());
        let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        shown.map(|entry| entry.path()).collect()
    }

    /// `thrashlab run` in guests of the smallest machine, with settings on top of it, that is over
    /// soon unless the arguments say otherwise.
    pub(crate) fn run(&self, settings: &str, arguments: &str) -> Command {
        self.run_with(&self.kernel, settings, arguments)
    }

    /// `thrashlab run` as [`Self::run`], in guests with another kernel.
    pub(crate) fn run_with(&self, kernel: &str, settings: &str, arguments: &str) -> Command {
        let mut command = self.fixture.other(program());
        command.env("XDG_CACHE_HOME", &self.cache);
        let subject = format!("vm:machine=micro,kernel={kernel},{settings}");
        command.args(["run", "--subject", &subject]).args(arguments.split_whitespace());
        // A job has no points.
        let is_job = arguments.contains("--job ");
        for (name, value) in [("--interval", "200ms"), ("--points", "2"), ("--output", "output")] {
            if !arguments.contains(name) && (name == "--output" || !is_job) {
                command.args([name, value]);
            }
        }
        command
    }

    /// Makes a run that swaps, with page faults, interrupts and switches between processes; returns the
    /// path of its file under the test's folder, and the run.
    pub(crate) fn swapping_run(&self, settings: &str) -> (String, Run) {
        const LOAD: &str = "2ctx-mem";
        let arguments =
            format!("--load {LOAD} --points 4 --interval 500ms --warmup 1s --timeout 30s");
        self.finish(settings, &arguments).expect(0, &[]);
        let files = self.files();
        let (name, bytes) = files.iter().find(|(name, _)| name.contains(LOAD)).unwrap();
        (format!("output/{name}.run.jsonl"), Run::parse(bytes).unwrap())
    }

    /// Another command, with this test's cache, to its end.
    pub(crate) fn command(&self, arguments: &[&str]) -> Finished {
        self.begin(arguments).wait()
    }

    /// Starts another command, with this test's cache.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Running {
        let mut command = self.fixture.other(program());
        command.env("XDG_CACHE_HOME", &self.cache).args(arguments);
        self.fixture.start(command)
    }

    /// What follows `vm:` for the smallest machine with the kernel of all tests.
    pub(crate) fn machine(&self) -> String {
        format!("machine=micro,kernel={}", self.kernel)
    }

    /// A test with this one's cache and Debian's full kernel, which has what the small ones omit;
    /// `None`, which is noted, where it is unavailable.
    pub(crate) fn with_full_kernel(&self, test: &str) -> Option<Self> {
        let lab = Self { kernel: FULL_KERNEL.to_owned(), ..self.sibling() };
        lab.if_available(test, "the full kernel cannot be had here")
    }

    /// A test with this kernel; `None`, which is noted, where it is unavailable.
    pub(crate) fn with_kernel(kernel: &str, test: &str) -> Option<Self> {
        Self::of(kernel).if_available(test, "its kernel is not available here")
    }

    fn if_available(self, test: &str, reason: &str) -> Option<Self> {
        let told = self.command(&["vm", "kernels", &self.kernel]);
        if told.code() == Some(0) {
            return Some(self);
        }
        assert!(NOT_HERE.iter().any(|reason| told.stderr.contains(reason)), "{told:#?}");
        skip(test, reason);
        None
    }

    /// Starts a run in guests.
    pub(crate) fn start(&self, settings: &str, arguments: &str) -> Running {
        self.fixture.start(self.run(settings, arguments))
    }

    /// Makes a run in guests, to its end.
    pub(crate) fn finish(&self, settings: &str, arguments: &str) -> Finished {
        self.fixture.finish(self.run(settings, arguments))
    }

    /// The run files of this test, by name; all of them must be complete.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.fixture.output()).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = entries
            .filter_map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                // Next to the run files there is a report on them.
                let name = name.strip_suffix(".run.jsonl")?.to_owned();
                Some((name, fs::read(path).unwrap()))
            })
            .collect();
        files.sort();
        for (name, _) in &files {
            assert_eq!(self.fixture.run_file(name).checksum_ok, Some(true), "{name}");
        }
        files
    }
}

/// The cache with the engine that `make test` builds.
fn engine_cache() -> PathBuf {
    Path::new(WORKSPACE).join("target/engine-cache")
}

/// Whether tests of minutes run; otherwise `target` of the Makefile, which runs them, is noted.
pub(crate) fn is_long(test: &str, target: &str) -> bool {
    let is_long = std::env::var_os(LONG_TESTS).is_some();
    if !is_long {
        skip(test, &format!("it takes minutes: {target}"));
    }
    is_long
}

/// The program of these tests. Its guests have the same agent as those of every other build.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_thrashlab"))
}

/// A kernel with which the smallest machine boots, or why there is none.
fn kernel() -> Result<String, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join("qemu-system-x86_64").is_file()) {
        return Err("QEMU is not installed".to_owned());
    }
    forget_older();
    // One that is here needs neither apt nor a network.
    let candidates = unpacked().into_iter().chain(PACKAGES.map(|name| format!("deb:{name}")));
    for candidate in candidates {
        let lab = Lab::of(&candidate);
        let finished = lab.finish("", "--load noload --points 1 --interval 10ms");
        if finished.code() == Some(0) {
            // By its version from here on, so that nobody asks apt again.
            return Ok(unpacked().unwrap_or(candidate));
        }
        // Any other failure is a fault and no reason to go without guests.
        assert!(NOT_HERE.iter().any(|reason| finished.stderr.contains(reason)), "{finished:#?}");
    }
    Err("no kernel package can be had here".to_owned())
}

/// A kernel of the cache, as it is typed: a small one if there is one.
fn unpacked() -> Option<String> {
    let is_small = |folder: &Path| {
        let name = folder.to_string_lossy();
        name.contains("cloud") || name.contains("virtual")
    };
    let mut folders = Lab::without_guests().entries("kernels");
    folders.sort_by_cached_key(|folder| (is_small(folder), folder.clone()));
    folders.iter().rev().find_map(|folder| {
        let (name, rest) = folder.file_name()?.to_str()?.split_once('_')?;
        let (version, architecture) = rest.split_once('_')?;
        (architecture != "arm64").then(|| format!("deb:{name}={version}"))
    })
}

/// Removes what guests with another agent kept: it is of no use to this one, and would pile up.
fn forget_older() {
    let lab = Lab::without_guests();
    let with_engine = Lab { cache: engine_cache(), ..lab.sibling() };
    for lab in [lab, with_engine] {
        let (mark, hash) = (lab.cache.join("agent"), Agent::here().unwrap().hash);
        if fs::read_to_string(&mark).is_ok_and(|known| known == hash) {
            continue;
        }
        for path in [lab.entries("snapshots"), lab.entries("cells")].concat() {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        let _ = fs::write(mark, hash);
    }
}
