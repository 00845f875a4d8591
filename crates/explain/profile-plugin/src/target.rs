//! What becomes of a guest's references: they are simulated, charged, or passed on.

use crate::charged::Charged;
use crate::nodes::Node;
use crate::prices::Prices;
use crate::stream::Stream;
use crate::tlb::{Mapped, Simulator};

pub(crate) enum Target {
    /// A machine's TLBs are simulated, and each reference has a price.
    Simulated(Box<(Simulator, Prices)>),
    /// A machine's TLBs are simulated, and the virtual clock pays for each reference.
    Charged(Box<Charged>),
    /// They are written elsewhere.
    Written(Box<Stream>),
}

impl Target {
    /// A virtual CPU executes a block at a time, in a call stack.
    #[inline]
    pub(crate) fn enter(&mut self, cpu: usize, node: Node, now_ns: u64) {
        match self {
            Self::Simulated(both) => both.1.enter(cpu, node, both.0.price()),
            Self::Charged(_) => {}
            Self::Written(stream) => stream.advance(now_ns),
        }
    }

    /// References to a page; `false` if it is not known how it is mapped.
    #[inline]
    pub(crate) fn refer(&mut self, page: u64, fetch: bool, written: bool, count: u64) -> bool {
        match self {
            Self::Simulated(both) => both.0.refer_in_guest(page, fetch, count),
            Self::Charged(charged) => charged.refer(page, fetch, count),
            Self::Written(stream) => stream.refer(page, fetch, written, count),
        }
    }

    pub(crate) fn translated(&mut self, page: u64, mapped: Mapped) {
        match self {
            Self::Simulated(both) => both.0.translated(page, mapped),
            Self::Charged(charged) => charged.translated(page, mapped),
            Self::Written(stream) => stream.translated(page, mapped),
        }
    }

    pub(crate) fn switch(&mut self, space: u32, cpu: usize) {
        match self {
            Self::Simulated(both) => both.0.switch(space, cpu as u32),
            Self::Charged(charged) => charged.switch(space, cpu as u32),
            Self::Written(stream) => stream.switch(space, cpu),
        }
    }

    pub(crate) fn flush(&mut self, globals_too: bool) {
        match self {
            Self::Simulated(both) => both.0.flush_guest(globals_too),
            Self::Charged(charged) => charged.flush(globals_too),
            Self::Written(stream) => stream.flush(globals_too),
        }
    }

    pub(crate) fn flush_page(&mut self, page: u64) {
        match self {
            Self::Simulated(both) => both.0.flush_guest_page(page),
            Self::Charged(charged) => charged.flush_page(page),
            Self::Written(stream) => stream.flush_page(page),
        }
    }

    /// A virtual CPU executes this task from here on.
    pub(crate) fn switch_task(&mut self, cpu: usize, life: u32) {
        if let Self::Simulated(both) = self {
            both.1.switch(cpu, life, both.0.price());
        }
    }

    /// Ends an interval.
    pub(crate) fn cut(&mut self) {
        if let Self::Simulated(both) = self {
            both.1.cut(both.0.price());
        }
    }

    /// The file of prices, which only the first kind has; writes the rest of references that are passed on.
    pub(crate) fn finish(&mut self, unreadable: u64) -> Option<Vec<u8>> {
        match self {
            Self::Simulated(both) => Some(both.1.finish(&both.0, unreadable)),
            Self::Charged(_) => None,
            Self::Written(stream) => {
                stream.finish();
                None
            }
        }
    }
}
