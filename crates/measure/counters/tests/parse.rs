//! Every parser on recorded and hand-made files, and on texts that must be refused with a place.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use counters::parse::{self, Pairs, ParseError};
use model::Values;

macro_rules! recorded {
    ($file:literal) => {
        include_str!(concat!("fixtures/linux-6.18-x86_64/", $file))
    };
}

macro_rules! made {
    ($file:literal) => {
        include_str!(concat!("fixtures/made/", $file))
    };
}

fn values<const N: usize>(pairs: [(&str, u64); N]) -> Values {
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// The parsers, with their counters by name.
macro_rules! by_name {
    ($($parser:ident),*) => {
        $(fn $parser(text: &str) -> Result<Values, ParseError> {
            parse::$parser(text).map(Pairs::into_iter).map(Values::from_iter)
        })*
    };
}
by_name!(colon_keyed, flat_keyed, interrupts, limit, pressure, proc_stat, sched, schedstat);
by_name!(single_value, task_stat);

/// The error as people see it.
fn said<T: std::fmt::Debug>(result: Result<T, ParseError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn flat_keyed_files_keep_every_name() {
    let text = recorded!("proc/vmstat");
    let vmstat = flat_keyed(text).unwrap();
    assert_eq!(vmstat.len(), text.lines().count());
    assert!(vmstat.contains_key("pgscan_direct") && vmstat.contains_key("allocstall_normal"));
    let stat = flat_keyed(recorded!("cgroup_v1/memory/memory.stat")).unwrap();
    assert_eq!(stat["workingset_refault_file"], 15287);
    assert_eq!(stat["hierarchical_memory_limit"], 9_223_372_036_854_771_712);
    assert_eq!(flat_keyed(made!("linux-5.4-x86_64/cpu.stat")).unwrap().len(), 3);
    let v2 = flat_keyed(made!("cgroup-v2-6.12/cpu.stat")).unwrap();
    assert_eq!(v2["core_sched.force_idle_usec"], 0);
    assert_eq!(v2["throttled_usec"], 812_345);
}

#[test]
fn flat_keyed_refuses_with_a_place() {
    assert_eq!(said(flat_keyed("")), "line 1, column 1: the file is empty");
    assert_eq!(said(flat_keyed("a 1\nb\n")), "line 2, field value: missing");
    assert_eq!(said(flat_keyed("a 1\nb -1\n")), "line 2, column 3: \"-1\" is not a counter value");
    assert_eq!(
        flat_keyed("a 18446744073709551616"),
        Err(ParseError {
            line: 1,
            place: "column 3".to_owned(),
            reason: "\"18446744073709551616\" is not a counter value".to_owned(),
        })
    );
    assert_eq!(
        said(flat_keyed("a  1  x")),
        "line 1, column 7: \"x\" is more than the format has room for"
    );
    assert_eq!(
        said(flat_keyed("\u{7f}ELF 1")),
        "line 1, column 1: \"\\u{7f}ELF\" is not the name of a counter"
    );
}

#[test]
fn colon_keyed_files_carry_their_unit() {
    let text = recorded!("proc/meminfo");
    let meminfo = colon_keyed(text).unwrap();
    assert_eq!(meminfo.len(), text.lines().count());
    assert_eq!(meminfo["MemTotal_kb"], 24_684_084);
    assert!(meminfo.contains_key("Active(anon)_kb"));
    assert!(meminfo.contains_key("HugePages_Total"));
    let older = colon_keyed(made!("linux-5.4-x86_64/meminfo")).unwrap();
    assert_eq!((older["HugePages_Total"], older["Hugepagesize_kb"]), (4, 2048));
}

#[test]
fn colon_keyed_refuses_with_a_place() {
    assert_eq!(said(colon_keyed("\n")), "line 1, column 1: the file is empty");
    assert_eq!(said(colon_keyed("MemFree 1 kB")), "line 1, field colon: missing");
    assert_eq!(said(colon_keyed("MemFree:")), "line 1, field value: missing");
    assert_eq!(
        said(colon_keyed("A: 1 kB\nMemFree:  x kB")),
        "line 2, column 11: \"x\" is not a counter value"
    );
    assert_eq!(
        said(colon_keyed("MemFree: 1 kB 2")),
        "line 1, column 15: \"2\" is more than the format has room for"
    );
    assert_eq!(
        said(colon_keyed("a b: 1")),
        "line 1, column 1: \"a b\" is not the name of a counter"
    );
}

#[test]
fn pressure_is_its_totals() {
    let recorded = pressure(recorded!("proc/pressure/cpu")).unwrap();
    assert_eq!(recorded.keys().collect::<Vec<_>>(), ["full_us", "some_us"]);
    assert_eq!(
        pressure(made!("linux-5.4-x86_64/pressure_cpu")),
        Ok(values([("some_us", 81_234_567)]))
    );
    assert_eq!(pressure(made!("cgroup-v2-6.12/irq.pressure")), Ok(values([("full_us", 991)])));
    assert_eq!(
        pressure("most avg10=1.00 max=7 total=5 new=x"),
        Ok(values([("most_us", 5)])),
        "a newer kernel may add shares and fields"
    );
    assert_eq!(said(pressure("some avg10=0.00\n")), "line 1, field total: missing");
    assert_eq!(
        said(pressure("some avg10=0.00 total=9e9\n")),
        "line 1, column 23: \"9e9\" is not a counter value"
    );
    assert_eq!(
        said(pressure("some 7 total=1")),
        "line 1, column 6: \"7\" is more than the format has room for"
    );
}

#[test]
fn proc_stat_is_the_total_line_and_the_counts() {
    let stat = proc_stat(recorded!("proc/stat")).unwrap();
    assert_eq!(stat.len(), 10 + 5);
    assert!(stat["intr_total"] > 0 && stat["ctxt"] > stat["processes"]);
    let old = proc_stat(made!("linux-2.6.9-i386/stat")).unwrap();
    assert_eq!((old["cpu_user_ticks"], old["cpu_softirq_ticks"]), (1203, 7));
    assert!(!old.contains_key("cpu_steal_ticks"), "absent, not 0");
    let newer = proc_stat("cpu 1 2 3 4 5 6 7 8 9 10 11 12\nnewer x y z\n").unwrap();
    assert_eq!((newer.len(), newer["cpu_guest_nice_ticks"]), (10, 10));
    assert_eq!(said(proc_stat("ctxt 5\n")), "line 1, field cpu: missing");
    assert_eq!(said(proc_stat("cpu 1 2 3\n")), "line 1, field cpu_idle_ticks: missing");
    assert_eq!(
        said(proc_stat("cpu 1 2 3 4\nctxt many\n")),
        "line 2, column 6: \"many\" is not a counter value"
    );
}

#[test]
fn interrupts_with_a_label_are_summed_over_the_cpus() {
    let recorded = interrupts(recorded!("proc/interrupts")).unwrap();
    assert_eq!(recorded.len(), 16, "{recorded:?}");
    assert!(recorded["TLB"] > 0 && recorded["LOC"] > recorded["TLB"]);
    let made =
        "     CPU0   CPU2\n  1:  5  6  IO-APIC  2-edge  timer\nTLB: 7 8 TLB shootdowns\nERR: 9\n";
    assert_eq!(interrupts(made), Ok(values([("TLB", 15), ("ERR", 9)])));
    assert_eq!(said(interrupts("")), "line 1, column 1: the file is empty");
    assert_eq!(said(interrupts("TLB: 7\n")), "line 1, field CPU0: missing");
    assert_eq!(said(interrupts("CPU0\nTLB:\n")), "line 2, field count: missing");
    assert_eq!(
        said(interrupts("CPU0 CPU1\nTLB: 7 x\n")),
        "line 2, column 8: \"x\" is not a counter value"
    );
    assert_eq!(
        said(interrupts("CPU0\nTLB 7\n")),
        "line 2, column 1: \"TLB\" is not the name of a counter"
    );
}

#[test]
fn limits_are_bytes_or_none() {
    assert_eq!(limit("max\n"), Ok(values([])));
    assert_eq!(limit("9223372036854771712\n"), Ok(values([])), "version 1 without a limit");
    assert_eq!(limit("48234496\n"), Ok(values([("", 48_234_496)])));
    assert_eq!(said(limit("many\n")), "line 1, column 1: \"many\" is not a counter value");
}

#[test]
fn one_line_files_have_columns() {
    assert_eq!(
        schedstat("105917 51667 2 77\n"),
        Ok(values([("run_ns", 105_917), ("wait_ns", 51_667), ("timeslices", 2)]))
    );
    assert_eq!(said(schedstat("1 2\n")), "line 1, field timeslices: missing");
    assert_eq!(single_value("144674816\n"), Ok(values([("", 144_674_816)])));
    assert_eq!(said(single_value("max\n")), "line 1, column 1: \"max\" is not a counter value");
    assert_eq!(
        said(single_value("1\n2\n")),
        "line 2, column 1: \"2\" is more than the format has room for"
    );
}

#[test]
fn sleeps_are_read_in_ns() {
    let text = "cat (17, #threads: 1)\n-----\nse.exec_start  :  1000.5\n\
                sum_sleep_runtime  :  9.000000\nsum_block_runtime  :  12.000345\n\
                iowait_sum  :  0.700000\niowait_count  :  3\n";
    let values = sched(text).unwrap();
    assert_eq!((values["blocked_ns"], values["iowait_ns"]), (12_000_345, 700_000));
    assert_eq!(
        said(sched("cat (17)\nse.exec_start : 1\n")),
        "line 2, field sum_block_runtime: missing"
    );
    let text = "sum_block_runtime : 1.5\n";
    assert_eq!(said(sched(text)), "line 1, column 21: \"1.5\" is not a time in ms");
}

#[test]
fn task_stat_survives_any_program_name() {
    let plain = task_stat(recorded!("proc/4242/stat")).unwrap();
    assert_eq!((plain["minflt"], plain["rss_pages"], plain["blkio_delay_ticks"]), (64, 551, 0));
    assert_eq!(plain["starttime_ticks"], 172_932);
    for name in ["a b", ")", "((", ") R 1 2 3", "a\nb) S (", "\u{fffd}é"] {
        let text = recorded!("proc/4242/stat").replacen("bash", name, 1);
        assert_eq!(task_stat(&text), Ok(plain.clone()), "{name:?}");
    }
    let old = task_stat(made!("linux-2.6.9-i386/task_stat")).unwrap();
    assert_eq!((old["majflt"], old["stime_ticks"]), (12, 9));
    assert!(!old.contains_key("blkio_delay_ticks"), "absent, not 0");
}

#[test]
fn task_stat_refuses_with_a_place() {
    assert_eq!(said(task_stat("\n")), "line 1, column 1: the file is empty");
    assert_eq!(said(task_stat("1 sh S 0")), "line 1, field comm: missing");
    assert_eq!(said(task_stat("1 (sh S 0")), "line 1, field comm: missing");
    assert_eq!(said(task_stat("1 (sh) S 0 1")), "line 1, field minflt: missing");
    assert_eq!(
        said(task_stat("1 (s\nh) S 0 1 1 0 -1 0 x")),
        "line 2, column 19: \"x\" is not a counter value"
    );
    assert_eq!(
        said(task_stat("1 (sh) 0 1")),
        "line 1, column 8: \"0\" is not the name of a counter"
    );
}
