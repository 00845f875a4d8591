//! References of a guest that are passed on, in place of the simulation.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use crate::complain;
use crate::tlb::{Mapped, Translations};
use crate::words::{MOST_REFERENCES, Word};

/// Words that are written at once.
const BUFFERED: usize = 1 << 13;

/// The references between two times.
pub(crate) struct Stream {
    /// `None` after a write that failed.
    output: Option<File>,
    buffer: Vec<u8>,
    from_ns: u64,
    to_ns: u64,
    is_open: bool,
    /// Known translations of each virtual CPU since `from_ns`, one entry per CPU.
    translations: Vec<Translations>,
    space: u32,
    cpu: usize,
    run: Option<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    page: u64,
    fetch: bool,
    written: bool,
    count: u64,
}

impl Stream {
    pub(crate) fn new(path: &str, cpus: usize, from_ns: u64, to_ns: u64) -> io::Result<Self> {
        Ok(Self {
            output: Some(OpenOptions::new().write(true).open(path)?),
            buffer: Vec::with_capacity(8 * BUFFERED),
            from_ns,
            to_ns,
            is_open: false,
            translations: vec![Translations::default(); cpus],
            space: 0,
            cpu: 0,
            run: None,
        })
    }

    /// A block begins at a time.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64) {
        let is_open = (self.from_ns..self.to_ns).contains(&now_ns);
        if is_open != self.is_open {
            self.end_run();
            self.is_open = is_open;
            self.switch(self.space, self.cpu);
        }
    }

    /// References to one page; `false` if it is not known how it is mapped.
    #[inline]
    pub(crate) fn refer(&mut self, page: u64, fetch: bool, written: bool, count: u64) -> bool {
        if !self.is_open {
            return true;
        }
        if let Some(run) = &mut self.run
            && (run.page, run.fetch) == (page, fetch)
            && run.count + count <= MOST_REFERENCES
        {
            run.count += count;
            run.written |= written;
            return true;
        }
        if self.translations[self.cpu].get(page).is_none() {
            return false;
        }
        self.end_run();
        self.run = Some(Run { page, fetch, written, count });
        true
    }

    pub(crate) fn translated(&mut self, page: u64, mapped: Mapped) {
        self.end_run();
        self.translations[self.cpu].insert(page, mapped);
        let (size, is_global) = (mapped.size as u8, mapped.is_global);
        self.put(Word::Translation { page, size, is_global });
    }

    pub(crate) fn switch(&mut self, space: u32, cpu: usize) {
        self.end_run();
        (self.space, self.cpu) = (space, cpu);
        self.put(Word::Switch { space, cpu: cpu as u8 });
    }

    pub(crate) fn flush(&mut self, globals_too: bool) {
        self.end_run();
        self.translations[self.cpu].flush(globals_too);
        self.put(Word::Flush { globals_too });
    }

    pub(crate) fn flush_page(&mut self, page: u64) {
        self.end_run();
        self.translations[self.cpu].flush_page(page);
        self.put(Word::FlushPage { page });
    }

    /// Writes the rest.
    pub(crate) fn finish(&mut self) {
        self.end_run();
        self.write();
    }

    fn end_run(&mut self) {
        if let Some(Run { page, fetch, written, count }) = self.run.take() {
            self.put(Word::Run { page, count, fetch, written });
        }
    }

    fn put(&mut self, word: Word) {
        if !self.is_open {
            return;
        }
        self.buffer.extend(word.encode().to_le_bytes());
        if self.buffer.len() >= 8 * BUFFERED {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if let Some(output) = &mut self.output
            && let Err(error) = output.write_all(&self.buffer)
        {
            complain(&format!("the references cannot be passed on: {error}"));
            self.output = None;
        }
        self.buffer.clear();
    }
}
