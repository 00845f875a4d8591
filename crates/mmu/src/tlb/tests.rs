//! Tests of the simulator as a whole.

mod agreement;
mod by_hand;
mod naive;
mod naive_table;
