//! Machines and counts as numbers.

use super::data;
use crate::tlb::{MACHINES, Machine, Options, Outcome, Simulator};

#[test]
fn a_machine_and_its_counts_survive_their_numbers() {
    for (name, text) in MACHINES {
        let machine = Machine::parse(text).unwrap();
        let words = machine.words();
        let read = Machine::of_words(words.iter().copied()).unwrap();
        assert_eq!(read.words(), words, "{name}");
        for length in 0..words.len() {
            assert_eq!(Machine::of_words(words[..length].iter().copied()), None, "{name}");
        }
        let outcomes = [&machine, &read].map(|machine| {
            let mut simulator = Simulator::new(machine, &Options::default()).unwrap();
            simulator.runs(&data(&[1, 2, 3, 900, 1]));
            simulator.outcome()
        });
        let numbers = outcomes[1].numbers();
        let copy = Outcome::with_numbers(&machine, numbers.into_iter()).unwrap();
        assert_eq!(copy, outcomes[0], "{name}");
    }
}
