//! Any bytes are a module, or refused; what is read has no empty names.
#![no_main]

use kernels::Modinfo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut found = vec![Modinfo::parse(bytes)];
    found.extend(Modinfo::from_elf(bytes));
    for modinfo in found {
        let names = [modinfo.depends, modinfo.soft_before, modinfo.soft_after].concat();
        assert!(names.iter().all(|name| !name.is_empty()));
    }
});
