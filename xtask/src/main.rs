//! Checks of the project's own rules.

fn main() {}
