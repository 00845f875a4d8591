//! The claims of 1990 about machines with several users hold on the simulated ones. The figures
//! that the tests print are those of `docs/mmu-mixes.md`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stdout, reason = "the figures of the documentation are printed here")]

use jobs::{MemoryJob, VmtestPlan};
use sun4::{MACHINES, MIXES, Machine, Mix, Outcome, Setup, System, Workload, simulate};

fn setup(machine: &str, hat: &str, changes: &[(&str, &str)]) -> Setup {
    let (_, text) = MACHINES.iter().find(|(name, _)| *name == machine).unwrap();
    let mut setup = Setup::new(Machine::parse(text).unwrap(), System::named(hat).unwrap());
    for (name, value) in changes {
        setup.set(name, value).unwrap();
    }
    setup
}

fn text(mix: &str) -> &'static str {
    MIXES.iter().find(|(name, _)| *name == mix).unwrap().1
}

fn run_text(text: &str, machine: &str, hat: &str, changes: &[(&str, &str)]) -> Outcome {
    let workload = Workload::Mix(Mix::parse(text).unwrap());
    let outcome = simulate(&setup(machine, hat, changes), &workload, 1);
    println!(
        "{:12} {machine:14} {hat} {changes:?}: elapsed {:.1} s, user {:.1}, system {:.1}, idle \
         {:.1}; {} faults, {} steals, {} loads, {} swap-ins, {} switches; median {:.0} ms, 95th {:.0} ms",
        text.lines().find(|line| line.starts_with("name")).unwrap(),
        s(outcome.elapsed_ns),
        s(outcome.user_ns),
        s(outcome.system_ns),
        s(outcome.idle_ns),
        outcome.translation_faults,
        outcome.steals,
        outcome.loads,
        outcome.swap_ins,
        outcome.context_switches,
        s(outcome.response_ns(50).unwrap()) * 1e3,
        s(outcome.response_ns(95).unwrap()) * 1e3,
    );
    outcome
}

fn run(mix: &str, hat: &str, changes: &[(&str, &str)]) -> Outcome {
    run_text(text(mix), "sparcstation1", hat, changes)
}

fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// More pmegs than anything here needs.
const ENOUGH: &[(&str, &str)] = &[("pmegs", "4096")];

#[test]
fn static_libraries_save_pmegs_where_many_processes_use_large_ones() {
    let shared = run("xterms", "old", &[]);
    let linked = run("xterms", "old", &[("libraries", "static")]);
    assert!(2 * linked.steals < shared.steals);
    assert!(linked.system_ns < shared.system_ns);
    assert!(linked.response_ns(95) < shared.response_ns(95));
    // "The libraries have to be reasonably large for you to gain any benefit".
    let shared = run("shells", "old", &[]);
    let linked = run("shells", "old", &[("libraries", "static")]);
    assert!(shared.elapsed_ns.abs_diff(linked.elapsed_ns) < shared.elapsed_ns / 20);
}

#[test]
fn sharing_pmegs_helps_where_processes_map_the_same() {
    let own = run("database", "old", &[]);
    let shared = run("database", "old", &[("sharing", "on")]);
    assert!(10 * shared.steals < own.steals);
    assert!(5 * shared.system_ns < own.system_ns);
    // Shared text is some of what xterms have, but not most.
    let own = run("xterms", "old", &[]);
    let shared = run("xterms", "old", &[("sharing", "on")]);
    assert!(shared.steals < own.steals && 4 * shared.steals > own.steals);
}

#[test]
fn not_swapping_eagerly_answers_sooner() {
    for mix in ["xterms", "database"] {
        let eager = run(mix, "old", &[]);
        for swapping in ["soft", "off"] {
            let without = run(mix, "old", &[("swapping", swapping)]);
            assert!(without.swap_ins * 10 < eager.swap_ins, "{mix} {swapping}");
            assert!(without.system_ns < eager.system_ns, "{mix} {swapping}");
            assert!(without.response_ns(50) < eager.response_ns(50), "{mix} {swapping}");
        }
    }
}

#[test]
fn clocks_and_load_meters_cost_pmegs_and_switches() {
    let all = text("xterms");
    let clocks = all.find("[[processes]]\nname = \"xclock\"").unwrap();
    let (with, without) = (
        run_text(all, "sparcstation1", "old", &[]),
        run_text(&all[..clocks], "sparcstation1", "old", &[]),
    );
    assert!(2 * without.steals < with.steals);
    assert!(2 * without.context_switches < with.context_switches);
    assert!(without.response_ns(95) < with.response_ns(95));
}

#[test]
fn a_sparse_lisp_stays_slow_with_the_new_system_but_far_from_what_was() {
    let old = run("lisp", "old", &[]);
    let new = run("lisp", "new", &[]);
    let enough = run("lisp", "new", ENOUGH);
    assert!(new.elapsed_ns < old.elapsed_ns);
    let slower = s(new.elapsed_ns) / s(enough.elapsed_ns);
    let plan = VmtestPlan {
        process_bytes: 2 << 20,
        processes: 16,
        step_bytes: 4096,
        loops: 0,
        look_ns: 40_000_000,
        time_ns: 0,
        calibrated_processes: 16,
        limit_ns: 0,
    };
    let vmtest = Workload::of_job(&MemoryJob::Vmtest(plan)).unwrap();
    let elapsed =
        |changes| simulate(&setup("sparcstation1", "old", changes), &vmtest, 1).elapsed_ns;
    let was = s(elapsed(&[])) / s(elapsed(ENOUGH));
    println!(
        "slower than with enough pmegs: Lisp, new system {slower:.1}; vmtest 32M, old {was:.1}"
    );
    assert!(slower > 1.5, "{slower}");
    assert!(was > 10.0 * slower, "{was} {slower}");
}

#[test]
fn a_stolen_pmeg_costs_a_few_faults_as_the_dump_of_hatcnt_has_it() {
    // Words 3 and 4 of the dump of 9 July 1990: faults that found a pmeg, and pmegs given.
    let dump = (19_942_909 + 3_173_659) as f64 / 3_173_659_f64;
    for mix in ["xterms", "database", "lisp"] {
        for machine in ["sparcstation1", "4-3xx"] {
            let outcome = run_text(text(mix), machine, "old", &[]);
            let enough = run_text(text(mix), machine, "old", ENOUGH);
            let extra = outcome.translation_faults - enough.translation_faults;
            let of_stolen = extra as f64 / outcome.steals as f64;
            let hat = outcome.hat;
            let of_given = (hat.pmghave + hat.pmgalloc) as f64 / hat.pmgalloc as f64;
            let stolen = hat.ctxstolen as f64 / hat.ctxalloc as f64;
            println!(
                "{mix} {machine}: {of_stolen:.1} faults a stolen pmeg; {of_given:.1} a pmeg given \
                 (dump: {dump:.1}); {:.0} % of contexts stolen (dump: 95.6 %); {} pmegs stolen from \
                 a holder of a context",
                stolen * 100.0,
                hat.pmgstolen_ctx,
            );
            assert!((1.0..32.0).contains(&of_stolen), "{mix} {machine}: {of_stolen}");
            assert!((dump / 4.0..dump * 4.0).contains(&of_given), "{mix} {machine}: {of_given}");
        }
    }
}

#[test]
fn more_pmegs_never_hurt_and_the_new_system_is_between() {
    for mix in ["xterms", "database"] {
        let (old, new) = (run(mix, "old", &[]), run(mix, "new", &[]));
        let enough = run(mix, "old", ENOUGH);
        assert_eq!(enough.steals, 0);
        assert!(enough.system_ns < new.system_ns && new.system_ns < old.system_ns, "{mix}");
    }
}

#[test]
fn same_seed_same_outcome_and_all_interactions_are_answered() {
    for (mix, interactions) in [("xterms", 300), ("shells", 240), ("lisp", 100), ("database", 480)]
    {
        let outcome = run(mix, "old", &[]);
        assert_eq!(outcome.responses_ns().len(), interactions, "{mix}");
        assert_eq!(outcome.counts()["interactions"], interactions as u64);
        let again = simulate(
            &setup("sparcstation1", "old", &[]),
            &Workload::Mix(Mix::parse(text(mix)).unwrap()),
            1,
        );
        assert_eq!(outcome, again, "{mix}");
    }
}
