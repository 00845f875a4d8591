//! The program of the page, for `wasm32-wasip1`: a request on standard input, its answer on standard
//! output.

use std::io::{self, BufReader};

fn main() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    playground::answer(&mut input, &mut io::stdout().lock())
}
