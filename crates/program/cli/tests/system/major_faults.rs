//! Page faults that read from a disk have the file and the function that touches it.

use std::fs;

use crate::recorded::compile;
use crate::sampled::{can_sample, profiled};
use crate::skip::skip;
use crate::support::Fixture;

/// Touches every fourth page of a file that is not in memory, each with a fault of its own.
const SCANS: &str = r#"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void scans(volatile char *from, long pages) {
    for (long page = 0; page < pages; page += 4) sum += from[page * 4096];
}
int main(void) {
    int file = open("big.data", O_RDWR);
    long bytes = lseek(file, 0, SEEK_END);
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    char *from = mmap(0, bytes, PROT_READ, MAP_SHARED, file, 0);
    madvise(from, bytes, MADV_RANDOM);
    scans(from, bytes / 4096);
    return 0;
}
"#;
const PAGES: u64 = 2000;

#[test]
fn a_fault_that_reads_a_file_has_its_name_and_the_function_that_touches_it() {
    const NAME: &str = "a_fault_that_reads_a_file_has_its_name_and_the_function_that_touches_it";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "scans.c", SCANS, &["-O2", "-fomit-frame-pointer"]);
    fs::write(fixture.path().join("big.data"), vec![7; 4096 * PAGES as usize]).unwrap();
    let (profile, _) = profiled(&fixture, "--faults major", "scans");
    if profile["missed"] != serde_json::json!([]) {
        return skip(NAME, "this user may not see faults in the kernel");
    }
    let count = profile["fault_count"].as_u64().unwrap_or(0);
    if count < PAGES / 8 {
        return skip(NAME, "this file system keeps files in memory");
    }
    let first = &profile["faults"][0];
    assert_eq!(first["function"], "data of big.data", "{profile:#}");
    assert_eq!(first["caller"], "scans [scans]", "{profile:#}");
    assert!(first["share"].as_f64().unwrap() > 0.8, "{profile:#}");
}
