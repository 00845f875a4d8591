//! Any text is a machine description or settings of one, or refused; a machine that was read fits
//! together and survives the run file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::MachineSpec;
use vm::{parse_description, parse_request};

fuzz_target!(|text: &str| {
    match parse_description("fuzzed", text) {
        Ok(description) => check(&description.machine),
        Err(why) => assert!(!why.is_empty()),
    }
    match parse_request(text) {
        Ok(request) => {
            check(&request.machine);
            assert!(request.sandbox.is_none_or(|sandbox| sandbox.memory_bytes > 0));
        }
        Err(why) => assert!(!why.is_empty()),
    }
});

fn check(machine: &MachineSpec) {
    assert!(machine.ram_bytes() >= machine.memory_bytes + machine.disk.size_bytes);
    assert!(machine.disk.size_bytes > machine.swap_bytes);
    let text = serde_json::to_string(machine).expect("a machine is plain words");
    let again: MachineSpec = serde_json::from_str(&text).expect("what was written reads");
    assert_eq!(again, *machine);
}
