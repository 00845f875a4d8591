//! What runs of commands did with their time, next to how long they took.

use model::{BASELINE, Run};
use profile::RunProfile;
use render::{Block, Document};

use crate::sampled_document::sampled_summary;

/// Loads with a sentence on one screen.
const MOST_LOADS: usize = 2;

/// Adds a sentence for each load whose runs have a profile to a result: the first run of each.
pub fn with_run_profiles(
    mut document: Document<'static>,
    runs: &[Run],
    profiles: &[RunProfile],
) -> Document<'static> {
    let mut seen: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    for run in runs {
        let Some(header) = &run.header else { continue };
        let load = header.spec.load.name.as_str();
        let profile = profiles.iter().find(|it| it.run_id == header.run_id);
        let Some(profile) = profile.filter(|_| !seen.contains(&load)) else { continue };
        seen.push(load);
        let text = sampled_summary(&profile.profile).join("; ");
        sentences.push(match load {
            BASELINE => format!("Profile: {text}."),
            load => format!("Profile under {load}: {text}."),
        });
    }
    if let Some(brief) = &mut document.brief {
        brief.blocks.extend(sentences.iter().take(MOST_LOADS).cloned().map(Block::Sentence));
    }
    document.blocks.extend(sentences.into_iter().map(Block::Sentence));
    document
}
