//! What processes map, touch and share, down to the page of their page tables.
//!
//! A page of page tables maps one *region*: as many pages in a row, aligned, as it has entries
//! (512 pages of 4 KiB: 2 MiB). A region costs one such page as soon as a single page of it is
//! mapped, once in every process: what the pmeg was to the Sun-4. [`measure`] counts regions and
//! pages of processes, those that were active in a window of time, how full regions are, and what
//! is mapped elsewhere too; `docs/footprint.md` has all figures and formulas.
//!
//! **Invariant:** counting is exact or says how far it is not: where the places of active pages are
//! not known, regions are a range ([`Bounds`]), never a guess. What fails for one process is
//! reported in [`Footprint::left_out`] and does not touch the others. No clock: the caller waits.

mod bounds;
mod count;
mod geometry;
mod idle;
mod kind;
mod measure;
mod pages;
mod process;
mod saving;
mod sharing;
mod system;

pub use bounds::Bounds;
pub use count::Counts;
pub use geometry::Geometry;
pub use kind::Kind;
pub use measure::{ActivitySource, Footprint, LeftOut, Totals, measure};
pub use process::{MappingFootprint, Options, ProcessFootprint, Tables};
pub use saving::Saving;
pub use sharing::SharedTables;
pub use system::System;
