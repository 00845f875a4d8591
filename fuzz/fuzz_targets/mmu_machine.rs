//! Any text is the description of a machine to simulate, or refused at a place that it has; a
//! machine with TLBs takes references.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmu::tlb::{Machine, Options, Simulator};

fuzz_target!(|text: &str| {
    let refused = [sun4::Machine::parse(text).err(), Machine::parse(text).err()];
    for error in refused.into_iter().flatten() {
        assert!(!error.reason.is_empty());
        assert!((1..=text.lines().count() + 1).contains(&error.line));
        assert!(error.column >= 1);
    }
    if let Ok(machine) = Machine::parse(text) {
        for virtualized in [false, true] {
            let options = Options { virtualized, ..Options::default() };
            let mut simulator = Simulator::new(&machine, &options).expect("defaults fit");
            for (page, fetch) in [(0, false), (1, false), (0, false), (1 << 30, false), (1, true)] {
                simulator.runs(&[trace::PageRun { page, count: 1, fetch, written: false }]);
            }
            assert_eq!(simulator.outcome().references, 5);
        }
    }
});
