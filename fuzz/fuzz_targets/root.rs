//! Any bytes are a root or refused; in its archive a directory precedes what is in it.
#![no_main]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, cache) = (folder.path().join("root.tar"), folder.path().join("cache"));
    fs::write(&file, bytes).expect("room for a file");
    match roots::prepare(&file.display().to_string(), model::Architecture::X86_64, &cache, &mut |_| {}, &|| false) {
        Err(error) => assert!(error.to_string().contains("root.tar"), "{error}"),
        Ok(root) => check(&root.archive),
    }
});

fn check(archive: &Path) {
    let mut folders = BTreeSet::from([PathBuf::new()]);
    let mut archive = tar::Archive::new(File::open(archive).expect("the archive"));
    for entry in archive.entries().expect("entries") {
        let entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{path:?}");
        assert!(folders.contains(path.parent().expect("a parent")), "{path:?}");
        if entry.header().entry_type().is_dir() {
            folders.insert(path);
        }
    }
}
