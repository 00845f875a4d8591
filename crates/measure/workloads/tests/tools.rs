//! Every tool on the corpus of a user, as the default script calls it.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use workloads::{DEFAULT_SCRIPT, arguments, fill, parse_script, run_tool, tool_names};

/// Issues all commands of the default script with our own tools; what they printed.
fn issue_all(dir: &Path, order: impl Iterator<Item = usize>) -> Vec<(usize, String)> {
    let script = parse_script(DEFAULT_SCRIPT).unwrap();
    let mut said = Vec::new();
    for index in order {
        let words = arguments(&script, dir, 0, &script.commands[index].builtin);
        let mut out = Vec::new();
        run_tool(&words[0], &words[1..], &mut out).unwrap();
        said.push((index, String::from_utf8(out).unwrap()));
    }
    said
}

/// A folder with the corpus of a seed.
fn corpus(seed: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), seed, 0).unwrap();
    dir
}

#[test]
fn every_command_can_be_issued_in_any_order_and_again() {
    let dir = corpus(1);
    let first = issue_all(dir.path(), 0..16);
    let mut again = issue_all(dir.path(), (0..16).rev());
    again.reverse();
    assert_eq!(first, again, "what a command does depends on no other");
    let backwards = corpus(1);
    issue_all(backwards.path(), (0..16).rev());
    for made in [
        "edited.txt",
        "program.o",
        "linked",
        "printed.txt",
        "sorted.txt",
        "archive.tar",
        "report.txt.gz",
        "differences.txt",
        "copied/a7/b11.txt",
    ] {
        let bytes = |dir: &Path| fs::read(dir.join(made)).unwrap();
        assert!(!bytes(dir.path()).is_empty(), "{made}");
        assert!(bytes(dir.path()) == bytes(backwards.path()), "{made} differs");
    }
    assert!(!dir.path().join("doomed").exists());
}

#[test]
fn results_are_what_they_say() {
    let dir = corpus(2);
    let said = issue_all(dir.path(), 0..16);
    let path = |name: &str| dir.path().join(name);
    let text = |name: &str| fs::read_to_string(path(name)).unwrap();

    let mut lines: Vec<String> = text("text/words.txt").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(text("sorted.txt").lines().collect::<Vec<_>>(), lines);

    let mut unpacked = String::new();
    let packed = fs::File::open(path("report.txt.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut unpacked)
        .unwrap();
    assert_eq!(unpacked, text("text/report.txt"));

    let mut archive = tar::Archive::new(fs::File::open(path("archive.tar")).unwrap());
    let names: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert_eq!(names.len(), 8 * 12 + 3);
    assert!(names.contains(&"tree/a0/b00.txt".to_owned()), "{names:?}");

    assert_eq!(text("copied/a3/b05.txt"), text("tree/a3/b05.txt"));
    let mode = fs::metadata(path("tree/a0/b00.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    let all: String = said.into_iter().map(|(_, text)| text).collect();
    let hash = blake3::hash(text("text/words.txt").as_bytes()).to_hex().to_string();
    assert!(all.contains(&hash));
}

#[test]
fn a_tool_with_wrong_arguments_says_which_are_right() {
    for name in tool_names() {
        let error = run_tool(name, &[], &mut Vec::new()).unwrap_err();
        assert!(error.starts_with(&format!("usage: {name} ")), "{error}");
    }
    let error = run_tool("fly", &[], &mut Vec::new()).unwrap_err();
    assert_eq!(error, "no tool is named \"fly\"");
    let words = ["/no/such".to_owned(), "/no/result".to_owned()];
    let error = run_tool("sort", &words, &mut Vec::new()).unwrap_err();
    assert!(error.starts_with("read /no/such: "), "{error}");
}
