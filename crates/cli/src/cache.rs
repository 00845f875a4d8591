//! `thrashlab cache`: what is kept of guests and fleets, and removing it.

use anyhow::Context;
use keep::{Cache, Contents, Usage};
use model::units::format_size;
use report::columns::aligned;
use serde_json::json;

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
        let mut object = json!({ "folder": root });
        for (name, usage) in contents {
            object[name] = json!({ "count": usage.count, "size_bytes": usage.size_bytes });
        }
        return print_json(&object);
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
    let sum = Usage {
        count: contents.iter().map(|(_, usage)| usage.count).sum(),
        size_bytes: contents.iter().map(|(_, usage)| usage.size_bytes).sum(),
    };
    let mut rows = vec![["what", "count", "size"].map(str::to_owned).to_vec()];
    rows.extend(contents.iter().map(|(name, usage)| row(name, *usage)));
    rows.push(row("together", sum));
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_sum() {
        let usage = |count, size_bytes| Usage { count, size_bytes };
        let contents = vec![("snapshots", usage(1, 1 << 20)), ("cells", usage(8, 5 << 20))];
        assert!(table(&contents).ends_with("together       9  6M\n"), "{}", table(&contents));
    }
}
