//! Any bytes are a file of the profile's plugin or none; a recording that was read sums to what the
//! emulator counted, which its reader checks. They are the content of programs, too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use profile::{CallStacks, Profile, Recording, Responses, Symbols};

/// The smallest symbols, as a guest prints them.
const SYMBOLS: &[u8] = b"clock 1 1\nclock 2 2\nrealtime 0\n1000 T entry_SYSCALL_64\nend\n";

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::parse(bytes) else {
        return;
    };
    let symbols = Symbols::parse(SYMBOLS).unwrap();
    // One time, that of a run without responses.
    if let Ok(profile) = Profile::new(recording, None, symbols, Responses::default(), 0, &|_| Some(bytes.to_vec())) {
        let counts = profile.select(&profile::Selection::Run);
        let own: u64 = profile.functions(&counts).iter().map(|function| function.own).sum();
        assert_eq!(own, counts.total);
        assert!(counts.total <= profile.instructions());
    }
});
