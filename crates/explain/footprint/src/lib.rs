//! What processes map, touch and share, down to the page of their page tables.
//!
//! A page of page tables maps one *region* of aligned pages (512 × 4 KiB = 2 MiB) and is needed for
//! a single mapped page, in every process, like a Sun-4's pmeg. [`measure`] counts regions and
//! pages, those active in a time window, and shared ones; formulas are in `docs/footprint.md`.
//!
//! **Invariant:** counts are exact or state their bounds ([`Bounds`]). What fails for one process
//! is in [`Footprint::left_out`] and does not affect others. No clock: the caller waits.

/// The sum of two structs, field by field; one of two options if both are known.
macro_rules! impl_add {
    ($name:ident: $($field:ident),* $(; if known: $($option:ident),*)?) => {
        impl std::ops::Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self {
                    $($field: self.$field + other.$field,)*
                    $($($option: self.$option.zip(other.$option).map(|(a, b)| a + b),)*)?
                }
            }
        }
    };
}

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
