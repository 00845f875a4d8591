//! A control group is beyond its `memory.high`, cannot get below it, and is put to sleep for it.

use crate::evidence::NOTE_SHARE;
use crate::{
    Change, Confidence, Evidence, Family, Finding, Interval, LostTime, Price, Provocation, Rule,
    Scope, UnitCosts, Verdict,
};

/// From this share of the time with every process of the group waiting for memory on, the group is
/// stalled (methods.md, rule 3).
const FULL_SHARE: f64 = 0.10;
/// From this share of anonymous memory on, nothing is left that could be evicted without swap
/// space (methods.md, rule 3).
const ANON_SHARE: f64 = 0.90;
/// Reclaims beyond `high` a second that speak for it. A process that is put to sleep for the
/// longest time (2 s, `MEMCG_MAX_HIGH_DELAY_JIFFIES`) has fewer, so that it is no condition.
const HIGH_PER_S: f64 = 10.0;

/// Livelock at `memory.high`.
pub(crate) const RULE: Rule = Rule {
    name: "memory-high",
    family: Family::Reclaim,
    about: "a control group beyond memory.high has nothing to evict and is put to sleep",
    cost: "pressure of memory of the group (full): the time in which all of its processes waited",
    provocation: Provocation::Load("provoke-memory-high"),
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> Verdict {
    let (mut told, mut most) = (0, 0);
    let mut findings = Vec::new();
    let no_swap = interval.machine().level("meminfo", "SwapFree_kb") == Some(0);
    for (path, change) in interval.groups() {
        let Some(events) = change.grown("memcg", "events_high") else { continue };
        told += 1;
        most = most.max(events);
        if events > 0 {
            findings.extend(stalled(interval, path, &change, no_swap));
        }
    }
    match (findings.is_empty(), told) {
        (false, _) => Verdict::Found(findings),
        (true, 0) => Verdict::Unable("no control group (version 2) tells memory.events".to_owned()),
        (true, _) if most == 0 => {
            Verdict::RuledOut(format!("none of {told} control groups went beyond memory.high"))
        }
        (true, _) => Verdict::RuledOut(format!(
            "{most} times a control group went beyond memory.high, and got below it again"
        )),
    }
}

/// The finding, if a group that went beyond `high` cannot get below it.
fn stalled(
    interval: &Interval<'_>,
    path: &str,
    change: &Change<'_>,
    no_swap: bool,
) -> Option<Finding> {
    let elapsed_s = interval.elapsed_ns() as f64 / 1e9;
    let full_us = change.grown("memcg_psi", "memory_full_us")?;
    let lost = LostTime::of_wall(full_us as f64 * 1e3, interval.elapsed_ns());
    let full_share = lost.share();
    let anon_share = change.level("memcg", "anon")? as f64
        / change.level("memcg", "current_bytes")?.max(1) as f64;
    if !no_swap || full_share < FULL_SHARE.max(NOTE_SHARE) || anon_share < ANON_SHARE {
        return None;
    }
    let events = change.grown("memcg", "events_high")?;
    let evidence = vec![
        Evidence::of("memcg_psi/memory_full share of the time", full_share, FULL_SHARE),
        Evidence::of("memcg/anon share of the group's memory", anon_share, ANON_SHARE),
        Evidence::of("memcg/events_high per s", events as f64 / elapsed_s, HIGH_PER_S),
        Evidence::told("meminfo/SwapFree_kb", 0.0),
    ];
    let over = change.level("memcg", "high_bytes").and_then(|high| {
        let over_bytes = change.level("memcg", "current_bytes")?.checked_sub(high)?;
        Some(model::units::format_size(over_bytes))
    });
    Some(Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Group(path.to_owned()),
        condition: format!(
            "beyond memory.high with {:.0} % anonymous memory and no swap space: its processes are \
             put to sleep at each charge, and nothing ever ends it",
            100.0 * anon_share
        ),
        price: Price::Known(lost),
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: over.map(|over| format!("with memory.high {over} higher: no sleep")),
        remedy: "raise memory.high, or use memory.max and let the group be restarted, or give it \
                 swap space"
            .to_owned(),
        confirm: "cat memory.events memory.pressure of the group; \
                  /proc/PID/wchan is mem_cgroup_handle_over_high"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{GROUP, Second};

    /// A group that is asleep for 950 ms of a second.
    fn livelock() -> Second {
        Second::bare()
            .level("meminfo", "SwapFree_kb", 0)
            .group("memcg", "events_high", 17)
            .group("memcg_psi", "memory_full_us", 950_000)
            .group_level("memcg", "anon", 23 << 20)
            .group_level("memcg", "current_bytes", 24 << 20)
            .group_level("memcg", "high_bytes", 20 << 20)
    }

    #[test]
    fn a_group_that_cannot_get_below_high_is_found() {
        let finding = livelock().found(&RULE);
        assert_eq!(
            (finding.lost().unwrap().lost_ns(), finding.lost().unwrap().share()),
            (950_000_000, 0.95)
        );
        assert_eq!(finding.scope, Scope::Group(GROUP.to_owned()));
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        assert_eq!(finding.counterfactual.as_deref(), Some("with memory.high 4M higher: no sleep"));
        // Put to sleep for the longest time, it has hardly an event, and is found all the same.
        let asleep = livelock().group("memcg", "events_high", 1);
        assert_eq!(asleep.found(&RULE).confidence, Confidence { agreeing: 2, asked: 3 });
    }

    #[test]
    fn a_group_that_has_a_way_out_is_not() {
        for healthy in [
            livelock().group("memcg", "events_high", 0),
            livelock().group("memcg_psi", "memory_full_us", 90_000),
            livelock().group_level("memcg", "anon", 12 << 20),
            livelock().level("meminfo", "SwapFree_kb", 4096),
        ] {
            assert!(matches!(healthy.verdict(&RULE), Verdict::RuledOut(_)), "{healthy:?}");
        }
    }

    #[test]
    fn without_version_2_it_cannot_be_told() {
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
