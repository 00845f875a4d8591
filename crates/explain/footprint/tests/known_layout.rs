//! A program whose layout is known, measured to the page of its page tables.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use footprint::{
    ActivitySource, Bounds, Footprint, Geometry, Kind, MappingFootprint, Options, System, measure,
};
use rustix::thread::disable_transparent_huge_pages;
use sys::memory::Mapping;
use sys::pagemap::address;

/// Set in the environment of a test of this file that is the measured program.
const CHILD: &str = "THRASHLAB_FOOTPRINT_CHILD";

/// Seven pages in five regions, as region and page; the last page of a region is −1.
const SPARSE: [(u64, i64); 7] = [(0, 0), (0, -1), (2, 5), (3, 0), (3, 1), (4, 17), (6, 9)];
/// Which of them are touched in the window: three pages in two regions.
const TOUCHED: [(u64, i64); 3] = [(0, 0), (0, -1), (3, 0)];
/// Regions of each mapping; one more than is used, as it begins anywhere.
const REGIONS: u64 = 8;

/// The program that is measured; an ordinary run of the tests passes it by.
#[test]
fn the_program_that_is_measured() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    disable_transparent_huge_pages(true).unwrap();
    let geometry = System::running().unwrap().geometry;
    let mut commands = std::io::stdin().lines();
    let mut obey = |name: &str| assert_eq!(commands.next().unwrap().unwrap(), name);
    println!("\nstarted");
    obey("map");
    let size_bytes = (REGIONS * geometry.region_bytes()) as usize;
    let private = Mapping::anonymous(size_bytes).unwrap();
    let shared = Mapping::shared(size_bytes).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(size_bytes as u64).unwrap();
    let of_file = Mapping::file_shared(&file, size_bytes).unwrap();
    // Private memory that is only read shows the page of zeros.
    let zeros = Mapping::anonymous(size_bytes).unwrap();
    for place in SPARSE {
        for mapping in [&private, &shared, &of_file] {
            mapping.write(offset(mapping, place, &geometry), 1);
        }
        let _ = zeros.read(offset(&zeros, place, &geometry));
    }
    let starts = [&private, &shared, &of_file, &zeros].map(|it| address(it).to_string());
    println!("mapped {}", starts.join(" "));
    obey("touch");
    for place in TOUCHED {
        private.write(offset(&private, place, &geometry), 2);
        let _ = of_file.read(offset(&of_file, place, &geometry));
    }
    for place in SPARSE {
        shared.write(offset(&shared, place, &geometry), 2);
    }
    println!("touched");
    obey("end");
}

/// Where a page is in a mapping whose regions begin at its first whole one.
fn offset(mapping: &Mapping, (region, page): (u64, i64), geometry: &Geometry) -> usize {
    let start = address(mapping);
    let first = start.next_multiple_of(geometry.region_bytes()) - start;
    let page = page.rem_euclid(geometry.region_pages as i64) as u64;
    (first + region * geometry.region_bytes() + page * geometry.page_bytes) as usize
}

/// The program from outside.
struct Program {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_program_that_is_measured", "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut program = Self { child, input, output };
        program.answer("started");
        program
    }

    fn send(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
    }

    /// The next line that begins so, without that word.
    fn answer(&mut self, word: &str) -> String {
        loop {
            let line = self.output.next().expect("it has ended").unwrap();
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn at(found: &Footprint, start: u64) -> &MappingFootprint {
    let mappings = &found.processes[0].mappings;
    mappings.iter().find(|it| (it.start..it.end).contains(&start)).unwrap()
}

#[test]
fn a_known_layout_is_exact_to_the_page_of_page_tables() {
    let system = System::running().unwrap();
    let geometry = system.geometry;
    let mut program = Program::start();
    let look = Options { clear: false, mappings: true };
    let before = measure(&system, &[program.pid()], look, || unreachable!("nothing is cleared"));
    assert_eq!(before.left_out, []);
    program.send("map");
    let starts = program.answer("mapped");
    let [private, shared, of_file, zeros] =
        starts.split(' ').map(|it| it.parse().unwrap()).collect::<Vec<u64>>().try_into().unwrap();
    let clear = Options { clear: true, mappings: true };
    let found = measure(&system, &[program.pid()], clear, || {
        program.send("touch");
        program.answer("touched");
    });

    let pages = SPARSE.len() as u64;
    for (start, kind) in [(private, Kind::Anonymous), (shared, Kind::SharedMemory)] {
        let mapping = at(&found, start);
        assert_eq!((mapping.kind, mapping.start), (kind, start), "{mapping:?}");
        let counts = mapping.counts;
        assert_eq!((counts.present_pages, counts.regions), (pages, 5), "{mapping:?}");
        assert_eq!((counts.shared_pages, counts.swapped_pages, counts.huge_regions), (0, 0, 0));
    }
    // Without a flush a page may be touched unseen.
    if found.is_flushed {
        activity_is_known(&found, private, shared, of_file);
    }
    // The page of zeros needs page tables too; the kernel does not report whether it is active.
    let counts = at(&found, zeros).counts;
    assert!(counts.present_pages >= pages && counts.regions >= 5, "{counts:?}");

    // The kernel's own account, before and after, and what came in between.
    let tables = |found: &Footprint| found.processes[0].tables;
    for found in [&before, &found] {
        let tables = tables(found);
        assert_eq!(tables.needed() * geometry.page_bytes, tables.counted_bytes, "{tables:?}");
    }
    let added = tables(&found).lowest - tables(&before).lowest;
    // Four times five; a first or last region may be one that was there.
    assert!((18..=22).contains(&added), "{added}");
    program.send("end");
}

fn activity_is_known(found: &Footprint, private: u64, shared: u64, of_file: u64) {
    // All pages lie in all regions, wherever these begin; three pages lie in two or three.
    let active =
        |start| (at(found, start).counts.active_pages, at(found, start).counts.active_regions);
    assert_eq!(active(shared), (Some(7), Some(Bounds::exactly(5))));
    let of_three = match found.activity {
        ActivitySource::Placed => Bounds::exactly(2),
        _ => Bounds { min: 2, max: 3 },
    };
    assert_eq!(active(private), (Some(3), Some(of_three)));
    // Around a page of a file the kernel maps others that are in memory already.
    let counts = at(found, of_file).counts;
    assert!(counts.present_pages >= 7 && counts.regions == 5, "{counts:?}");
    let Bounds { min, max } = counts.active_regions.unwrap();
    assert!(counts.active_pages == Some(3) && (min..=max).contains(&2), "{counts:?}");
}

#[test]
fn a_process_that_is_gone_or_unreadable_does_not_touch_the_others() {
    let system = System::running().unwrap();
    let mut program = Program::start();
    let mut ended = Program::start();
    let pids = [0, program.pid(), ended.pid()];
    let found = measure(&system, &pids, Options { clear: true, mappings: false }, || {
        ended.child.kill().unwrap();
        ended.child.wait().unwrap();
    });
    assert_eq!(found.processes.len(), 1);
    assert_eq!(found.processes[0].pid, program.pid());
    let reasons: Vec<(u32, &str)> =
        found.left_out.iter().map(|it| (it.pid, it.reason.as_str())).collect();
    let expected = "there is no such process, or it has ended";
    assert_eq!(reasons, [(0, expected), (ended.pid(), expected)]);
    assert!(found.processes[0].mappings.is_empty());
    program.send("map");
    program.answer("mapped");
}

#[test]
fn pages_that_are_mapped_twice_are_shared() {
    let system = System::running().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let regions = 4;
    let size_bytes = (regions * system.geometry.region_bytes()) as usize;
    file.as_file().set_len(size_bytes as u64).unwrap();
    let maps: Vec<Mapping> = (0..2)
        .map(|_| {
            Mapping::file_shared(
                &File::options().read(true).write(true).open(file.path()).unwrap(),
                size_bytes,
            )
            .unwrap()
        })
        .collect();
    for mapping in &maps {
        mapping.touch(system.geometry.page_bytes as usize, 1);
    }
    let own = std::process::id();
    let found = measure(&system, &[own], Options { clear: false, mappings: true }, || ());
    // Pages are mapped twice, by one process: no other process has them, but another page table.
    for mapping in &maps {
        let counts = at(&found, address(mapping)).counts;
        assert_eq!(counts.shared_pages, regions * system.geometry.region_pages);
        assert!((regions..=regions + 1).contains(&counts.regions), "{counts:?}");
    }
}
