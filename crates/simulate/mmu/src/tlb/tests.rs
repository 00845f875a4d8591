//! Tests of the simulator as a whole.

mod agreement;
mod by_hand;
mod guest;
mod naive;
mod naive_table;
mod wire;

/// One reference to data on each page, in order.
fn data(pages: &[u64]) -> Vec<trace::PageRun> {
    let run = |page: &u64| trace::PageRun { page: *page, count: 1, fetch: false, written: false };
    pages.iter().map(run).collect()
}
