//! All published results; `reference/README.md` tells more about each source.

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

/// What we ask, of what they published.
const OURS: &str = "thrashlab, of the tables in Mark Lawrence, \"Summary: Sun 4 MMU & the 'PMEG \
     Thrashing (Stealing) Problem'\", posting, 14 September 1990";

/// Every published result, in the order in which `list` shows them.
pub const ALL: &[Reference] = &[
    Reference {
        name: "resp1/2.4.20",
        title: "Response under seven loads, Linux 2.4.20, P-II 350 MHz, 96 MB",
        source: DAVIDSEN,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/2.4.20.out"),
    },
    Reference {
        name: "resp1/2.6.0-test11",
        title: "Response under seven loads, Linux 2.6.0-test11, P-II 350 MHz, 96 MB",
        source: DAVIDSEN,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/2.6.0-test11.out"),
    },
    Reference {
        name: "resp1/2.6.0-test11-bk12",
        title: "Response under seven loads, Linux 2.6.0-test11-bk12, P-II 350 MHz, 96 MB",
        source: DAVIDSEN,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/2.6.0-test11-bk12.out"),
    },
    Reference {
        name: "resp1/2.6.0-test11-wli-2",
        title: "Response under seven loads, Linux 2.6.0-test11-wli-2, P-II 350 MHz, 96 MB",
        source: DAVIDSEN,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/2.6.0-test11-wli-2.out"),
    },
    Reference {
        name: "resp1/2.6.0-test11-mm1",
        title: "Response under seven loads, Linux 2.6.0-test11-mm1, P-II 350 MHz, 96 MB",
        source: DAVIDSEN,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/2.6.0-test11-mm1.out"),
    },
    Reference {
        name: "resp1/manual-first-format",
        title: "Response under seven loads, the manual's first example (S.D. in s)",
        source: RESP1_MANUAL,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/manual-first-format.out"),
    },
    Reference {
        name: "resp1/manual-second-format",
        title: "Response under seven loads, the manual's second example",
        source: RESP1_MANUAL,
        kind: Kind::Resp1,
        text: include_str!("../../../../reference/resp1/manual-second-format.out"),
    },
    Reference {
        name: "resp1/published",
        title: "All rows of the second format in one table",
        source: DAVIDSEN,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/resp1/published.csv"),
    },
    Reference {
        name: "resp1/published-first-format",
        title: "All rows of the first format in one table (S.D. in s)",
        source: RESP1_MANUAL,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/resp1/published-first-format.csv"),
    },
    Reference {
        name: "sun4/vmtest-sparcstation1-old-hat",
        title: "Throughput over active virtual memory, SPARCstation 1, SunOS 4.0.3",
        source: IRLAM,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/sun4/vmtest-sparcstation1-old-hat.csv"),
    },
    Reference {
        name: "sun4/vmtest-sparcstation1-new-hat",
        title: "The same before and after the MMU fix, SPARCstation 1, SunOS 4.0.3 and 4.1",
        source: IRLAM_FIX,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/sun4/vmtest-sparcstation1-new-hat.csv"),
    },
    Reference {
        name: "sun4/vmtest-sparcstation1plus-new-hat",
        title: "The same after the MMU fix, SPARCstation 1+, 12 MB",
        source: SUN,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/sun4/vmtest-sparcstation1plus-new-hat.csv"),
    },
    Reference {
        name: "sun4/acceptance",
        title: "What a simulation of these tables has to meet",
        source: OURS,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/sun4/acceptance.csv"),
    },
    Reference {
        name: "sun4/hatcnt",
        title: "Kernel counters of stolen page table groups after 48 h",
        source: IRLAM,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/sun4/hatcnt.csv"),
    },
    Reference {
        name: "sun4/models",
        title: "What the MMUs of the Sun-4 models can map",
        source: IRLAM,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/sun4/models.csv"),
    },
    Reference {
        name: "multics/experiment1",
        title: "Mean CPU time of six scripted users, Multics 17.11 and 18.9",
        source: HUNT,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/multics/experiment1-mean-cpu-s.csv"),
    },
    Reference {
        name: "multics/experiment2",
        title: "Page faults and CPU time of four directory commands, Multics 17.11 and 18.9",
        source: HUNT,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/multics/experiment2-page-faults.csv"),
    },
    Reference {
        name: "multics/experiment3",
        title: "Page faults of one scripted user, Multics 17.11 and 18.9",
        source: HUNT,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/multics/experiment3-page-faults.csv"),
    },
    Reference {
        name: "multics/experiment4",
        title: "Page faults of two PL/1 compilers on Multics 17.11, 18.9 and 18.11",
        source: HUNT,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/multics/experiment4-page-faults.csv"),
    },
    Reference {
        name: "multics/paging",
        title: "Page faults of a trial of experiment 1, Multics 17.11 and 18.9 (about)",
        source: HUNT,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/multics/paging-of-experiment1.csv"),
    },
    Reference {
        name: "multics/conditions",
        title: "How the four Multics experiments differ in conditions",
        source: HUNT,
        kind: Kind::Csv,
        text: include_str!("../../../../reference/multics/conditions.csv"),
    },
];
