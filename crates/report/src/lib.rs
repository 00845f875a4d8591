//! Results as text.
//!
//! **Invariant:** strings out. Nothing here opens a file, prints, or knows a clock; the same input
//! gives the same bytes.

pub mod columns;
pub mod matrix;
mod matrix_resp1;
mod matrix_text;
mod reading;
pub mod resp1;
