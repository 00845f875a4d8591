//! Builds the plugin that QEMU loads, to be embedded.
//!
//! It is a program for another process than this one's, so none of this build's flags hold for it:
//! a static `thrashlab` has a plugin that is a shared library all the same. As it depends on no
//! crate, `rustc` alone builds it.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let plugin = PathBuf::from("../profile-plugin/src");
    println!("cargo::rerun-if-changed={}", plugin.display());
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let built = PathBuf::from(variable("OUT_DIR")).join("profile_plugin.so");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "profile_plugin"])
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
