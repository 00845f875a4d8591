//! `thrashlab reference` and `thrashlab show reference:NAME`: the published figures.

use anyhow::Context;
use store::reference::{find, render};

use crate::{Failure, print};

/// Lists them.
pub(crate) fn list() -> Result<(), Failure> {
    print(&store::reference::list())
}

/// Prints one.
pub(crate) fn show(name: &str) -> Result<(), Failure> {
    let found = find(name).context("show").map_err(Failure::WrongUse)?;
    print(&render(found))
}
