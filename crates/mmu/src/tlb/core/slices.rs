//! References that come as slices: what is the same for all of them stays in registers.

use trace::PageRun;

use super::super::array::Found;
use super::super::page_size::{NOTHING, PAGE_MASK};
use super::super::world::World;
use super::{Core, Front};

impl Core {
    /// Refers to data on pages one after the other, as [`refer`](Core::refer) does for each.
    pub(crate) fn refer_to_all(&mut self, world: &mut World, pages: &[u64]) {
        let runs = pages.iter().map(|page| PageRun {
            page: *page,
            count: 1,
            fetch: false,
            written: false,
        });
        self.refer_to_each(world, runs);
    }

    /// Refers to pages as runs tell, as [`refer`](Core::refer) does for each of them.
    pub(crate) fn refer_to_runs(&mut self, world: &mut World, runs: &[PageRun]) {
        self.refer_to_each(world, runs.iter().copied());
    }

    #[inline(always)]
    fn refer_to_each(&mut self, world: &mut World, runs: impl Iterator<Item = PageRun>) {
        let [Some(data), Some(fetch)] = self.fronts else {
            for run in runs {
                self.refer(world, run.page & PAGE_MASK, run.fetch, u64::from(run.count));
            }
            return;
        };
        let fronts = [data, fetch];
        // Nothing behind the first level looks into it, so its sets can be elsewhere meanwhile.
        let Some(mut four) = self.tlbs[data.tlb].take_four() else {
            let access = |core: &mut Self, tlb: usize, entry| core.tlbs[tlb].access(entry);
            return self.refer_by(world, fronts, runs, access);
        };
        self.refer_by(world, fronts, runs, |core, tlb, entry| {
            if tlb == data.tlb { four.access(entry) } else { core.tlbs[tlb].access(entry) }
        });
        self.tlbs[data.tlb].give_back(four);
    }

    #[inline(always)]
    fn refer_by(
        &mut self,
        world: &mut World,
        fronts: [Front; 2],
        runs: impl Iterator<Item = PageRun>,
        mut access: impl FnMut(&mut Self, usize, u64) -> Found,
    ) {
        let mut last = self.last;
        let mut references = [0; 2];
        for run in runs {
            let side = usize::from(run.fetch);
            let page = run.page & PAGE_MASK;
            references[side] += u64::from(run.count);
            if page == last[side] {
                continue;
            }
            last[side] = page;
            if self.unified {
                last[1 - side] = NOTHING;
            }
            let front = &fronts[side];
            let found = access(self, front.tlb, page >> front.shift | front.bits);
            if found != Found::Hit {
                self.missed(world, page, front.size, side, found);
            }
        }
        for (side, front) in fronts.iter().enumerate() {
            self.references[side][front.size as usize] += references[side];
        }
        self.last = last;
    }
}
