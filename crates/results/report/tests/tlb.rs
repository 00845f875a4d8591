//! A run on TLBs is printed whole.

use mmu::tlb::{Machine, Options, Simulator};
use render::plain_text;
use report::{TlbRun, tlb_document};
use trace::{Event, PageRun};

/// Two processes of a virtual machine by turns: code, data, a page that is unmapped.
fn text(set: &[(&str, &str)]) -> String {
    let (_, description) =
        mmu::tlb::MACHINES.iter().find(|(name, _)| *name == "tiny").expect("it is shipped");
    let machine = Machine::parse(description).expect("it reads");
    let mut options = Options::default();
    let mut told = Vec::new();
    for (name, value) in set {
        options.set(name, value).expect("it is an option");
        told.push(format!("{name}={value}"));
    }
    let mut simulator = Simulator::new(&machine, &options).expect("they fit");
    for turn in 0..2000u64 {
        simulator.switch((turn % 2) as u32, 0);
        for page in [turn % 7, 100 + turn % 3, turn * turn % 41] {
            simulator.runs(&[PageRun { page, count: 50, fetch: false, written: true }]);
        }
        simulator.runs(&[PageRun { page: 1 << 30, count: 70, fetch: true, written: false }]);
        if turn % 100 == 0 {
            simulator.event(&Event::Unmap { address: 0x3000, length_bytes: 4096 });
        }
    }
    let outcome = simulator.outcome();
    let run = TlbRun {
        machine: &machine.about,
        subject: "turns.tlt",
        set: &told,
        bad_records: 0,
        complete: true,
        outcome: &outcome,
    };
    plain_text(&tlb_document(&run))
}

#[test]
fn a_run_on_bare_metal() {
    insta::assert_snapshot!(text(&[]));
}

#[test]
fn a_run_in_a_virtual_machine_with_prefetches() {
    insta::assert_snapshot!(text(&[("virtualized", "yes"), ("prefetch", "next-page")]));
}
