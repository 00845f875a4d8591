//! A control group above `memory.high` cannot reclaim enough and is put to sleep.

use super::*;

/// Share of time with every process waiting for memory that is a stall (methods.md, rule 3).
const FULL_SHARE: f64 = 0.10;
/// Share of anonymous memory that leaves nothing to evict without swap (methods.md, rule 3).
const ANON_SHARE: f64 = 0.90;
/// Reclaims above `high` per second as evidence. Not required: a process that sleeps for the
/// longest time (2 s, `MEMCG_MAX_HIGH_DELAY_JIFFIES`) has fewer.
const HIGH_PER_S: f64 = 10.0;

pub(crate) const RULE: Rule = Rule {
    name: "memory-high",
    family: Family::Reclaim,
    about: "a control group beyond memory.high has nothing to evict and is put to sleep",
    cost: "pressure of memory of the group (full): the time in which all of its processes waited",
    provocation: Provocation::Load("provoke-memory-high"),
    remedy: "raise memory.high, or use memory.max and let the group be restarted, or give it \
             swap space",
    confirm: "cat memory.events memory.pressure of the group; \
              /proc/PID/wchan is mem_cgroup_handle_over_high",
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> RuleResult {
    let events = |(_, group): (&str, Change<'_>)| group.grown("memcg", "events_high");
    let counted: Vec<f64> = interval.groups().filter_map(events).collect();
    let most = counted.iter().copied().reduce(f64::max);
    let most = most.ok_or_else(|| unable("no control group (version 2) has memory.events"))?;
    if most == 0.0 {
        let count = counted.len();
        return ruled_out(format!("none of {count} control groups went beyond memory.high"));
    }
    let stalled = |(path, group): (&str, Change<'_>)| stalled(interval, path, &group);
    let findings: Vec<Finding> = interval.groups().filter_map(stalled).collect();
    if findings.is_empty() {
        return ruled_out(format!(
            "{most} times a control group went beyond memory.high, and got below it again"
        ));
    }
    Ok(findings)
}

/// The finding, if a group is above `high` and cannot get below it.
fn stalled(interval: &Interval<'_>, path: &str, group: &Change<'_>) -> Option<Finding> {
    let events = group.grown("memcg", "events_high")?;
    let lost = group.pressure("memcg_psi", "memory_full_us")?;
    let used_bytes = group.level("memcg", "current_bytes")?;
    let anon_share = group.level("memcg", "anon")? / used_bytes.max(1.0);
    let no_swap = interval.machine().level("meminfo", "SwapFree_kb") == Some(0.0);
    if events == 0.0 || !no_swap || lost.lost_share < FULL_SHARE || anon_share < ANON_SHARE {
        return None;
    }
    let over = group.level("memcg", "high_bytes").map(|high| used_bytes - high);
    let counterfactual = over.filter(|over| *over >= 0.0).map(|over| {
        format!("with memory.high {} higher: no sleep", model::units::format_size(over as u64))
    });
    let condition = format!(
        "beyond memory.high with {:.0} % anonymous memory and no swap space: its processes are put \
         to sleep at each charge, and nothing ever ends it",
        100.0 * anon_share
    );
    let found = RULE
        .finding(Scope::Group(path.to_owned()), Price::Known(lost), condition)
        .speaks("memcg_psi/memory_full share of the time", lost.lost_share, FULL_SHARE)
        .speaks("memcg/anon share of the group's memory", anon_share, ANON_SHARE)
        .speaks("memcg/events_high per s", events / interval.seconds(), HIGH_PER_S)
        .notes("meminfo/SwapFree_kb", 0.0);
    Some(Finding { counterfactual, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::rule::NoFinding;
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
            (finding.lost().unwrap().lost_ns, finding.lost().unwrap().lost_share),
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
            assert!(matches!(healthy.verdict(&RULE), Err(NoFinding::RuledOut(_))), "{healthy:?}");
        }
    }

    #[test]
    fn without_version_2_it_cannot_be_judged() {
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
