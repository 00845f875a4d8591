//! Sources, series and builds, of a source whose makefile stands for that of a kernel.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kernel_build::{
    BuildControl, BuildError, Git, KernelBuilder, KernelState, SourceHistory, commit,
};

#[path = "../../../../tests/skip.rs"]
mod skip;

const CONFIG: &str = "CONFIG_X86_64=y\nCONFIG_SOUND=y\n";
/// Its image is its file `image`, and its configuration what was written.
const MAKEFILE: &str = "\
localmodconfig olddefconfig:\n\t@test -f $(O)/.config && test -f source.c
bzImage:\n\tmkdir -p $(O)/arch/x86/boot $(O)/include/config
\tcc -c -o $(O)/source.o source.c
\tcp image $(O)/arch/x86/boot/bzImage
\techo 6.1.0-made > $(O)/include/config/kernel.release
\techo kernel/fs/ext4/ext4.ko > $(O)/modules.builtin
modules:\n\tmkdir -p $(O)/fs && echo module > $(O)/fs/one.ko
";

/// A folder with two sources: the second has another image, a file more, and one less.
struct Sources(tempfile::TempDir);

impl Sources {
    /// For this test; `None`, which is noted, without git.
    fn new(test: &str) -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            skip::skip(test, "git is not installed");
            return None;
        }
        let sources = Self(tempfile::tempdir().unwrap());
        for (name, image) in [("first", "slow"), ("second", "fast")] {
            let folder = sources.path(name);
            fs::create_dir_all(folder.join("mm")).unwrap();
            let files = [("Makefile", MAKEFILE), ("Kbuild", ""), ("source.c", "int one;\n")];
            for (file, text) in files.into_iter().chain([("image", image)]) {
                fs::write(folder.join(file), text).unwrap();
            }
        }
        fs::write(sources.path("first/mm/old.c"), "old\n").unwrap();
        fs::write(sources.path("second/mm/new.c"), "new\n").unwrap();
        Some(sources)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The states from the first source along a series.
    fn series(&self, series: &str) -> Result<SourceHistory, BuildError> {
        let (first, series) = (self.text("first"), self.text(series));
        with_control(&|| false, |control| {
            SourceHistory::of_series(&first, &series, &self.path("cache"), control)
        })
    }

    fn write_patch(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path("patches")).unwrap();
        fs::write(self.path("patches").join(name), text).unwrap();
    }
}

fn with_control<T>(
    stop: &dyn Fn() -> bool,
    work: impl FnOnce(&mut BuildControl<'_>) -> Result<T, BuildError>,
) -> Result<T, BuildError> {
    let agent = instrument::program().unwrap();
    work(&mut BuildControl { agent, stop, say: &mut |_| {} })
}

fn names(history: &SourceHistory) -> Vec<&str> {
    history.states.iter().map(|state| state.name.as_str()).collect()
}

/// A file of a commit, if it has it.
fn file(history: &SourceHistory, commit: &str, path: &str) -> Option<String> {
    let of = format!("{commit}:{path}");
    Some(Git::at(&history.repository).lines(&["show", &of]).ok()?.join("\n"))
}

fn patch(file: &str, from: &str, to: &str) -> String {
    format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{from}\n+{to}\n")
}

#[test]
fn the_files_of_two_sources_are_states_in_the_order_of_their_paths() {
    const NAME: &str = "the_files_of_two_sources_are_states_in_the_order_of_their_paths";
    let Some(sources) = Sources::new(NAME) else { return };
    let history = sources.series("second").unwrap();
    assert_eq!(names(&history), ["source", "image", "mm/new.c", "mm/old.c"]);
    let at = |state: usize, path| file(&history, &history.states[state].commit, path);
    assert_eq!([0, 1].map(|state| at(state, "image").unwrap()), ["slow", "fast"]);
    assert_eq!((at(1, "mm/new.c"), at(2, "mm/new.c")), (None, Some("new".to_owned())));
    assert_eq!((at(2, "mm/old.c"), at(3, "mm/old.c")), (Some("old".to_owned()), None));
    let without = history.last_without(1, &sources.path("cache")).unwrap().unwrap();
    assert_eq!(file(&history, &without.commit, "image").as_deref(), Some("slow"));
    assert_eq!(file(&history, &without.commit, "mm/new.c").as_deref(), Some("new"));
    assert_eq!(sources.series("second").unwrap(), history, "the same hashes again");
    assert!(!sources.path("first/.git").exists(), "the source is not written to");
    let error = sources.series("first").unwrap_err().to_string();
    assert!(error.contains("nothing changes"), "{error}");
}

#[test]
fn patches_are_applied_one_by_one_and_one_that_does_not_fit_is_named() {
    const NAME: &str = "patches_are_applied_one_by_one_and_one_that_does_not_fit_is_named";
    let Some(sources) = Sources::new(NAME) else { return };
    sources.write_patch("one.patch", &patch("source.c", "int one;", "int two;"));
    sources.write_patch("two.patch", &patch("source.c", "int two;", "int three;"));
    sources.write_patch("series", "# the order\none.patch\n\ntwo.patch # last\n");
    let history = sources.series("patches").unwrap();
    assert_eq!(names(&history), ["source", "one.patch", "two.patch"]);
    let last = &history.states[2].commit;
    assert_eq!(file(&history, last, "source.c").as_deref(), Some("int three;"));
    let without = history.last_without(1, &sources.path("cache")).unwrap();
    assert_eq!(without, None, "the second is made on top of the first");
    assert_eq!(sources.series("patches/series").unwrap(), history);
    sources.write_patch("series", "two.patch\n");
    let error = sources.series("patches").unwrap_err().to_string();
    assert!(error.contains("two.patch of") && error.contains("does not apply"), "{error}");
    sources.write_patch("series", "three.patch\n");
    assert!(sources.series("patches").unwrap_err().to_string().contains("three.patch"));
}

#[test]
fn what_is_no_source_is_refused_with_what_is() {
    const NAME: &str = "what_is_no_source_is_refused_with_what_is";
    let Some(sources) = Sources::new(NAME) else { return };
    let refused = |text: &str| {
        let folder = sources.path("cache");
        let made =
            with_control(&|| false, |control| SourceHistory::of_source(text, &folder, control));
        made.unwrap_err().to_string()
    };
    assert!(refused(&sources.text("none")).contains("deb:NAME"));
    assert!(refused(&sources.text("first/mm")).contains("it has no Kbuild"));
    fs::write(sources.path("first/.config"), CONFIG).unwrap();
    assert!(refused(&sources.text("first")).contains("make mrproper"));
    fs::write(sources.path("broken.tar.xz"), "no archive").unwrap();
    assert!(refused(&sources.text("broken.tar.xz")).contains("broken.tar.xz: "));
    assert!(fs::read_dir(sources.path("cache/sources")).unwrap().next().is_none());
}

#[test]
fn an_archive_is_unpacked_once() {
    const NAME: &str = "an_archive_is_unpacked_once";
    let Some(sources) = Sources::new(NAME) else { return };
    let archive = sources.text("source.tar");
    let mut tar = Command::new("tar");
    tar.args(["-cf", &archive, "-C", &sources.text("."), "second"]);
    assert!(tar.status().unwrap().success());
    let history = sources.series("source.tar").unwrap();
    assert_eq!(names(&history), ["source", "image", "mm/new.c", "mm/old.c"]);
    assert_eq!(sources.series("source.tar").unwrap(), history);
    assert_eq!(fs::read_dir(sources.path("cache/sources")).unwrap().count(), 1);
}

#[test]
fn a_range_of_commits_has_its_good_end_and_their_first_lines() {
    const NAME: &str = "a_range_of_commits_has_its_good_end_and_their_first_lines";
    let Some(sources) = Sources::new(NAME) else { return };
    let folder = sources.path("first");
    let git = |arguments: &[&str]| {
        let name = ["-c", "user.name=n", "-c", "user.email=e"];
        Git::at(&folder).lines(&[&name[..], arguments].concat()).unwrap()
    };
    git(&["init", "--quiet"]);
    for subject in
        ["one: begin", "two: a line of more than forty-eight characters, which is cut", "three"]
    {
        fs::write(folder.join("source.c"), format!("int {};", &subject[..3])).unwrap();
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", subject]);
    }
    let history = SourceHistory::of_git(&folder, "HEAD~2..HEAD").unwrap();
    let subjects: Vec<&str> = names(&history).iter().map(|name| &name[13..]).collect();
    assert_eq!(subjects.len(), 3);
    assert!(subjects[0] == "one: begin" && subjects[1].ends_with("characters,"), "{subjects:?}");
    assert_eq!(history.states[2].commit, commit(&folder, "HEAD").unwrap());
    // A function's part is divided among the changes that name it, whole words only.
    let likely = history.likely(&[("thr".to_owned(), 0.6), ("in".to_owned(), 0.4)]).unwrap();
    let from_afar = 0.1 / 3.0;
    let expected = [from_afar, from_afar, from_afar + 0.6];
    let is_near = |(value, expected): (&f64, f64)| (value - expected).abs() < 1e-12;
    assert!(likely.iter().zip(expected).all(is_near), "{likely:?}");
    for range in ["HEAD", "none..HEAD", "HEAD..HEAD"] {
        assert!(SourceHistory::of_git(&folder, range).is_err(), "{range}");
    }
}

/// A builder, unless a program is missing that builds need.
fn builder(test: &str, history: &SourceHistory, cache: &Path) -> Option<KernelBuilder> {
    match KernelBuilder::new(&history.repository, CONFIG, &["ext4".to_owned()], cache) {
        Ok(builder) => Some(builder),
        Err(BuildError::Unusable(why)) if why.contains("apt-get install") => {
            skip::skip(test, "a program that kernels are built with is not installed");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn each_state_is_built_once_and_a_broken_one_says_why() {
    const NAME: &str = "each_state_is_built_once_and_a_broken_one_says_why";
    let Some(sources) = Sources::new(NAME) else { return };
    sources.write_patch("a.patch", &patch("source.c", "int one;", "int one"));
    sources.write_patch("b.patch", &patch("source.c", "int one", "int one;"));
    sources.write_patch("series", "a.patch\nb.patch\n");
    let history = sources.series("patches").unwrap();
    let cache = sources.path("kernels");
    let Some(builder) = builder(NAME, &history, &cache) else { return };
    let state = |index: usize| KernelState::of(&history.states[index]);
    let build =
        |index: usize| with_control(&|| false, |control| builder.build(&state(index), control));
    let built = build(0).unwrap();
    assert_eq!(built, builder.place(&state(0)));
    assert_eq!(fs::read_to_string(built.join("boot/vmlinuz-6.1.0-made")).unwrap(), "slow");
    let config = fs::read_to_string(built.join("boot/config-6.1.0-made")).unwrap();
    assert!(config.contains("# CONFIG_SOUND is not set\n"), "{config}");
    let modules = built.join("lib/modules/6.1.0-made");
    assert!(
        modules.join("kernel/fs/one.ko").is_file() && modules.join("modules.builtin").is_file()
    );
    match build(1).unwrap_err() {
        BuildError::Broken(why) => {
            assert!(why.contains("source.c:1:") && why.contains("error"), "{why}")
        }
        other => panic!("{other}"),
    }
    let same_files = build(2).unwrap();
    assert_eq!(same_files, built, "the second patch undoes the first");
    fs::remove_dir_all(sources.path("first")).unwrap();
    assert_eq!(build(0).unwrap(), built, "it is kept");
}

#[test]
fn a_stopped_build_leaves_no_process() {
    const NAME: &str = "a_stopped_build_leaves_no_process";
    let Some(sources) = Sources::new(NAME) else { return };
    let mark = format!("3{}", std::process::id());
    let slow = format!("{MAKEFILE}\nbzImage: wait\nwait:\n\tsleep {mark}\n");
    fs::write(sources.path("first/Makefile"), slow).unwrap();
    let history = sources.series("second").unwrap();
    let Some(builder) = builder(NAME, &history, &sources.path("kernels")) else { return };
    let is_running = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let mut lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let wanted = format!("sleep\0{mark}\0");
        lines.any(|line| line == wanted.as_bytes())
    };
    let was_seen = Cell::new(false);
    let stop = || {
        was_seen.set(was_seen.get() || is_running());
        was_seen.get()
    };
    let state = KernelState::of(&history.states[0]);
    let stopped = with_control(&stop, |control| builder.build(&state, control));
    assert!(matches!(stopped, Err(BuildError::Interrupted)), "{stopped:?}");
    let has_ended = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !is_running()
    });
    assert!(has_ended, "the program that make started goes on");
}
