//! The processed format of the Firefox Profiler (<https://profiler.firefox.com>): of a guest a sample for
//! each call stack and interval, weighted by its instructions; of a program on this machine the samples of
//! each thread, and for its waits as many as there would have been on a CPU in that time.

use std::collections::HashMap;
use std::time::Duration;

use fxprof_processed_profile::{
    CategoryColor, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Firefox,
    ReferenceTimestamp, SamplingInterval, StackHandle, ThreadHandle, Timestamp, WeightType,
};

use crate::Area;
use crate::CallStacks;
use crate::part::Part;
use crate::profile::Profile;
use crate::sampled::SampledProfile;
use crate::thread_times::ThreadTimes;

/// The counts of a run by call stack and interval, as JSON. Times are those of the run.
pub fn firefox(profile: &Profile, run_id: &str) -> serde_json::Result<Vec<u8>> {
    let started = Duration::from_nanos(profile.started_unix_ns());
    let reference = ReferenceTimestamp::from_duration_since_unix_epoch(started);
    let at = Timestamp::from_nanos_since_reference;
    let mut out = Firefox::new("thrashlab", reference, SamplingInterval::from_millis(1));
    let process = out.add_process(run_id, 1, at(0));
    let thread = out.add_thread(process, 1, at(0), true);
    out.set_thread_name(thread, "instructions of the guest");
    out.set_symbolicated(true);
    let categories = categories(&mut out);
    let mut stacks: Vec<StackHandle> = Vec::new();
    for node in profile.nodes() {
        let parent = profile.parent(node).map(|parent| stacks[parent as usize]);
        let category = categories[profile.area(node) as usize];
        stacks.push(stack(&mut out, thread, parent, profile.name(node), category));
    }
    for (end_ns, counts) in profile.intervals() {
        for found in counts.iter().filter(|found| found.own > 0) {
            let mut rest = found.own;
            // A weight has 32 bits.
            while rest > 0 {
                let weight = rest.min(i32::MAX as u64) as i32;
                let stack = Some(stacks[found.node as usize]);
                out.add_sample(thread, at(end_ns), stack, CpuDelta::ZERO, weight);
                rest -= weight as u64;
            }
        }
    }
    serde_json::to_vec(&out)
}

/// The samples and waits of each thread of a program on this machine, as JSON; `observed` names the
/// program, of which so many samples a second were taken.
pub fn sampled_firefox(
    profile: &SampledProfile,
    observed: &str,
    frequency_hz: u64,
) -> serde_json::Result<Vec<u8>> {
    let started = Duration::from_nanos(profile.started_unix_ns);
    let reference = ReferenceTimestamp::from_duration_since_unix_epoch(started);
    let sample_ns = 1_000_000_000 / frequency_hz.max(1);
    let interval = SamplingInterval::from_nanos(sample_ns);
    let at = Timestamp::from_nanos_since_reference;
    let mut out = Firefox::new("thrashlab", reference, interval);
    out.set_symbolicated(true);
    let categories = categories(&mut out);
    let process = out.add_process(observed, 1, at(0));
    for (number, of) in profile.threads.iter().enumerate() {
        let (first_ns, last_ns) = of.range_ns();
        let thread = out.add_thread(process, of.tid, at(first_ns), number == 0);
        out.set_thread_name(thread, &of.name);
        out.set_thread_end_time(thread, at(last_ns));
        out.set_thread_samples_weight_type(thread, WeightType::Samples);
        let mut stacks: HashMap<u32, StackHandle> = HashMap::new();
        for (at_ns, node, cpu_ns, weight) in samples(of, sample_ns) {
            let mut path: Vec<u32> =
                node.map_or_else(Vec::new, |node| profile.path(node).collect());
            path.reverse();
            let found = path.iter().fold(None, |caller, node| {
                let category = categories[profile.area(*node) as usize];
                let name = profile.name(*node);
                let new = || stack(&mut out, thread, caller, name, category);
                Some(*stacks.entry(*node).or_insert_with(new))
            });
            out.add_sample(thread, at(at_ns), found, CpuDelta::from_nanos(cpu_ns), weight);
        }
    }
    serde_json::to_vec(&out)
}

/// What the samples of a thread are, in order of time: when, in which call stack, the time on a CPU since
/// the former one, and for how many it stands. A wait is as many samples as it is long.
fn samples(thread: &ThreadTimes, sample_ns: u64) -> Vec<(u64, Option<u32>, u64, i32)> {
    let executed = thread.samples.iter().map(|(at_ns, node)| (*at_ns, Some(*node), sample_ns, 1));
    let mut found: Vec<_> = executed.collect();
    // What is left of waits that are shorter than the time between samples.
    let mut rest_ns = 0;
    for span in thread.spans.iter().filter(|it| it.part != Part::OnCpu) {
        rest_ns = span.to_ns.saturating_sub(span.from_ns).saturating_add(rest_ns);
        let weight = (rest_ns / sample_ns).min(i32::MAX as u64);
        rest_ns -= weight * sample_ns;
        if weight > 0 {
            found.push((span.from_ns, span.node, 0, weight as i32));
        }
    }
    found.sort_by_key(|it| it.0);
    found
}

fn categories(out: &mut Firefox) -> [CategoryPairHandle; Area::ALL.len()] {
    Area::ALL.map(|area| CategoryPairHandle::from(out.add_category(area.name(), color(area))))
}

fn stack(
    out: &mut Firefox,
    thread: ThreadHandle,
    parent: Option<StackHandle>,
    name: &str,
    category_pair: CategoryPairHandle,
) -> StackHandle {
    let frame = Frame::Label(out.intern_string(name));
    let frame = FrameInfo { frame, category_pair, flags: FrameFlags::empty() };
    let frame = out.intern_frame(thread, frame);
    out.intern_stack(thread, parent, frame)
}

fn color(area: Area) -> CategoryColor {
    match area {
        Area::User => CategoryColor::Yellow,
        Area::SystemCall => CategoryColor::Orange,
        Area::Exception => CategoryColor::Red,
        Area::Interrupt => CategoryColor::Purple,
        Area::Softirq => CategoryColor::Magenta,
        Area::Thread => CategoryColor::Blue,
        Area::Idle => CategoryColor::Gray,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::profile;
    use crate::thread_times::ThreadSpan;

    #[test]
    fn a_wait_is_as_many_samples_as_it_is_long() {
        let span = |from_ns, to_ns, part| ThreadSpan { from_ns, to_ns, part, node: Some(1) };
        let thread = ThreadTimes {
            name: "it".to_owned(),
            tid: 7,
            spans: vec![
                span(0, 25, Part::OnCpu),
                span(25, 31, Part::Waits),
                span(31, 40, Part::OnCpu),
                span(40, 68, Part::WaitsForCpu),
            ],
            samples: vec![(10, 2), (20, 3)],
        };
        assert_eq!(thread.range_ns(), (0, 68));
        // The first wait is too short for a sample, and both together are three.
        let expected = [(10, Some(2), 10, 1), (20, Some(3), 10, 1), (40, Some(1), 0, 3)];
        assert_eq!(samples(&thread, 10), expected);
    }

    #[test]
    fn weights_are_the_instructions_of_the_run() {
        let json: serde_json::Value =
            serde_json::from_slice(&firefox(&profile(), "run").unwrap()).unwrap();
        let thread = &json["threads"][0];
        let weights = thread["samples"]["weight"].as_array().unwrap();
        let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(sum, 25);
        let strings = json["shared"]["stringArray"].as_array().or(thread["stringArray"].as_array());
        assert!(strings.unwrap().iter().any(|text| text == "vfs_read"));
    }
}
