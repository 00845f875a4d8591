//! Builds a plugin that QEMU loads, to be embedded; the build scripts of its hosts include this file.
//!
//! It is a program for another process than this one's, so none of this build's flags hold for it:
//! a static `thrashlab` has a plugin that is a shared library all the same. As it depends on no
//! crate, `rustc` alone builds it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of what plugins share, this file too, from any crate.
const SHARED: &str = "../../simulate/trace-plugin";

/// Builds the plugin of this crate, as a file with the crate's name. It includes `others` by their
/// paths.
pub(crate) fn build(name: &str, others: &[&str]) {
    let plugin = PathBuf::from("..").join(name).join("src");
    let others = others.iter().map(AsRef::as_ref);
    for folder in others.chain([Path::new(SHARED), &plugin]) {
        assert!(folder.exists(), "no {}: cargo would run this at each build", folder.display());
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let name = name.replace('-', "_");
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let built = PathBuf::from(variable("OUT_DIR")).join(format!("{name}.so"));
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", &name])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "panic=abort"])
        .args(["-C", "strip=symbols", "--cap-lints", "allow", "--target"])
        .arg(variable("TARGET"))
        .arg("-o")
        .arg(&built)
        .arg(plugin.join("lib.rs"));
    // Set where the target is another architecture than this machine's.
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    match rustc.status() {
        Ok(status) if status.success() => {}
        outcome => panic!("rustc could not build the plugin ({outcome:?}): {rustc:?}"),
    }
}
