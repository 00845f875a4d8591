//! Options of a run other than its machine.

use model::named;

use super::machine::{MOST_ASIDS, Prefetch};
use super::page_size::PageSize;
use super::policy::Policy;

named! {
    /// Which pages a program gets.
    pub enum PagePolicy {
        /// Pages of the sizes that a trace of a guest has, else of 4 KiB.
        Recorded = "recorded",
        /// All of 4 KiB.
        Small = "small",
        /// Pages of 2 MiB where one private anonymous mapping covers the whole page, else of 4 KiB.
        Thp = "thp",
        /// All of 2 MiB.
        Huge = "all",
        /// All of 1 GiB.
        Giant = "1g",
    }
}

named! {
    /// What processes share of the mappings that they inherited.
    pub enum Share {
        /// Nothing: every process has its own tables.
        None = "none",
        /// Page tables entirely inside a mapping of a file or a shared one.
        Tables = "tables",
        /// Page tables as with [`Self::Tables`], and the translations themselves.
        Translations = "translations",
    }
}

/// Choices of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which pages the program gets.
    pub page_size: PagePolicy,
    /// Seed of the policy `random`.
    pub seed: u64,
    /// Whether it runs in a virtual machine, where walks have two dimensions.
    pub virtualized: bool,
    /// Size of the pages that back a virtual machine's memory.
    pub host_page_size: PageSize,
    /// Number of cores, over which threads are spread in the order of appearance.
    pub cores: usize,
    /// Number of address-space numbers instead of the machine's.
    pub asids: Option<u32>,
    /// Replacement policy of all TLBs instead of the machine's.
    pub policy: Option<Policy>,
    /// Prefetch of the next page instead of what the machine does.
    pub prefetch: Option<bool>,
    /// Levels of page tables, 4 or 5, instead of the machine's.
    pub levels: Option<u32>,
    /// What processes share.
    pub share: Share,
    /// Unmapping more pages flushes the whole address space (`tlb_single_page_flush_ceiling`).
    pub flush_ceiling: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_size: PagePolicy::Recorded,
            seed: 1,
            virtualized: false,
            host_page_size: PageSize::Small,
            cores: 1,
            asids: None,
            policy: None,
            prefetch: None,
            levels: None,
            share: Share::None,
            flush_ceiling: 33,
        }
    }
}

impl Options {
    /// Names and values of the options of [`set`](Self::set).
    pub const NAMES: [(&'static str, &'static str); 11] = [
        ("pages", "recorded, small, thp, all or 1g"),
        ("seed", "a number"),
        ("virtualized", "yes or no"),
        ("host-pages", "4K, 2M or 1G"),
        ("cores", "1 to 1024"),
        ("asids", "0 to 32768"),
        ("policy", "lru, fifo, plru, nru or random"),
        ("prefetch", "none or next-page"),
        ("levels", "4 or 5"),
        ("share", "none, tables or translations"),
        ("flush-ceiling", "a number of pages"),
    ];

    /// Sets one by name; an error lists the options, or the values of this one.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some((_, takes)) = Self::NAMES.iter().find(|(known, _)| *known == name) else {
            let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!("no option is named {name:?}; choose from {}", names.join(", ")));
        };
        self.take(name, value).ok_or_else(|| format!("{name}={value}: it takes {takes}"))
    }

    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "pages" => self.page_size = PagePolicy::named(value).ok()?,
            "seed" => self.seed = value.parse().ok()?,
            "virtualized" => self.virtualized = one_of(value, ["no", "yes"])? == 1,
            "host-pages" => self.host_page_size = PageSize::named(value).ok()?,
            "cores" => self.cores = value.parse().ok().filter(|n| (1..=1024).contains(n))?,
            "asids" => self.asids = Some(value.parse().ok().filter(|n| *n <= MOST_ASIDS)?),
            "policy" => self.policy = Some(Policy::named(value).ok()?),
            "prefetch" => self.prefetch = Some(Prefetch::named(value).ok()? == Prefetch::NextPage),
            "levels" => self.levels = Some(4 + one_of(value, ["4", "5"])?),
            "share" => self.share = Share::named(value).ok()?,
            _ => self.flush_ceiling = value.parse().ok()?,
        }
        Some(())
    }
}

fn one_of(value: &str, words: [&str; 2]) -> Option<u32> {
    words.iter().position(|word| *word == value).map(|index| index as u32)
}
