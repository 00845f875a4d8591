//! What a description of a machine must hold to.

use super::*;

const SPARCSTATION1: &str = include_str!("../machines/sparcstation1.toml");

#[test]
fn a_description_is_read_with_what_follows_from_it() {
    let machine = Machine::parse(SPARCSTATION1).unwrap();
    assert_eq!((machine.ptes_per_pmeg(), machine.cycles_ns(21)), (64, 1050));
    assert_eq!(machine.flush_cycles(), 4096 * machine.cache.unwrap().flush_cycles);
}

#[test]
fn what_contradicts_itself_is_refused_where_it_stands() {
    let refused = |from: &str, to: &str| {
        assert!(SPARCSTATION1.contains(from), "{from}");
        let text = SPARCSTATION1.replace(from, to);
        let error = Machine::parse(&text).unwrap_err();
        let line = text.lines().nth(error.line - 1).unwrap();
        assert!(
            line.chars()
                .skip(error.column - 1)
                .collect::<String>()
                .starts_with(to.rsplit(' ').next().unwrap()),
            "{error}: {line}"
        );
        error.reason
    };
    assert!(refused("contexts = 8", "contexts = 1").contains("kernel"));
    assert!(refused("reserved_pmegs = 36", "reserved_pmegs = 128").contains("leave none"));
    assert!(refused("page_bytes = 4096", "page_bytes = 2048").contains("power of two"));
    assert!(refused("line_bytes = 16", "line_bytes = 48").contains("does not divide"));
    assert!(refused("kind = \"sun4\"", "kind = \"tlb\"").contains("sun4"));
}

#[test]
fn an_unknown_field_is_refused() {
    let text = SPARCSTATION1.replace("[mmu]", "[mmu]\nwings = 2");
    let error = Machine::parse(&text).unwrap_err();
    assert!(error.reason.contains("wings"), "{error}");
    assert_eq!(error.column, 1);
}

#[test]
fn every_shipped_machine_is_read() {
    for (name, text) in crate::MACHINES {
        let machine = Machine::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(machine.mmu.pmegs > machine.mmu.reserved_pmegs, "{name}");
    }
}
