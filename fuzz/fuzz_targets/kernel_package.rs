//! Any bytes are a package, a kernel image or a configuration, or refused; no path leads out.
#![no_main]

use std::path::Component;

use kernels::{ConfigFacts, ImageFacts, has_pvh_entry, visit_package, vmlinux};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let visited = visit_package(bytes, &mut |path, file| {
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{path:?}");
        std::io::copy(file, &mut std::io::sink()).map(drop)
    });
    if let Err(error) = visited {
        assert!(!error.to_string().is_empty());
    }
    if let Ok(facts) = ImageFacts::parse(bytes) {
        assert!(facts.version_text.is_none_or(|text| !text.is_empty()));
    }
    if let Ok(inside) = vmlinux(bytes) {
        let again = vmlinux(&inside).expect("a vmlinux has itself inside");
        assert_eq!(again, inside);
        let _ = has_pvh_entry(&inside);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = ConfigFacts::parse(text).missing;
    }
});
