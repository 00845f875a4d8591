//! Bisections of kernels from source. The makefile of this source copies the kernel of all tests
//! instead of compiling one, so that all of it but the compiler is tried.

use std::fs;
use std::path::Path;

use crate::lab::Lab;
use crate::skip::skip;

const MAKEFILE: &str = "\
FROM := $(shell cat from)
RELEASE := $(notdir $(wildcard $(FROM)/lib/modules/*))
localmodconfig olddefconfig:\n\t@:
bzImage:\n\tmkdir -p $(O)/arch/x86/boot $(O)/include/config
\tcp $(FROM)/boot/vmlinuz-$(RELEASE) $(O)/arch/x86/boot/bzImage
\techo $(RELEASE) > $(O)/include/config/kernel.release
\tcp $(FROM)/lib/modules/$(RELEASE)/modules.builtin* $(O)
modules:\n\tcp -r $(FROM)/lib/modules/$(RELEASE)/kernel $(O)
";

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn patch(from: &str, to: &str) -> String {
    format!("--- a/state\n+++ b/state\n@@ -1 +1 @@\n-{from}\n+{to}\n")
}

#[test]
fn kernels_are_built_from_a_series_and_equal_ones_are_equal() {
    const NAME: &str = "kernels_are_built_from_a_series_and_equal_ones_are_equal";
    let Some(lab) = Lab::new(NAME) else { return };
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1.to_owned();
    let lab = lab.with_own_cache();
    let folder = lab.fixture.path();
    let config = lab.command(&["vm", "kernels", &kernel, "--json"]);
    let facts: serde_json::Value = serde_json::from_str(&config.stdout).unwrap();
    let image = facts[0]["image"].as_str().unwrap_or_else(|| panic!("{facts}"));
    let unpacked = Path::new(image).ancestors().nth(2).unwrap().to_str().unwrap();
    let files = [("Kbuild", ""), ("Makefile", MAKEFILE), ("from", unpacked), ("state", "one\n")];
    write(&folder.join("source"), &files);
    let patches = [("series", "a.patch\nb.patch\n"), ("a.patch", &patch("one", "two"))];
    write(&folder.join("patches"), &patches);
    write(&folder.join("patches"), &[("b.patch", &patch("two", "three"))]);
    let subject = format!("subject=vm:{machine}");
    let mut arguments = vec!["bisect", "--kernel-patches", "source", "patches", "--seeds", "1"];
    arguments.extend(["--config", &kernel, "--output", "output"]);
    for setting in [&subject, "load=noload", "points=2", "interval=200ms"] {
        arguments.extend(["--set", setting]);
    }
    let finished = lab.command(&arguments);
    if finished.stderr.contains("apt-get install") {
        return skip(NAME, "a program that kernels are built with is not installed");
    }
    finished.expect(1, &["building kernel source", "building kernel b.patch"]);
    let said = "Nothing changed along kernel (2 measurements of 3 steps)";
    assert!(finished.stdout.contains(said), "{finished:#?}");
    assert!(!finished.stderr.contains("building kernel a.patch"), "{finished:#?}");
    // The last one cannot be built: an end, so there is no answer.
    write(&folder.join("patches"), &[("b.patch", &patch("two", "three").replace("state", "from"))]);
    write(&folder.join("source"), &[("from", "two\n")]);
    let finished = lab.command(&arguments);
    finished.expect(3, &["kernel source, an end of the axis, cannot be measured: does not build"]);
}
