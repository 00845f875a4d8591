//! Identical page tables of several processes: what sharing them would save.

use std::collections::BTreeMap;

use counters::parse::Mapping;
use serde::Serialize;

use crate::geometry::Geometry;
use crate::pages::{Entry, MappedPage, ReadMapping};

/// Lowest-level page tables that processes have in common. Two are alike if the same mappings
/// (file, offset, rights) lie at the same places, with a page in common and no different pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharedTables {
    /// All but one of each group with only shared or read-only memory: saved by sharing tables.
    pub repeats: u64,
    /// All but one of each group with writable private memory: saved by sharing until the first
    /// write.
    pub repeats_until_written: u64,
    /// Tables with pages of unknown identity (without root), where repeats are not found.
    pub unknown: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// By frame number.
    Number(u64),
    /// By the page number in the mapping's file.
    OfFile(u64),
    Zero,
    /// Not shared, or unknown.
    Alone,
}

/// A mapping's part of a region: from and to which page of it, and what is mapped there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MappedRange {
    first: u64,
    end: u64,
    rights: [bool; 4],
    device: String,
    inode: u64,
    offset_bytes: u64,
}

#[derive(Default)]
struct PageTable {
    ranges: Vec<MappedRange>,
    contents: BTreeMap<u64, Content>,
    is_private_writable: bool,
    is_unknown: bool,
    has_shared: bool,
    is_huge: bool,
}

/// Tables that are alike, with their united contents and their processes.
struct Group {
    table: PageTable,
    members: Vec<usize>,
}

#[derive(Default)]
pub(crate) struct Sharing {
    groups: BTreeMap<Vec<MappedRange>, Vec<Group>>,
    unknown: u64,
    processes: usize,
}

impl Sharing {
    pub(crate) fn add(&mut self, mappings: &[ReadMapping], geometry: &Geometry) {
        let process = self.processes;
        self.processes += 1;
        for mut table in tables(mappings, geometry).into_values() {
            // Unshared pages cannot be in another table.
            if table.is_huge || !table.has_shared {
                continue;
            }
            self.unknown += u64::from(table.is_unknown);
            let groups = self.groups.entry(std::mem::take(&mut table.ranges)).or_default();
            match groups.iter_mut().find(|group| group.table.is_like(&table.contents)) {
                Some(group) => {
                    group.table.contents.extend(table.contents);
                    group.members.push(process);
                }
                None => groups.push(Group { table, members: vec![process] }),
            }
        }
    }

    /// The savings, and each process's number of repeated tables.
    pub(crate) fn finish(self) -> (SharedTables, Vec<u64>) {
        let mut found = SharedTables { unknown: self.unknown, ..SharedTables::default() };
        let mut repeated = vec![0; self.processes];
        for group in self.groups.into_values().flatten().filter(|it| it.members.len() > 1) {
            let saved = group.members.len() as u64 - 1;
            if group.table.is_private_writable {
                found.repeats_until_written += saved;
            } else {
                found.repeats += saved;
            }
            group.members.iter().for_each(|process| repeated[*process] += 1);
        }
        (found, repeated)
    }
}

impl PageTable {
    /// Whether another table fits: a page in common, and no place with two pages.
    fn is_like(&self, other: &BTreeMap<u64, Content>) -> bool {
        let mut in_common = false;
        for (place, content) in other {
            if *content == Content::Alone {
                return false;
            }
            match self.contents.get(place) {
                None => {}
                Some(ours) if ours == content => in_common |= *content != Content::Zero,
                Some(_) => return false,
            }
        }
        in_common
    }
}

fn tables(mappings: &[ReadMapping], geometry: &Geometry) -> BTreeMap<u64, PageTable> {
    let mut tables: BTreeMap<u64, PageTable> = BTreeMap::new();
    for mapping in mappings {
        for (number, region) in &mapping.regions {
            let table = tables.entry(*number).or_default();
            table.has_shared |= region.shared > 0;
            table.is_huge |= region.huge;
            for page in &region.pages {
                let content = content(page, &mapping.smaps, geometry);
                let unknown = content == Content::Alone && page.entry.has(Entry::PRESENT);
                table.is_unknown |= unknown && region.shared > 0;
                table.contents.insert(page.number % geometry.region_pages, content);
            }
        }
    }
    // Mappings without pages in a region count too.
    for mapping in mappings {
        let line = &mapping.smaps;
        let regions = geometry.region_of(line.start)..=geometry.region_of(line.end - 1);
        for (number, table) in tables.range_mut(regions) {
            let start = line.start.max(number * geometry.region_bytes());
            let end = line.end.min((number + 1) * geometry.region_bytes());
            table.is_private_writable |= line.write && !line.shared;
            table.ranges.push(MappedRange {
                first: start % geometry.region_bytes(),
                end: (end - 1) % geometry.region_bytes(),
                rights: [line.read, line.write, line.execute, line.shared],
                device: line.device.clone(),
                inode: line.inode,
                offset_bytes: if line.inode == 0 { 0 } else { offset_at(line, start) },
            });
        }
    }
    tables
}

fn content(page: &MappedPage, line: &Mapping, geometry: &Geometry) -> Content {
    let is_present = page.entry.has(Entry::PRESENT);
    match page.entry.page_number() {
        _ if page.zero => Content::Zero,
        Some(number) => Content::Number(number),
        // Uncopied file pages are the same in every process.
        None if is_present && page.entry.has(Entry::OF_FILE) && line.inode != 0 => {
            let address = page.number * geometry.page_bytes;
            Content::OfFile(offset_at(line, address) / geometry.page_bytes)
        }
        None => Content::Alone,
    }
}

fn offset_at(line: &Mapping, address: u64) -> u64 {
    line.offset_bytes.wrapping_add(address.saturating_sub(line.start))
}
