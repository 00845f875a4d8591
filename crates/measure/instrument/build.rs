//! Builds the agent (`agent/`, a workspace of its own) and packs it, to be embedded. The mechanisms, a
//! program for guests (`crates/machine/mechanisms`), are built and packed with it.
//!
//! Nothing of this build reaches it: not the profile, the flags, the features or the lock file. So its
//! bytes are equal in debug and release builds, in tests, and in whatever folder. It is built once
//! for all of them, in the folder `agent` of cargo's target folder.
//!
//! The C library is musl where Rust's target for it is installed, as it comes with Rust: then the
//! bytes do not depend on this system's C library, and no compiler of C is needed, not even for
//! another architecture. Otherwise it is this system's, static if possible.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names further architectures that the program brings an agent for, divided by blanks.
const MORE: &str = "THRASHLAB_AGENTS";
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];
/// The programs, with the packages that they are built from: the agent, and what guests may run.
const PROGRAMS: [(&str, &str); 2] =
    [("thrashlab-agent", "thrashlab-agent"), ("mechanism", "mechanisms")];

fn main() {
    println!("cargo::rerun-if-env-changed={MORE}");
    let own = variable("CARGO_CFG_TARGET_ARCH");
    // As people write them, too: x86-64.
    let more = env::var(MORE).unwrap_or_default().replace('-', "_");
    let out = PathBuf::from(variable("OUT_DIR"));
    for architecture in ARCHITECTURES {
        let is_wanted = architecture == own || more.split_whitespace().any(|it| it == architecture);
        let programs = if is_wanted { build(architecture, &own, &out) } else { Vec::new() };
        for (number, (program, _)) in PROGRAMS.iter().enumerate() {
            let bytes = programs.get(number).map_or(&[][..], Vec::as_slice);
            let packed = lz4_flex::compress_prepend_size(bytes);
            fs::write(out.join(format!("{program}-{architecture}")), packed)
                .expect("OUT_DIR can be written");
        }
        let agent = programs.first();
        let hash = agent.map_or(String::new(), |bytes| blake3::hash(bytes).to_hex().to_string());
        println!("cargo::rustc-env=AGENT_{}={hash}", architecture.to_uppercase());
    }
}

/// Builds the programs for an architecture; returns their bytes.
fn build(architecture: &str, own: &str, out: &Path) -> Vec<Vec<u8>> {
    let musl = format!("{architecture}-unknown-linux-musl");
    let gnu = format!("{architecture}-unknown-linux-gnu");
    let mut attempts = Vec::new();
    if is_installed(&musl) {
        let script = "-Clink-arg=-Tno-unwinding.ld";
        let linker = ["-Clinker=rust-lld", "-Clink-arg=--no-eh-frame-hdr", script];
        attempts.push((musl.as_str(), [&linker[..], &["-Ctarget-feature=+crt-static"]].concat()));
    } else {
        println!(
            "cargo::warning=the agent is built with this system's C library, so cells that were \
             computed elsewhere are not reused; `rustup target add {musl}` makes it the same \
             everywhere"
        );
        attempts.push((gnu.as_str(), vec!["-Ctarget-feature=+crt-static"]));
        // Without guests and other machines, but here it works.
        attempts.extend((architecture == own).then(|| (gnu.as_str(), vec![])));
    }
    for (target, flags) in attempts {
        let folder = target_folder(out);
        let built = PROGRAMS.map(|program| build_for(target, &flags, &folder, program));
        if let Some(built) = built.into_iter().collect::<Option<Vec<PathBuf>>>() {
            let read = |path: &PathBuf| {
                fs::read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
            };
            return built.iter().map(read).collect();
        }
    }
    panic!("cargo could not build the agent for {architecture}; its messages are above")
}

/// Builds one program, alone: what it is built from must not depend on the other one.
fn build_for(
    target: &str,
    flags: &[&str],
    folder: &Path,
    (program, package): (&str, &str),
) -> Option<PathBuf> {
    let agent = Path::new("../../../agent");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--target", target]);
    cargo.args(["--package", package]);
    cargo.arg("--manifest-path").arg(agent.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder);
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_build(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", encoded_flags(flags));
    if !cargo.status().is_ok_and(|status| status.success()) {
        return None;
    }
    let program = folder.join(target).join("release").join(program);
    println!("cargo::rerun-if-changed={}", agent.join("Cargo.toml").display());
    println!("cargo::rerun-if-changed={}", agent.join("Cargo.lock").display());
    for source in sources(&program.with_extension("d")) {
        println!("cargo::rerun-if-changed={source}");
    }
    Some(program)
}

/// At a fixed address, as relocating is work at every start; without unwinding, as a panic ends the
/// process; and without paths of this machine.
fn encoded_flags(flags: &[&str]) -> OsString {
    let home = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| home + "/.cargo"));
    let mut all: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let fixed = ["-Crelocation-model=static", "-Cforce-unwind-tables=no", "-Cstrip=symbols"];
    all.extend(fixed.map(str::to_owned));
    all.extend(home.map(|home| format!("--remap-path-prefix={home}=/cargo")));
    all.push(format!("--remap-path-prefix={}=/rustc", sysroot()));
    all.join("\u{1f}").into()
}

/// Whether a variable tells cargo or rustc how this program is built. What tells them where things
/// are (homes, registries, linkers, the job server) holds for the agent too.
fn is_of_this_build(name: &str) -> bool {
    let is_place = ["CARGO", "CARGO_HOME", "CARGO_MAKEFLAGS"].contains(&name)
        || ["CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || name.ends_with("_LINKER");
    let is_build = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CLIPPY"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    is_build && !is_place
}

/// Every file that the agent was compiled from, from cargo's list.
fn sources(list: &Path) -> Vec<String> {
    let text = fs::read_to_string(list).unwrap_or_else(|why| panic!("{}: {why}", list.display()));
    let files = text.lines().filter_map(|line| line.split_once(": ")).map(|(_, files)| files);
    // A blank of a path has a backslash before it.
    let files: Vec<String> = files.map(|files| files.replace("\\ ", "\0")).collect();
    let files = files.iter().flat_map(|files| files.split(' '));
    files.map(|file| file.replace('\0', " ")).collect()
}

fn is_installed(target: &str) -> bool {
    let libraries = Path::new(&sysroot()).join("lib/rustlib").join(target).join("lib");
    libraries.is_dir()
}

fn sysroot() -> String {
    let output = Command::new(variable("RUSTC")).args(["--print", "sysroot"]).output();
    let output = output.expect("cargo names a compiler that runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Cargo's target folder: above `PROFILE/build/PACKAGE/out`, and above the target's name, if there is
/// one.
fn target_folder(out: &Path) -> PathBuf {
    let folder = out.ancestors().nth(4).expect("OUT_DIR is deep in the target folder");
    let is_of_target = folder.file_name().is_some_and(|name| *name == *variable("TARGET"));
    let folder = if is_of_target { folder.parent().unwrap_or(folder) } else { folder };
    folder.join("agent")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
