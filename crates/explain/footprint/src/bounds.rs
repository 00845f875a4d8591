//! Bounds of the number of active regions, given only the number of active pages.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// The least and the most that a number can be; both are the number where it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// It is not less.
    pub min: u64,
    /// It is not more.
    pub max: u64,
}

impl Bounds {
    /// A number that is known.
    pub fn exactly(number: u64) -> Self {
        Self { min: number, max: number }
    }

    /// The number, if it is known.
    pub fn exact(&self) -> Option<u64> {
        (self.min == self.max).then_some(self.min)
    }
}

impl_add!(Bounds: min, max);

pub(crate) struct Activity {
    pub(crate) active_pages: u64,
    pub(crate) candidates: BTreeMap<u64, u64>,
}

/// Bounds of the number of distinct active regions, of mappings sorted by address.
///
/// A region is *certain* if a mapping's active pages do not fit into its other regions. The rest
/// needs at least its fullest regions, and at most one per page. Adjacent mappings may share one
/// further region, the last and the first, since a mapping inside one region is certain.
pub(crate) fn active_regions(mappings: &[Activity]) -> Bounds {
    let mut certain = BTreeSet::new();
    for mapping in mappings {
        certain.extend(mapping.certain());
    }
    let mut further = BTreeSet::new();
    let (mut most, mut least, mut least_alone) = (0, 0, 0);
    let mut end_of_last = None;
    for mapping in mappings {
        let open: BTreeMap<u64, u64> = mapping
            .candidates
            .iter()
            .filter(|(region, pages)| **pages > 0 && !certain.contains(*region))
            .map(|(region, pages)| (*region, *pages))
            .collect();
        let active = mapping.bounded();
        most += (active - mapping.certain().count() as u64).min(open.len() as u64);
        if active > 0 {
            further.extend(open.keys().copied());
        }
        let room: u64 = mapping.total() - open.values().sum::<u64>();
        let needed = fewest(active.saturating_sub(room), open.values().copied().collect());
        if needed > 0 {
            least_alone = needed.max(least_alone);
            least += needed;
            let first = open.keys().next().copied();
            // They may share one.
            least -= u64::from(first.is_some() && first == end_of_last);
            end_of_last = open.keys().next_back().copied();
        }
    }
    let known = certain.len() as u64;
    Bounds { min: known + least.max(least_alone), max: known + most.min(further.len() as u64) }
}

/// The fewest regions of these sizes that hold this many pages.
fn fewest(pages: u64, mut sizes: Vec<u64>) -> u64 {
    sizes.sort_unstable();
    let (mut held, mut count) = (0, 0);
    while held < pages {
        let Some(size) = sizes.pop() else { break };
        held += size;
        count += 1;
    }
    count
}

impl Activity {
    fn total(&self) -> u64 {
        self.candidates.values().sum()
    }

    /// The count may exceed what was found, since the two are read at different times.
    fn bounded(&self) -> u64 {
        self.active_pages.min(self.total())
    }

    /// Regions that are active wherever the active pages lie.
    fn certain(&self) -> impl Iterator<Item = u64> {
        let spare = self.total() - self.bounded();
        let beyond = move |(_, pages): &(&u64, &u64)| **pages > spare;
        self.candidates.iter().filter(beyond).map(|(region, _)| *region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(active_pages: u64, candidates: &[(u64, u64)]) -> Activity {
        Activity { active_pages, candidates: candidates.iter().copied().collect() }
    }

    #[test]
    fn of_one_mapping_both_ends_can_be_reached() {
        let layout = [(0, 1), (1, 2), (2, 1), (3, 2), (4, 1)];
        let bounds = |active| active_regions(&[one(active, &layout)]);
        assert_eq!(bounds(0), Bounds::exactly(0));
        assert_eq!(bounds(1), Bounds::exactly(1));
        assert_eq!(bounds(3), Bounds { min: 2, max: 3 });
        assert_eq!(bounds(6), Bounds { min: 4, max: 5 });
        assert_eq!(bounds(7), Bounds::exactly(5));
        assert_eq!(bounds(9), Bounds::exactly(5), "counted before and gone since");
    }

    #[test]
    fn mappings_may_meet_in_a_region() {
        let [left, right] = [[(0, 1), (1, 1)], [(1, 1), (2, 1)]];
        assert_eq!(active_regions(&[one(1, &left), one(1, &right)]), Bounds { min: 1, max: 2 });
        // The one in the middle lies in one region and makes it certain for all three.
        let three = [one(1, &left), one(1, &[(1, 5)]), one(1, &right)];
        assert_eq!(active_regions(&three), Bounds { min: 1, max: 3 });
    }

    proptest! {
        /// Whatever pages were active, the number of their regions is within the bounds; of one
        /// mapping the bounds are the least and the most.
        #[test]
        fn the_truth_is_within_the_bounds(
            // Lengths of mappings in pages, and gaps; regions of four pages.
            layout in prop::collection::vec((1_u64..10, 0_u64..6), 1..4),
            active in any::<u32>(),
        ) {
            let mut mappings = Vec::new();
            let (mut page, mut bit) = (0, 0);
            let mut regions = BTreeSet::new();
            for (pages, gap) in layout {
                let mut mapping = one(0, &[]);
                for page in page..page + pages {
                    *mapping.candidates.entry(page / 4).or_default() += 1;
                    if active >> (bit % 32) & 1 == 1 {
                        mapping.active_pages += 1;
                        regions.insert(page / 4);
                    }
                    bit += 1;
                }
                page += pages + gap;
                mappings.push(mapping);
            }
            let bounds = active_regions(&mappings);
            let truth = regions.len() as u64;
            prop_assert!(bounds.min <= truth && truth <= bounds.max, "{:?} {}", bounds, truth);
            if let [mapping] = mappings.as_slice() {
                let sizes = mapping.candidates.values().copied().collect();
                let most = mapping.active_pages.min(mapping.candidates.len() as u64);
                prop_assert_eq!(bounds, Bounds { min: fewest(mapping.active_pages, sizes), max: most });
            }
        }
    }
}
