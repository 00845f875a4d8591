//! The mechanisms of a kernel whose cost the program `mechanism` measures: their names, for those who
//! let it run in a guest. The program is `main.rs`.

/// Name of each mechanism, and what is timed.
pub const MECHANISMS: [(&str, &str); 22] = [
    ("syscall", "a system call that does nothing"),
    ("fork", "a process is forked, exits and is waited for"),
    ("thread", "a thread is started, ends and is joined"),
    ("switch", "a byte wakes another process, by a pipe"),
    ("futex", "a thread wakes another one"),
    ("pipe", "4 KiB through a pipe to oneself"),
    ("anon-fault", "a page of fresh memory is touched first"),
    ("cow", "a page that a child shares is written to"),
    ("file-fault", "a cached page of a file is mapped"),
    ("mmap", "16 KiB are mapped and unmapped, untouched"),
    ("munmap", "a page in use is unmapped"),
    ("mprotect", "1 MiB in use is made read-only and writable"),
    ("shootdown", "64 KiB are made read-only and writable while a second CPU uses them"),
    ("swap-out", "a page of memory is reclaimed to swap"),
    ("swap-in", "a page is read from swap, with its neighbours"),
    ("refault", "an evicted page of a mapped file returns"),
    ("compaction", "all memory is compacted"),
    ("open", "a file is opened and closed"),
    ("write", "4 KiB are written into the page cache"),
    ("readahead", "4 KiB are read from disk, in order"),
    ("throttling", "4 KiB are written, where more is dirty than may be"),
    ("boot", "from power-on to the first process"),
];

/// The command that measures one of them, in a guest that has the program.
pub fn command(name: &str) -> String {
    format!("mechanism {name}")
}

/// What finds the time in the command's output: a regular expression with one group.
pub const METRIC: &str = "mechanism: ([0-9.]+) ns";
