//! `tools/setup` on machines that lack something: each is a folder of stand-ins for programs.
#![expect(clippy::unwrap_used, reason = "a machine that cannot be created fails the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Programs of every system that the script needs.
const BASICS: &[&str] = &["dirname", "env", "mktemp", "rm", "sed", "touch"];

/// A machine: a folder that is all of its `PATH`.
struct Machine {
    dir: TempDir,
}

impl Machine {
    /// A machine with root, a compiler that links statically, and a new toolchain that compiles to
    /// WebAssembly, whose Python packages are the wanted ones.
    fn complete() -> Self {
        let machine = Self { dir: tempfile::tempdir().unwrap() };
        for name in BASICS {
            let path = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let path = path.iter().find(|path| path.exists()).expect("a basic program");
            symlink(path, machine.dir.path().join(name)).unwrap();
        }
        let wasm = machine.dir.path().join("lib/rustlib/wasm32-wasip1/lib");
        fs::create_dir_all(wasm).unwrap();
        let root = machine.dir.path().display();
        let rustc = format!("[ \"$1\" = --print ] && echo '{root}' || echo rustc 1.999.0");
        machine
            .with("cc", "exit 0")
            .with("id", "echo 0")
            .with("cmp", "exit 0")
            .with("cargo", "echo cargo 1.999.0")
            .with("rustc", &rustc)
    }

    fn with(self, name: &str, script: &str) -> Self {
        let path = self.dir.path().join(name);
        // Written by a process of its own: a file that a thread of this one is still writing
        // while another one forks cannot be executed (ETXTBSY).
        let write = "printf '#!/bin/sh\n%s\n' \"$2\" >\"$1\" && chmod 755 \"$1\"";
        let status =
            Command::new("/bin/sh").args(["-c", write, "sh"]).arg(path).arg(script).status();
        assert!(status.unwrap().success());
        self
    }

    fn without(self, name: &str) -> Self {
        fs::remove_file(self.dir.path().join(name)).unwrap();
        self
    }

    /// An `apt-get` that prints its arguments and makes `cc` work.
    fn with_apt(self) -> Self {
        let cc = self.dir.path().join("cc");
        let script = format!(
            "echo apt-get \"$@\"\nif [ \"$1\" = install ]; then ln -s /bin/true '{}'; fi",
            cc.display()
        );
        symlink("/bin/ln", self.dir.path().join("ln")).unwrap();
        self.with("apt-get", &script)
    }

    /// Whether the script succeeds, and what it prints.
    fn set_up(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/setup"))
            .args(arguments)
            .env("PATH", self.dir.path())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(output.stdout.is_empty(), "standard output belongs to the results");
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn nothing_is_said_where_nothing_is_missing() {
    assert_eq!(Machine::complete().set_up(&[]), (true, String::new()));
    assert_eq!(Machine::complete().set_up(&["test"]), (true, String::new()));
}

#[test]
fn root_installs_what_is_missing() {
    let (success, said) = Machine::complete().without("cc").with_apt().set_up(&[]);
    assert!(success, "{said}");
    assert!(said.contains("apt-get update"), "{said}");
    assert!(said.contains("--no-install-recommends gcc libc6-dev"), "{said}");
}

#[test]
fn others_install_through_sudo() {
    let machine = Machine::complete().without("cc").with_apt().with("id", "echo 1000");
    let script = "echo by sudo >&2\n[ \"$1\" != -n ] || shift\nexec \"$@\"";
    let (success, said) = machine.with("true", "").with("sudo", script).set_up(&[]);
    assert!(success, "{said}");
    assert!(said.contains("by sudo"), "{said}");
}

#[test]
fn without_root_and_sudo_the_packages_are_named() {
    let machine = Machine::complete().without("cc").with_apt().with("id", "echo 1000");
    let (success, said) = machine.set_up(&[]);
    assert!(!success);
    assert!(said.contains("as root, apt-get install gcc libc6-dev"), "{said}");
}

#[test]
fn without_apt_the_packages_are_described() {
    let (success, said) = Machine::complete().without("cc").set_up(&[]);
    assert!(!success);
    assert!(said.contains("install gcc and the static C library"), "{said}");
}

#[test]
fn a_missing_toolchain_is_said_with_the_next_step() {
    for tool in ["cargo", "rustc"] {
        let (success, said) = Machine::complete().without(tool).set_up(&[]);
        assert!(!success);
        assert!(said.starts_with(&format!("{tool} is missing")), "{said}");
        assert!(said.contains("https://rustup.rs"), "{said}");
    }
}

#[test]
fn an_old_toolchain_is_said_with_the_next_step() {
    let old = Machine::complete().with("rustc", "echo rustc 1.63.0 '(4b91a6ea7 2022-08-08)'");
    let (success, said) = old.set_up(&[]);
    assert!(!success);
    assert!(said.contains("rustc is 1.63; thrashlab needs Rust 1."), "{said}");
    let (success, said) = old.with("rustup", "exit 0").set_up(&[]);
    assert!(!success);
    assert!(said.contains("Next step: rustup update stable"), "{said}");
}

#[test]
fn a_toolchain_that_does_not_run_is_said() {
    let machine = Machine::complete().with("cargo", "echo no default is configured; exit 1");
    let (success, said) = machine.set_up(&[]);
    assert!(!success);
    assert!(said.contains("no default is configured"), "{said}");
    assert!(said.contains("Next step: rustup default stable"), "{said}");
}

#[test]
fn parts_for_the_tests_are_needed_for_the_tests_only() {
    let script = "[ \"$1\" != clippy ] || exit 1\necho cargo 1.999.0";
    let machine = Machine::complete().with("cargo", script);
    assert_eq!(machine.set_up(&[]), (true, String::new()));
    let (success, said) = machine.set_up(&["test"]);
    assert!(!success);
    assert!(said.contains("missing: clippy"), "{said}");
    let (success, said) = machine.with("rustup", "echo rustup \"$@\"").set_up(&["test"]);
    assert!(success, "{said}");
    assert!(said.contains("rustup component add clippy"), "{said}");
}
