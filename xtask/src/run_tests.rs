//! Runs the tests of a lane: test binaries side by side, the longest first.
//!
//! `cargo test` runs one binary after the other, and most of the time of the tests with processes is
//! waiting. Here several run at once; what each printed appears when it has ended, so its lines stay
//! together.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::lanes::{Lane, Slow, chosen};
use crate::tree;

/// How many binaries run at once. Each has as many threads as there are CPUs.
const AT_ONCE: usize = 3;
/// The binaries that take longest, which begin first; all others follow by name.
const LONGEST: [&str; 4] = ["vm", "system", "distro", "guide"];

/// Binaries whose tests mostly wait for processes.
const WAITING: [&str; 2] = ["system", "remote"];

/// A test binary that cargo built.
struct Binary {
    name: String,
    is_unit: bool,
    path: PathBuf,
    /// The folder of its crate, in which cargo runs tests.
    folder: PathBuf,
}

/// Builds all tests and runs those of a lane; returns whether all passed.
pub(crate) fn run(lane: Lane, list: &str) -> Result<bool, String> {
    let slow = Slow::parse(list)?;
    let mut binaries = build()?;
    binaries.sort_by_key(|binary| {
        let place = LONGEST.iter().position(|name| *name == binary.name);
        (place.unwrap_or(LONGEST.len()), binary.name.clone())
    });
    let tests = binaries.iter().map(tests).collect::<Result<Vec<_>, _>>()?;
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (binary, tests) in binaries.iter().zip(&tests) {
        named.entry(binary.name.clone()).or_default().extend(tests.iter().cloned());
    }
    let stale = slow.stale(&named.into_iter().collect::<Vec<_>>());
    if !stale.is_empty() {
        return Err(stale.join("\n"));
    }
    let works: Vec<(&Binary, Vec<&str>)> = binaries
        .iter()
        .zip(&tests)
        .map(|(binary, tests)| (binary, chosen(lane, &slow, (&binary.name, binary.is_unit), tests)))
        .filter(|(_, tests)| !tests.is_empty())
        .collect();
    let failed = execute(&works)?;
    for name in &failed {
        println!("FAILED {name}");
    }
    Ok(failed.is_empty())
}

/// Runs each binary's tests; returns the names of those that failed.
fn execute(works: &[(&Binary, Vec<&str>)]) -> Result<Vec<String>, String> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    while let Some((binary, tests)) =
                        works.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        if !one(binary, tests)? {
                            let mut failed =
                                failed.lock().map_err(|_| "another worker failed".to_owned())?;
                            failed.push(binary.name.clone());
                        }
                    }
                    Ok::<(), String>(())
                })
            })
            .collect();
        let ends = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())));
        ends.collect::<Result<Vec<()>, String>>()
    })?;
    failed.into_inner().map_err(|_| "a worker panicked".to_owned())
}

/// Runs these tests of a binary and prints what it printed; returns whether they passed.
fn one(binary: &Binary, tests: &[&str]) -> Result<bool, String> {
    let began = Instant::now();
    let mut command = command(binary);
    command.arg("--exact").args(tests);
    if WAITING.contains(&binary.name.as_str()) {
        command.args(["--test-threads", "4"]);
    }
    let output = command.output().map_err(|error| cannot(&binary.path, &error))?;
    let mut out = std::io::stdout().lock();
    let head = format!(
        "     Running {} of {} ({:.1} s)\n",
        tests.len(),
        binary.name,
        began.elapsed().as_secs_f64()
    );
    let text = [head.as_bytes(), &output.stdout, &output.stderr].concat();
    out.write_all(&text).map_err(|error| error.to_string())?;
    Ok(output.status.success())
}

fn command(binary: &Binary) -> Command {
    // A job in the background of a shell ignores SIGINT, and one of nohup SIGHUP; so would all that
    // tests start, some of which have to end by them.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,HUP").arg(&binary.path);
    // As cargo has it; some libraries of tests look for their files by it.
    command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
    command.stdin(Stdio::null());
    command
}

/// The names of a binary's tests.
fn tests(binary: &Binary) -> Result<Vec<String>, String> {
    let output = command(binary).args(["--list", "--format", "terse"]).output();
    let output = output.map_err(|error| cannot(&binary.path, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

fn build() -> Result<Vec<Binary>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--locked", "--workspace", "--no-run", "--message-format=json"])
        .current_dir(tree::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo test: {error}"))?;
    if !output.status.success() {
        // Its messages are in JSON, too.
        for line in output.stdout.split(|byte| *byte == b'\n') {
            let message: Value = serde_json::from_slice(line).unwrap_or_default();
            if let Some(text) = message["message"]["rendered"].as_str() {
                println!("{text}");
            }
        }
        return Err("the tests do not compile".to_owned());
    }
    Ok(output.stdout.split(|byte| *byte == b'\n').filter_map(binary).collect())
}

/// The test binary that a line of cargo's JSON reports.
fn binary(line: &[u8]) -> Option<Binary> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let path = PathBuf::from(message["executable"].as_str()?);
    let target = &message["target"];
    let is_test = message["profile"]["test"].as_bool()?;
    let is_unit = target["kind"].as_array()?.iter().all(|kind| kind != "test");
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let name = target["name"].as_str()?.to_owned();
    is_test.then_some(Binary { name, is_unit, path, folder })
}

fn cannot(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
