//! Programs of a root file system in a guest: dynamic ones, from this machine's own files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::busy::Busy;
use crate::lab::Lab;
use crate::skip::skip;

const PROGRAMS: [&str; 4] = ["/bin/sh", "/bin/cat", "/usr/bin/seq", "/usr/bin/sort"];
/// What a system has, whatever its root lacks. `cat` and `sort` come from the slow disk.
const SCRIPT: &str = "set -e; test -c /dev/null; test -d /proc/self; test -d /dev/pts; \
    test -w /run; test -k /tmp; test -L /etc/mark; test -L /dev/stdin; \
    echo 1 > /tmp/x; echo 2 > /etc/y; echo 3 > z; cat /etc/hosts /etc/hostname > /dev/null; \
    seq 2000 | sort -r > /tmp/sorted; test \"$HOME $(cat /etc/mark)\" = \"/root ours\"; \
    test -d /run/service; test ! -e /etc/gone";

/// A root with a shell, some programs and these, with the libraries that they need.
pub(crate) fn make_root(folder: &Path, more: &[&str]) {
    let mut files: BTreeSet<String> = BTreeSet::new();
    for program in PROGRAMS.iter().chain(more) {
        files.insert((*program).to_owned());
        let found = Command::new("ldd").arg(program).output().unwrap();
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let words = text.split_whitespace().filter(|word| word.starts_with('/'));
        files.extend(words.map(str::to_owned));
    }
    for file in files {
        let to = folder.join(&file[1..]);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&file, to).unwrap();
    }
    fs::create_dir(folder.join("etc")).unwrap();
    fs::write(folder.join("etc/text"), "ours\n").unwrap();
    symlink("text", folder.join("etc/mark")).unwrap();
    fs::create_dir_all(folder.join("run/service")).unwrap();
    fs::set_permissions(folder.join("run/service"), fs::Permissions::from_mode(0o2750)).unwrap();
}

/// Runs a script in guests with this root; returns the bytes of the run.
fn bytes(lab: &Lab, settings: &str, name: &str, script: &str) -> Vec<u8> {
    let subject = format!("vm:{},kernel_mem=64M,{settings}", lab.machine());
    let output = lab.fixture.path().join(name).display().to_string();
    let arguments =
        ["run", "--no-cache", "--subject", &subject, "--runs", "2", "--output", &output];
    let arguments = [&arguments[..], &["--load", "noload", "--", "sh", "-c", script]].concat();
    lab.command(&arguments).expect(0, &[]);
    fs::read(Path::new(&output).join("001-noload-seed1.run.jsonl")).unwrap()
}

/// A test with the folder of a root; `None`, which is noted, where there can be none.
pub(crate) fn lab_with_root(test: &str) -> Option<(Lab, PathBuf)> {
    let lab = Lab::new(test)?;
    if Command::new("ldd").arg("/bin/sh").output().is_err() {
        skip(test, "ldd is not installed");
        return None;
    }
    let folder = lab.fixture.path().join("root");
    make_root(&folder, &[]);
    Some((lab, folder))
}

#[test]
fn dynamic_programs_run_in_a_root_and_are_the_same_bytes() {
    const NAME: &str = "dynamic_programs_run_in_a_root_and_are_the_same_bytes";
    let Some((lab, folder)) = lab_with_root(NAME) else { return };
    let settings = format!("root={}", folder.display());
    let first = bytes(&lab, &settings, "first", SCRIPT);
    let busy = Busy::new();
    let second = bytes(&lab, &settings, "second", SCRIPT);
    drop(busy);
    assert!(first == second, "the bytes differ");
    let run = model::Run::parse(&first).unwrap();
    let facts = &run.header.as_ref().unwrap().environment;
    assert_eq!(facts["vm_root_blake3"].len(), 64, "{facts:?}");

    // A program that is missing is reported with the root in which it was looked for.
    let subject = format!("vm:{},kernel_mem=64M,{settings}", lab.machine());
    let output = lab.fixture.path().join("missing").display().to_string();
    let arguments = ["run", "--subject", &subject, "--output", &output, "--load", "noload"];
    let finished = lab.command(&[&arguments[..], &["--", "no-such-program"]].concat());
    let folder = folder.display().to_string();
    finished.expect(3, &["no-such-program", "the guest's root", &folder]);
}

#[test]
fn changes_go_where_they_are_sent_and_a_tar_file_is_the_same_root() {
    const NAME: &str = "changes_go_where_they_are_sent_and_a_tar_file_is_the_same_root";
    let Some((lab, folder)) = lab_with_root(NAME) else { return };
    // The files belong to the user who runs this test, and to root in the guest.
    let tar = lab.fixture.path().join("root.tar");
    let mut pack = Command::new("tar");
    pack.args(["--owner=0", "--group=0", "-cf"]).arg(&tar).arg("-C").arg(&folder).arg(".");
    assert!(pack.status().unwrap().success());
    let hash = |bytes: &[u8]| {
        let run = model::Run::parse(bytes).unwrap();
        run.header.unwrap().environment["vm_root_blake3"].clone()
    };
    let settings = format!("root={},root.files=memory,root.changes=disk", folder.display());
    let in_memory = bytes(&lab, &settings, "memory", SCRIPT);
    let settings = format!("root={},root.changes=memory", tar.display());
    let on_disk = bytes(&lab, &settings, "disk", SCRIPT);
    assert!(hash(&in_memory) == hash(&on_disk), "not the same root");
}
