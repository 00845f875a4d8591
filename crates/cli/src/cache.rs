//! `thrashlab cache`: what is kept of guests and fleets, and removing it.

use anyhow::Context;
use model::units::format_size;
use report::columns::aligned;
use serde_json::json;
use vm::{Cache, Contents, Usage};

use crate::vm_args::{CacheArgs, CacheCommand};
use crate::{Failure, print, print_json};

/// Does what is asked.
pub(crate) fn cache(args: &CacheArgs) -> Result<(), Failure> {
    match args.command {
        CacheCommand::Stat { json } => stat(json),
        CacheCommand::Prune { all } => prune(all),
    }
}

fn stat(json: bool) -> Result<(), Failure> {
    let cache = Cache::of_user();
    let root = cache.root().display().to_string();
    let contents = cache.contents().with_context(|| format!("read {root}"))?;
    if json {
        let usage = |usage: Usage| json!({ "count": usage.count, "size_bytes": usage.size_bytes });
        return print_json(&json!({
            "folder": root,
            "kernels": usage(contents.kernels),
            "snapshots": usage(contents.snapshots),
            "cells": usage(contents.cells),
            "programs": usage(contents.programs),
            "fleet": usage(contents.fleet),
        }));
    }
    print(&format!("{root}\n{}", table(&contents)))
}

fn prune(all: bool) -> Result<(), Failure> {
    let cache = Cache::of_user();
    let root = cache.root().display().to_string();
    let removed = cache.prune(all).with_context(|| format!("prune {root}"))?;
    print(&format!("removed from {root}\n{}", table(&removed)))
}

fn table(contents: &Contents) -> String {
    let row = |name: &str, usage: Usage| {
        vec![name.to_owned(), usage.count.to_string(), format_size(usage.size_bytes)]
    };
    let Contents { kernels, snapshots, cells, programs, fleet } = *contents;
    let all = [kernels, snapshots, cells, programs, fleet];
    let sum = Usage {
        count: all.iter().map(|usage| usage.count).sum(),
        size_bytes: all.iter().map(|usage| usage.size_bytes).sum(),
    };
    aligned(&[
        ["what", "count", "size"].map(str::to_owned).to_vec(),
        row("kernels", kernels),
        row("snapshots", snapshots),
        row("cells", cells),
        row("programs", programs),
        row("fleet", fleet),
        row("together", sum),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_sum() {
        let usage = |count, size_bytes| Usage { count, size_bytes };
        let contents = Contents {
            kernels: usage(1, 1 << 20),
            snapshots: usage(2, 1 << 21),
            cells: usage(3, 1 << 20),
            programs: usage(1, 1 << 20),
            fleet: usage(2, 1 << 20),
        };
        assert!(table(&contents).ends_with("together       9  6M\n"), "{}", table(&contents));
    }
}
