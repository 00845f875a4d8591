//! `thrashlab cache`: what is kept of guests and fleets, and removing it.

use anyhow::Context;
use clap::Subcommand;
use keep::{Cache, Contents, Usage};
use render::{Cell, Document, Table, plain_text};
use serde_json::json;

use crate::output::{OutputArgs, show};
use crate::{Result, print};

pub(crate) const EXAMPLES: &str = "\
Examples:
  thrashlab cache stat
  thrashlab cache prune";

const STAT_EXAMPLES: &str = "\
The cache is $XDG_CACHE_HOME/thrashlab, else ~/.cache/thrashlab.

Examples:
  thrashlab cache stat
  thrashlab cache stat --json";

const PRUNE_EXAMPLES: &str = "\
Everything is rebuilt when needed; kernel packages may have to be downloaded
again.

Examples:
  thrashlab cache prune
  thrashlab cache prune --all";

#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// Show count and size of kernels, booted machines, cells and fleet data
    #[command(after_help = STAT_EXAMPLES)]
    Stat {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Remove booted machines, cells and fleet data
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune {
        /// Kernels, engines, roots and copies of this program, too
        #[arg(long)]
        all: bool,
    },
}

pub(crate) fn cache(command: &CacheCommand) -> Result<()> {
    let cache = Cache::of_user();
    let root = cache.root.display().to_string();
    match command {
        CacheCommand::Stat { output } => {
            let contents = cache.contents().with_context(|| format!("read {root}"))?;
            let mut object = json!({ "folder": root });
            for (name, usage) in &contents {
                object[name] = json!({ "count": usage.count, "size_bytes": usage.size_bytes });
            }
            show(&table(root, &contents).with_data(object), output)
        }
        CacheCommand::Prune { all } => {
            let removed = cache.prune(*all).with_context(|| format!("prune {root}"))?;
            print(&plain_text(&table(format!("removed from {root}"), &removed)))
        }
    }
}

fn table(caption: String, contents: &Contents) -> Document<'static> {
    let sum = Usage {
        count: contents.iter().map(|(_, usage)| usage.count).sum(),
        size_bytes: contents.iter().map(|(_, usage)| usage.size_bytes).sum(),
    };
    let rows =
        contents.iter().copied().chain([("together", sum)]).map(|(name, usage)| {
            [Cell::from(name), usage.count.into(), Cell::Size(usage.size_bytes)]
        });
    Document::of(vec![Table::of(caption, ["what", "count", "size"], rows).into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_sum() {
        let usage = |count, size_bytes| Usage { count, size_bytes };
        let contents = vec![("snapshots", usage(1, 1 << 20)), ("cells", usage(8, 5 << 20))];
        let text = plain_text(&table("/c".to_owned(), &contents));
        assert!(text.starts_with("/c\nwhat "), "{text}");
        assert!(text.ends_with("together       9    6M\n"), "{text}");
    }
}
