//! The playground: what a page asks, and the answer as parts of a page.
//!
//! A request is a line of JSON, after which the bytes of a dropped file may follow. The answer is
//! one line of JSON for each [`Reply`]; a page shows each in place of the one before.
//!
//! **Invariant:** no files, clocks or hidden seeds; the same request gives the same bytes, in a
//! browser and as a native program.

mod answer;
mod choices;
mod dropped;
mod measured;
mod reply;
mod request;

pub use answer::answer;
