//! Any bytes of another machine are words and lines of runs, or refused with the place; how they are
//! cut makes no difference, what was read is written as it was, and of a run no more is taken than
//! came.
#![no_main]

// Only the near side takes runs, so it is not public there.
#[path = "../../crates/measure/remote/src/receipt.rs"]
mod receipt;

use lease::wire::{Answer, Ask, Frame, Reader, encode, write_run_lines};
use libfuzzer_sys::fuzz_target;
use receipt::{Receipt, Received};
use serde::de::DeserializeOwned;

fn all<W: DeserializeOwned>(bytes: &[u8], piece: usize) -> Vec<Result<Frame<W>, String>> {
    let mut reader = Reader::default();
    let mut said = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        reader.push(piece);
        loop {
            match reader.next_frame() {
                Ok(None) => break,
                Ok(Some(more)) => said.push(Ok(more)),
                Err(error) => {
                    said.push(Err(error));
                    return said;
                }
            }
        }
    }
    said
}

fuzz_target!(|input: (usize, &[u8])| {
    let (piece, bytes) = input;
    let _ = all::<Ask>(bytes, piece);
    // As it comes, and behind the word after which every byte counts.
    for bytes in [bytes.to_vec(), [encode(&Answer::Pong), bytes.to_vec()].concat()] {
        let said = all::<Answer>(&bytes, bytes.len());
        assert_eq!(said, all::<Answer>(&bytes, piece));
        let mut receipt = Receipt::new("00");
        for said in said.into_iter().flatten() {
            let mut again = encode(&Answer::Pong);
            match &said {
                Frame::Message(word) => again.extend(encode(word)),
                Frame::RunLine(line) => write_run_lines(line, &mut again).expect("a vector takes all"),
            }
            assert_eq!(all::<Answer>(&again, again.len()).pop(), Some(Ok(said.clone())));
            match receipt.take(said) {
                Ok(Received::Whole(ended)) => assert_eq!(ended.size_bytes, receipt.size_bytes),
                Ok(_) => assert!(receipt.size_bytes <= bytes.len() as u64),
                Err(_) => break,
            }
        }
    }
});
