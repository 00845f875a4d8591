//! The engine as a whole, against a second simulator that is written to be obviously right.

mod agreement;
mod reference;
