//! Attribution: which factor, and which part of the work, a change is to be put down to.

mod ledger;

pub use ledger::{Condition, Distance, Ledger, ledger};
