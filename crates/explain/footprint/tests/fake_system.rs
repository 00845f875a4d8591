//! Processes of a fake procfs: what this machine's kernel cannot show, and what it would take
//! privileges to see.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use footprint::{
    ActivitySource, Bounds, Footprint, Geometry, Kind, Options, SharedTables, System, measure,
};
use tempfile::TempDir;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// Pages of a region.
const REGION: u64 = 512;
const LOOK: Options = Options { clear: false, mappings: false };
const CLEAR: Options = Options { clear: true, mappings: true };

/// A fake system.
struct FakeSystem {
    dir: TempDir,
}

impl FakeSystem {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn system(&self) -> System {
        System {
            proc_root: self.dir.path().into(),
            page_idle: self.page_idle(),
            geometry: Geometry::new(4096, 0x7fff_ffff_f000),
            can_flush: true,
        }
    }

    fn page_idle(&self) -> PathBuf {
        self.dir.path().join("bitmap")
    }

    fn process(&self, pid: u32) -> Process {
        let dir = self.dir.path().join(pid.to_string());
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("clear_refs"), "").unwrap();
        let process = Process { dir, smaps: String::new(), pagemap: Vec::new() };
        process.started_at(7);
        process.status("S", Some(40));
        process
    }

    fn measure(&self, pids: &[u32], options: Options) -> Footprint {
        measure(&self.system(), pids, options, || ())
    }
}

/// A fake process.
struct Process {
    dir: PathBuf,
    smaps: String,
    pagemap: Vec<(u64, u64)>,
}

impl Process {
    fn status(&self, state: &str, vm_pte_kb: Option<u64>) {
        let vm = vm_pte_kb.map_or(String::new(), |kb| format!("VmPTE:\t{kb} kB\n"));
        let text = format!("Name:\tmade\nState:\t{state} (x)\nUid:\t5\t6\t5\t5\n{vm}");
        fs::write(self.dir.join("status"), text).unwrap();
    }

    fn started_at(&self, ticks: u64) {
        let text = format!("1 (made) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 {ticks} 0 0\n");
        fs::write(self.dir.join("stat"), text).unwrap();
    }

    /// A mapping by its pages, with what else is in its smaps, and what its pages hold.
    fn map(mut self, pages: std::ops::Range<u64>, smaps: &str, entries: &[(u64, u64)]) -> Self {
        let (head, values) = smaps.split_once('\n').unwrap_or((smaps, ""));
        let (start, end) = (pages.start * 4096, pages.end * 4096);
        self.smaps += &format!("{start:x}-{end:x} {head}\n{values}\n").replace("\n\n", "\n");
        self.pagemap.extend(entries);
        self
    }

    fn write(&self) {
        fs::write(self.dir.join("smaps"), &self.smaps).unwrap();
        let file = File::create(self.dir.join("pagemap")).unwrap();
        for (page, entry) in &self.pagemap {
            file.write_all_at(&entry.to_ne_bytes(), page * 8).unwrap();
        }
    }
}

fn reasons(found: &Footprint) -> Vec<&str> {
    found.left_out.iter().map(|it| it.reason.as_str()).collect()
}

#[test]
fn huge_pages_need_no_table_but_anonymous_ones_have_one_in_reserve() {
    let fake = FakeSystem::new();
    let full = |first: u64| (first..first + REGION).map(|page| (page, PRESENT | EXCLUSIVE));
    let entries: Vec<_> = full(REGION).chain(full(2 * REGION)).collect();
    let shared: Vec<_> = full(8 * REGION).collect();
    let huge: Vec<_> = full(16 * REGION).collect();
    fake.process(1)
        .map(REGION..3 * REGION, "rw-p 0 00:00 0\nAnonHugePages: 2048 kB", &entries)
        .map(
            8 * REGION..9 * REGION,
            "rw-s 0 00:01 9 /dev/zero (deleted)\nShmemPmdMapped: 2048 kB",
            &shared,
        )
        .map(
            16 * REGION..17 * REGION,
            "rw-s 0 00:0e 4 /anon_hugepage (deleted)\nKernelPageSize: 2048 kB\nVmFlags: rd ht",
            &huge,
        )
        .write();
    let found = fake.measure(&[1], LOOK);
    let process = &found.processes[0];
    assert_eq!((process.counts.regions, process.counts.huge_regions), (4, 3));
    let tables = process.tables;
    assert_eq!((tables.lowest, tables.reserved), (1, 1), "one of two is mapped page by page");
    assert_eq!((tables.middle, tables.upper, tables.needed()), (1, 1, 4));
    assert_eq!(tables.empty(&found.geometry), 6, "40 kB are ten pages");
    // The other anonymous region could be one huge page, but its table would stay in reserve.
    let saving = process.saving;
    assert_eq!(
        (saving.huge_candidates, saving.huge_candidate_pages, saving.huge_shared),
        (1, 512, 0)
    );
}

#[test]
fn swapped_pages_need_tables_and_are_not_present() {
    let fake = FakeSystem::new();
    fake.process(1)
        .map(0..2 * REGION, "rw-p 0 00:00 0 [heap]", &[(3, SWAPPED), (600, PRESENT | EXCLUSIVE)])
        .write();
    let counts = fake.measure(&[1], LOOK).processes[0].counts;
    assert_eq!((counts.present_pages, counts.swapped_pages, counts.regions), (1, 1, 2));
}

#[test]
fn tables_that_are_alike_are_told_from_those_that_only_look_so() {
    let fake = FakeSystem::new();
    let file = "r--s 0 fe:00 5 /data";
    let page = |page: u64, number: u64| (page, PRESENT | OF_FILE | number);
    // 1 and 2 have a page in common at the same place, 3 has another one there, and 4 has the file
    // at another place of its region.
    fake.process(1).map(0..REGION, file, &[page(3, 100), page(4, 101)]).write();
    fake.process(2).map(REGION..2 * REGION, file, &[page(REGION + 3, 100)]).write();
    fake.process(3).map(0..REGION, file, &[page(3, 900)]).write();
    fake.process(4).map(8..REGION, file, &[page(11, 100)]).write();
    let found = fake.measure(&[1, 2, 3, 4], LOOK);
    let sharing = SharedTables { repeats: 1, repeats_until_written: 0, unknown: 0 };
    assert_eq!(found.total.sharing, sharing);
    let repeated: Vec<u64> = found.processes.iter().map(|it| it.tables.repeated).collect();
    assert_eq!(repeated, [1, 1, 0, 0]);
    assert_eq!(found.total.tables.with_shared, 4);
}

#[test]
fn without_numbers_of_pages_those_of_files_are_known_and_others_are_not() {
    let fake = FakeSystem::new();
    let file = "r--s 0 fe:00 5 /data";
    for pid in [1, 2] {
        fake.process(pid)
            .map(0..REGION, file, &[(3, PRESENT | OF_FILE)])
            .map(REGION..2 * REGION, "rw-p 0 00:00 0", &[(REGION, PRESENT)])
            .write();
    }
    let sharing = fake.measure(&[1, 2], LOOK).total.sharing;
    assert_eq!(sharing, SharedTables { repeats: 1, repeats_until_written: 0, unknown: 2 });
    // With numbers, memory that is private, and shared since a fork, is distinguished.
    for pid in [3, 4] {
        fake.process(pid)
            .map(REGION..2 * REGION, "rw-p 0 00:00 0", &[(REGION, PRESENT | 77)])
            .write();
    }
    let sharing = fake.measure(&[3, 4], LOOK).total.sharing;
    assert_eq!(sharing, SharedTables { repeats: 0, repeats_until_written: 1, unknown: 0 });
}

#[test]
fn the_bitmap_of_idle_pages_tells_the_places() {
    let fake = FakeSystem::new();
    fs::write(fake.page_idle(), [0; 64]).unwrap();
    let entries =
        [(3, 100), (600, 101), (1100, 102)].map(|(at, it)| (at, PRESENT | EXCLUSIVE | it));
    fake.process(1).map(0..3 * REGION, "rw-p 0 00:00 0\nReferenced: 4 kB", &entries).write();
    // The kernel takes the mark from a page that is touched: 101.
    let touch = || {
        let bitmap = File::options().write(true).open(fake.page_idle()).unwrap();
        bitmap.write_all_at(&[0b0101_0000], 12).unwrap();
    };
    let found = measure(&fake.system(), &[1], CLEAR, touch);
    assert_eq!(found.activity, ActivitySource::Placed);
    let counts = found.processes[0].counts;
    assert_eq!((counts.active_pages, counts.active_regions), (Some(1), Some(Bounds::exactly(1))));
    assert_eq!(counts.active_percent(&found.geometry), Some((100.0 / 512.0, 100.0 / 512.0)));
    assert_eq!(cleared(&fake, 1), "4", "the second write");
}

fn cleared(fake: &FakeSystem, pid: u32) -> String {
    fs::read_to_string(fake.dir.path().join(pid.to_string()).join("clear_refs")).unwrap()
}

#[test]
fn without_the_bitmap_places_are_bounds_and_the_reason_is_told() {
    let fake = FakeSystem::new();
    let entries = [3, 600, 1100].map(|page| (page, PRESENT | EXCLUSIVE));
    fake.process(1).map(0..3 * REGION, "rw-p 0 00:00 0\nReferenced: 8 kB", &entries).write();
    let found = fake.measure(&[1], CLEAR);
    let ActivitySource::Counted { no_places } = &found.activity else { panic!("{found:?}") };
    assert!(no_places.contains("CONFIG_IDLE_PAGE_TRACKING"), "{no_places}");
    assert_eq!(found.processes[0].counts.active_regions, Some(Bounds::exactly(2)));
    assert_eq!(found.processes[0].kinds[&Kind::Anonymous], found.processes[0].counts);
    // A user who sees no numbers of pages cannot use the bitmap.
    fs::write(fake.page_idle(), [0; 64]).unwrap();
    let found = fake.measure(&[1], CLEAR);
    let expected = "only root sees the numbers of pages in memory".to_owned();
    assert_eq!(found.activity, ActivitySource::Counted { no_places: expected });
}

#[test]
fn packing_counts_regions_of_images_alone() {
    let fake = FakeSystem::new();
    let image = "r-xp 0 fe:00 5 /lib/x.so\nReferenced: 4 kB";
    let one = |page: u64| [(page, PRESENT)];
    fake.process(1)
        .map(0..4, image, &one(0))
        .map(REGION..REGION + 4, image, &one(REGION))
        .map(2 * REGION..2 * REGION + 4, image, &one(2 * REGION))
        .map(2 * REGION + 8..2 * REGION + 9, "rw-p 0 00:00 0", &one(2 * REGION + 8))
        .write();
    let saving = fake.measure(&[1], CLEAR).processes[0].saving;
    assert_eq!((saving.image_regions, saving.image_pages, saving.packed_regions), (2, 3, 1));
    // One of three active pages may lie in the region with other memory.
    assert_eq!(saving.used_image_regions, Bounds { min: 2, max: 2 });
    assert_eq!(saving.by_packing(), Bounds::exactly(1));
}

#[test]
fn a_sleeping_process_saves_no_table_by_packing() {
    let image = |referenced: u64| format!("r-xp 0 fe:00 5 /lib/x.so\nReferenced: {referenced} kB");
    let dense: Vec<_> = (0..100 * REGION).map(|page| (page, PRESENT)).collect();
    let saving = |referenced| {
        let fake = FakeSystem::new();
        fake.process(1).map(0..100 * REGION, &image(referenced), &dense).write();
        fake.measure(&[1], CLEAR).processes[0].saving
    };
    let asleep = saving(0);
    assert_eq!((asleep.image_regions, asleep.image_pages), (100, 0));
    assert_eq!(asleep.by_packing(), Bounds::exactly(0), "its regions are full");
    assert_eq!(saving(4 * 100 * REGION).by_packing(), Bounds::exactly(0));
    // 200 pages are in at most 200 regions, of which there are 100, and at least in one.
    assert_eq!(saving(4 * 200).by_packing(), Bounds { min: 0, max: 99 });
}

#[test]
fn what_cannot_be_measured_says_why() {
    let fake = FakeSystem::new();
    fake.process(1).status("S", None);
    fake.process(2).status("Z", None);
    fake.process(3).map(0..1, "rw-p 0 00:00", &[]).write();
    let reused = fake.process(4).map(0..1, "rw-p 0 00:00 0", &[]);
    reused.write();
    let empty = fake.process(5);
    empty.write();
    let found = measure(&fake.system(), &[1, 2, 3, 4, 5, 6], CLEAR, || reused.started_at(8));
    assert!(found.processes.is_empty() && found.total.counts.is_none());
    let path = |pid: &str| fake.dir.path().join(pid).join("smaps").display().to_string();
    assert_eq!(
        reasons(&found),
        [
            "a kernel thread, without memory of its own",
            "it has ended and has not been reaped yet",
            &format!("{}: line 1, field inode: missing", path("3")),
            "it has ended; another process has its number now",
            "it has ended",
            "there is no such process, or it has ended",
        ]
    );
    assert_eq!(cleared(&fake, 1), "", "nothing is cleared where nothing can be measured");
}

#[test]
fn processes_of_a_group_are_found_with_those_below() {
    let fake = FakeSystem::new();
    let group = fake.dir.path().join("group");
    let below = group.join("below");
    fs::create_dir_all(&below).unwrap();
    let own = std::process::id();
    fs::write(group.join("cgroup.procs"), format!("30\n{own}\n")).unwrap();
    fs::write(below.join("cgroup.procs"), "12\n").unwrap();
    assert_eq!(fake.system().in_group(&group).unwrap(), [12, 30]);
    assert!(fake.system().in_group(Path::new("/nowhere")).is_err());
    fake.process(8);
    assert_eq!(fake.system().all().unwrap(), [8]);
    let owner = fake.system().status(8).unwrap();
    assert_eq!((owner.name.as_str(), owner.user), ("made", 6), "the effective user");
    assert!(fake.system().may_clear(8) && !fake.system().may_clear(9));
}
