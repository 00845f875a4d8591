//! Any text is the description of a machine to simulate, or refused at a place that it has; a
//! machine with TLBs takes references.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmu::Machine;
use mmu::tlb::{Options, Simulator};

fuzz_target!(|text: &str| {
    match Machine::parse(text) {
        Ok(Machine::Tlb(machine)) => {
            for virtualized in [false, true] {
                let options = Options { virtualized, ..Options::default() };
                let mut simulator = Simulator::new(&machine, &options).expect("defaults fit");
                simulator.pages(&[0, 1, 0, 1 << 30]);
                simulator.fetch(1);
                assert_eq!(simulator.outcome().references, 5);
            }
        }
        Ok(Machine::Sun4(_)) => {}
        Err(error) => {
            assert!(!error.reason.is_empty());
            assert!((1..=text.lines().count() + 1).contains(&error.line));
            assert!(error.column >= 1);
        }
    }
});
