//! `thrashlab vm kernels`: kernels at hand, and what they are good for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent::Waiter;
use anyhow::Context;
use clap::Args;
use keep::Cache;
use kernels::{AvailableKernel, Kernel, KernelArg, KernelError, KernelPlace, locate, survey};
use render::{Block, Cell, Document, Table};
use serde_json::{Value, json};
use vm::obstacle;

use crate::output::{OutputArgs, show};
use crate::{OrWrong, Result, guests};

const EXAMPLES: &str = "\
A named kernel is downloaded if needed, and cached. Nothing is installed.

Examples:
  thrashlab vm kernels
  thrashlab vm kernels --dir ~/kernels --all
  thrashlab vm kernels deb:linux-image-cloud-amd64 host";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KernelsArgs {
    /// Kernels to describe in full, each as in kernel=
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,

    /// Look in this folder, too
    #[arg(long = "dir", value_name = "DIR", conflicts_with = "kernels")]
    dirs: Vec<PathBuf>,

    /// List all kernels of the archive
    #[arg(long, conflicts_with = "kernels")]
    all: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Kernels of the archive that are listed without --all.
const MOST_OF_ARCHIVE: usize = 15;

pub(crate) fn kernels(args: &KernelsArgs) -> Result<()> {
    let waiter = Waiter::new().context("catch signals")?;
    let outcome = if args.kernels.is_empty() { list(args) } else { describe(args) };
    outcome.map_err(|failure| guests::stopped_or(&waiter, failure))
}

/// A kernel of the list; those of this disk have been read.
struct Listed {
    found: AvailableKernel,
    read: Option<Result<Kernel, KernelError>>,
}

fn list(args: &KernelsArgs) -> Result<()> {
    let cache_dir = Cache::of_user().kernels();
    let (archive, local): (Vec<AvailableKernel>, Vec<AvailableKernel>) =
        survey(&cache_dir, &args.dirs)
            .into_iter()
            .partition(|found| found.place == KernelPlace::Archive);
    let shown = if args.all { archive.len() } else { MOST_OF_ARCHIVE.min(archive.len()) };
    let left_out = archive.len() - shown;
    let local = local.into_iter().map(|found| {
        let read = Some(locate(&found.arg, &cache_dir));
        Listed { found, read }
    });
    let archive = archive.into_iter().take(shown).map(|found| Listed { found, read: None });
    let all: Vec<Listed> = local.chain(archive).collect();
    let kernels = || all.iter().map(listed_json).collect::<Vec<_>>();
    let data = || json!({ "kernels": kernels(), "left_out": left_out });
    show(&table(&all, left_out).with_json(data), &args.output)
}

fn table(all: &[Listed], left_out: usize) -> Document<'static> {
    if all.is_empty() {
        let hint = "no kernel is available: name a folder with --dir DIR, or, on Debian, run \
                    apt-get update";
        return Document::of(vec![hint.into()]);
    }
    let unknown = kernels::ConfigFacts::parse("");
    let names = unknown.main_words().iter().map(|(name, _)| *name);
    let mut heading = vec!["kernel", "release", "where", "guest"];
    heading.extend(names.clone());
    heading.push("missing");
    let rows = all.iter().map(|Listed { found, read }| {
        let mut row =
            vec![found.arg.to_string(), found.release.clone(), place_name(found.place).to_owned()];
        match read {
            None => {}
            Some(Err(error)) => {
                row.push("NO".to_owned());
                row.extend(names.clone().map(|_| "?".to_owned()));
                row.push(error.to_string());
            }
            Some(Ok(kernel)) => {
                row.push(if obstacle(kernel).is_none() { "yes" } else { "NO" }.to_owned());
                row.extend(kernel.facts.main_words().iter().map(|(_, word)| word.clone()));
                let missing = &kernel.facts.missing;
                let names: Vec<&str> = missing.iter().map(|missing| missing.config).collect();
                row.push(if names.is_empty() { "-".to_owned() } else { names.join(" ") });
            }
        }
        row.into_iter().map(|text| Cell::parsed(&text))
    });
    let mut document = Document::of(vec![Table::of("", heading, rows).into()]);
    if left_out > 0 {
        document.push(format!("… and {left_out} more of the archive (--all)"));
    }
    document
}

fn place_name(place: KernelPlace) -> &'static str {
    match place {
        KernelPlace::Host => "host",
        KernelPlace::Folder => "folder",
        KernelPlace::Cache => "cache",
        KernelPlace::Archive => "archive",
    }
}

fn describe(args: &KernelsArgs) -> Result<()> {
    let cache_dir = Cache::of_user().kernels();
    let mut described = Vec::new();
    for name in &args.kernels {
        let arg = name.parse::<KernelArg>().map_err(anyhow::Error::msg).or_wrong("KERNEL")?;
        let kernel = locate(&arg, &cache_dir).with_context(|| format!("find {name}"))?;
        described.push((name, kernel));
    }
    let texts = described.iter().map(|(name, kernel)| description(name, kernel));
    let document = Document::of(texts.map(Block::Verbatim).collect());
    let entries = || described.iter().map(|(name, it)| as_json(name, it)).collect::<Vec<_>>();
    show(&document.with_json(entries), &args.output)
}

fn description(name: &str, kernel: &Kernel) -> String {
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map_or_else(|| "none".to_owned(), |path| path.display().to_string())
    };
    let mut rows = vec![
        ("kernel", name.to_owned()),
        ("release", kernel.release.clone()),
        ("version", kernel.version_text.clone().unwrap_or_else(|| "?".to_owned())),
        ("image", kernel.image_path.display().to_string()),
        ("BLAKE3", kernel.image_hash.clone()),
        ("modules", path(&kernel.modules_dir)),
        ("configuration", path(&kernel.config_path)),
        ("as a guest", obstacle(kernel).map_or("yes".to_owned(), |why| format!("no: {why}"))),
    ];
    rows.extend(kernel.facts.words.iter().cloned());
    let missing = kernel.facts.missing.iter();
    rows.extend(missing.map(|it| ("missing", format!("CONFIG_{}: {}", it.config, it.lost))));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

fn listed_json(listed: &Listed) -> Value {
    let Listed { found, read } = listed;
    let mut object = match read {
        Some(Ok(kernel)) => as_json(&found.arg.to_string(), kernel),
        Some(Err(error)) => json!({ "kernel": found.arg.to_string(), "error": error.to_string() }),
        None => json!({ "kernel": found.arg.to_string() }),
    };
    object["release"] = json!(found.release);
    object["place"] = json!(place_name(found.place));
    object
}

fn as_json(name: &str, kernel: &Kernel) -> Value {
    let facts: BTreeMap<_, _> = kernel.facts.words.iter().cloned().collect();
    let missing = kernel.facts.missing.iter();
    let missing: BTreeMap<_, _> = missing.map(|it| (it.config, it.lost)).collect();
    json!({
        "kernel": name,
        "release": kernel.release,
        "version": kernel.version_text,
        "image": kernel.image_path,
        "blake3": kernel.image_hash,
        "modules": kernel.modules_dir,
        "configuration": kernel.config_path,
        "guest_obstacle": obstacle(kernel),
        "facts": facts,
        "missing": missing,
    })
}

#[cfg(test)]
mod tests {
    use render::plain_text;

    use super::*;

    #[test]
    fn a_kernel_of_the_archive_is_listed_without_facts() {
        let arg: KernelArg = "deb:linux-image-6.1.0-50-amd64".parse().unwrap();
        let found = AvailableKernel {
            arg,
            release: "6.1.0-50-amd64".to_owned(),
            place: KernelPlace::Archive,
        };
        let text = plain_text(&table(&[Listed { found, read: None }], 0));
        assert!(text.starts_with("kernel "), "{text}");
        assert!(text.ends_with("\ndeb:linux-image-6.1.0-50-amd64  6.1.0-50-amd64  archive\n"));
    }
}
