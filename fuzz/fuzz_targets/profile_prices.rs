//! Any bytes are a file of the plugin on translations or none; prices that were read sum to the
//! simulator's counts, which their reader checks.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mmu::tlb::{MACHINES, Machine};
use profile::{Prices, Profile, Recording, Responses, Selection, Symbols};

static RECORDING: LazyLock<Recording> =
    LazyLock::new(|| Recording::parse(include_bytes!("../seeds/profile_counts/written")).unwrap());
static MACHINE: LazyLock<Machine> = LazyLock::new(|| Machine::parse(MACHINES[3].1).unwrap());
/// The smallest symbols, as a guest prints them.
const SYMBOLS: &[u8] = b"clock 1 1\nclock 2 2\nrealtime 0\n1000 T entry_SYSCALL_64\nend\n";

fuzz_target!(|bytes: &[u8]| {
    let Ok(prices) = Prices::parse(bytes, &MACHINE, &RECORDING) else {
        return;
    };
    let symbols = Symbols::parse(SYMBOLS).unwrap();
    let responses = Responses { end_ns: 200, cuts_ns: vec![80], ..Responses::default() };
    let recording = RECORDING.clone();
    if let Ok(profile) = Profile::new(recording, Some(prices), symbols, responses, 0, &|_| None) {
        let all = profile.price_of(&Selection::Run);
        let functions = profile.function_prices(&Selection::Run);
        let walks: u64 = functions.iter().map(|function| function.own.walks).sum();
        assert_eq!(walks, all.walks);
    }
});
