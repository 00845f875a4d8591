//! All published results; see `reference/README.md`.

use super::{Kind, Reference};

const DAVIDSEN: &str =
    "Bill Davidsen, \"Response testing on 2.6.0-test11 variants\", posting, 17 December 2003";
const RESP1_MANUAL: &str = "Bill Davidsen, \"The resp1 response benchmark\", manual attached to \
     the posting \"Response testing on 2.6.0-test11 variants\", 17 December 2003";
const IRLAM: &str = "Gordon Irlam, article of 9 July 1990, in Mark Lawrence, \"Summary: Sun 4 MMU \
     & the 'PMEG Thrashing (Stealing) Problem'\", posting, 14 September 1990";
const IRLAM_FIX: &str = "Gordon Irlam, unpublished article of 1990, in Mark Lawrence, \"Summary: \
     Sun 4 MMU & the 'PMEG Thrashing (Stealing) Problem'\", posting, 14 September 1990";
const SUN: &str = "Joanne Blind-Griffith (Sun), article of 25 July 1990, in Mark Lawrence, \
     \"Summary: Sun 4 MMU & the 'PMEG Thrashing (Stealing) Problem'\", posting, \
     14 September 1990";
const HUNT: &str = "Douglas H. Hunt, \"Performance comparison of systems 17.11 and 18.9\", \
     Project MAC, Computer Systems Research Division, Request for Comments No. 17, 9 May 1973";

const OURS: &str = "thrashlab, of the tables in Mark Lawrence, \"Summary: Sun 4 MMU & the 'PMEG \
     Thrashing (Stealing) Problem'\", posting, 14 September 1990";

/// Kind, source, file in `reference/`, name and title of each result.
macro_rules! published {
    ($($kind:ident $source:ident $file:literal $name:literal $title:literal;)*) => {
        /// Every published result, in the order of `list`.
        pub const ALL: &[Reference] = &[$(Reference {
            name: $name,
            title: $title,
            source: $source,
            kind: Kind::$kind,
            text: include_str!(concat!("../../../../../reference/", $file)),
        }),*];
    };
}

published! {
    Resp1 DAVIDSEN "resp1/2.4.20.out" "resp1/2.4.20"
        "Response under seven loads, Linux 2.4.20, P-II 350 MHz, 96 MB";
    Resp1 DAVIDSEN "resp1/2.6.0-test11.out" "resp1/2.6.0-test11"
        "Response under seven loads, Linux 2.6.0-test11, P-II 350 MHz, 96 MB";
    Resp1 DAVIDSEN "resp1/2.6.0-test11-bk12.out" "resp1/2.6.0-test11-bk12"
        "Response under seven loads, Linux 2.6.0-test11-bk12, P-II 350 MHz, 96 MB";
    Resp1 DAVIDSEN "resp1/2.6.0-test11-wli-2.out" "resp1/2.6.0-test11-wli-2"
        "Response under seven loads, Linux 2.6.0-test11-wli-2, P-II 350 MHz, 96 MB";
    Resp1 DAVIDSEN "resp1/2.6.0-test11-mm1.out" "resp1/2.6.0-test11-mm1"
        "Response under seven loads, Linux 2.6.0-test11-mm1, P-II 350 MHz, 96 MB";
    Resp1 RESP1_MANUAL "resp1/manual-first-format.out" "resp1/manual-first-format"
        "Response under seven loads, the manual's first example (S.D. in s)";
    Resp1 RESP1_MANUAL "resp1/manual-second-format.out" "resp1/manual-second-format"
        "Response under seven loads, the manual's second example";
    Csv DAVIDSEN "resp1/published.csv" "resp1/published"
        "All rows of the second format in one table";
    Csv RESP1_MANUAL "resp1/published-first-format.csv" "resp1/published-first-format"
        "All rows of the first format in one table (S.D. in s)";
    Csv IRLAM "sun4/vmtest-sparcstation1-old-hat.csv" "sun4/vmtest-sparcstation1-old-hat"
        "Throughput over active virtual memory, SPARCstation 1, SunOS 4.0.3";
    Csv IRLAM_FIX "sun4/vmtest-sparcstation1-new-hat.csv" "sun4/vmtest-sparcstation1-new-hat"
        "The same before and after the MMU fix, SPARCstation 1, SunOS 4.0.3 and 4.1";
    Csv SUN "sun4/vmtest-sparcstation1plus-new-hat.csv" "sun4/vmtest-sparcstation1plus-new-hat"
        "The same after the MMU fix, SPARCstation 1+, 12 MB";
    Csv OURS "sun4/acceptance.csv" "sun4/acceptance"
        "What a simulation of these tables has to meet";
    Csv IRLAM "sun4/hatcnt.csv" "sun4/hatcnt"
        "Kernel counters of stolen page table groups after 48 h";
    Csv IRLAM "sun4/models.csv" "sun4/models"
        "What the MMUs of the Sun-4 models can map";
    Csv HUNT "multics/experiment1-mean-cpu-s.csv" "multics/experiment1"
        "Mean CPU time of six scripted users, Multics 17.11 and 18.9";
    Csv HUNT "multics/experiment2-page-faults.csv" "multics/experiment2"
        "Page faults and CPU time of four directory commands, Multics 17.11 and 18.9";
    Csv HUNT "multics/experiment3-page-faults.csv" "multics/experiment3"
        "Page faults of one scripted user, Multics 17.11 and 18.9";
    Csv HUNT "multics/experiment4-page-faults.csv" "multics/experiment4"
        "Page faults of two PL/1 compilers on Multics 17.11, 18.9 and 18.11";
    Csv HUNT "multics/paging-of-experiment1.csv" "multics/paging"
        "Page faults of a trial of experiment 1, Multics 17.11 and 18.9 (about)";
    Csv HUNT "multics/conditions.csv" "multics/conditions"
        "How the four Multics experiments differ in conditions";
}
