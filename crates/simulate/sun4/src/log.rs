//! Events, recorded in tests only: they are compared with those of the reference model.

/// Something that happened to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It got the CPU from another process.
    Switch { process: usize },
    /// It woke.
    Wake { process: usize },
    /// It got a context, perhaps from another process.
    Context { process: usize, from: Option<usize> },
    /// It touched a page without a valid entry for this access.
    Fault { process: usize, slot: u32, page: u64 },
    /// A pmeg was taken for it.
    Steal { process: usize, frame: u16 },
    /// Entries were filled from memory for it.
    Load { process: usize, slot: u32 },
    /// It was swapped.
    SwapOut { process: usize },
    /// It came back.
    SwapIn { process: usize },
}

/// Events with their times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) now_ns: u64,
    pub(crate) events: Vec<(u64, Event)>,
}

impl Log {
    pub(crate) fn note(&mut self, event: Event) {
        if cfg!(test) {
            self.events.push((self.now_ns, event));
        }
    }

    /// Plain faults on pages, one after the other.
    pub(crate) fn faults(&mut self, process: usize, slot: u32, mut pages: u64, each_ns: u64) {
        while cfg!(test) && pages != 0 {
            let page = pages & pages.wrapping_neg();
            self.note(Event::Fault { process, slot, page });
            self.now_ns += each_ns;
            pages &= !page;
        }
    }
}
