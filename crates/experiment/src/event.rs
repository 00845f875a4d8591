//! What happens while runs are made.

use std::path::Path;

use model::{EndStatus, Line};

use crate::segment::Segment;

/// Something that happened. A closed set: whoever shows progress handles each.
#[derive(Debug)]
pub enum Event<'a> {
    /// All segments are known; nothing has been run yet. Several may run at a time.
    Planned {
        /// The segments in their order.
        segments: &'a [Segment],
        /// Longest time that they are meant to take, in ns; 0 = none that counts, for they are
        /// simulated.
        longest_ns: u64,
        /// Whether that is time in guests, which passes faster or slower than the wall clock's.
        is_virtual: bool,
    },
    /// A segment begins.
    Started {
        /// Its place in the order, from 0.
        index: usize,
        /// The segment.
        segment: &'a Segment,
    },
    /// The run of the segment wrote a line.
    Line {
        /// The segment's place in the order, from 0.
        index: usize,
        /// The line.
        line: &'a Line,
    },
    /// Something that the user is to know: a connection broke, or is there again.
    Note {
        /// In words.
        text: &'a str,
    },
    /// The segment is over.
    Ended {
        /// Its place in the order, from 0.
        index: usize,
        /// How its run ended.
        status: EndStatus,
        /// The run file.
        path: &'a Path,
        /// Whether it was taken from the cache.
        cached: bool,
    },
    /// A segment cannot be run on this subject.
    Skipped {
        /// The segment's place in the order, from 0.
        index: usize,
        /// Why.
        reason: &'a str,
    },
}
