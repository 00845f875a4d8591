//! The pages referred to: exact, in memory bounded by the pages.

use std::collections::BTreeMap;

use crate::PageRun;

/// log2 of the pages in a region: 512, or 2 MiB.
const REGION_SHIFT: u32 = 9;
const WORDS: usize = 1 << (REGION_SHIFT - 6);
const FILTER: usize = 1 << 12;
/// An empty entry of the filter.
const NOTHING: u64 = u64::MAX;

/// A bit per page: with data references, fetched, written.
type Region = [[u64; WORDS]; 3];

#[derive(Clone, Debug)]
pub(crate) struct PageSet {
    regions: BTreeMap<(u32, u64), Region>,
    /// Recent runs of the process.
    filter: Box<[u64; FILTER]>,
    process: u32,
}

impl Default for PageSet {
    fn default() -> Self {
        Self { regions: BTreeMap::new(), filter: Box::new([NOTHING; FILTER]), process: 0 }
    }
}

impl PageSet {
    pub(crate) fn add(&mut self, process: u32, runs: &[PageRun]) {
        if self.process != process {
            self.process = process;
            self.filter.fill(NOTHING);
        }
        for run in runs {
            let noted = run.page << 2 | u64::from(run.fetch) << 1 | u64::from(run.written);
            let entry = &mut self.filter[(run.page ^ run.page >> 12) as usize % FILTER];
            if *entry == noted {
                continue;
            }
            *entry = noted;
            let region = self.regions.entry((process, run.page >> REGION_SHIFT)).or_default();
            let (word, bit) = ((run.page >> 6) as usize % WORDS, 1 << (run.page % 64));
            region[usize::from(run.fetch)][word] |= bit;
            if run.written {
                region[2][word] |= bit;
            }
        }
    }

    /// Pages of all processes: all, with data references, fetched, written.
    pub(crate) fn count(&self) -> [u64; 4] {
        let mut counts = [0; 4];
        for [data, fetched, written] in self.regions.values() {
            for ((data, fetched), written) in data.iter().zip(fetched).zip(written) {
                for (count, word) in
                    counts.iter_mut().zip([data | fetched, *data, *fetched, *written])
                {
                    *count += u64::from(word.count_ones());
                }
            }
        }
        counts
    }
}
