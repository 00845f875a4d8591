//! The processed format of the Firefox Profiler (<https://profiler.firefox.com>): a sample for each call
//! stack and interval, weighted by its instructions.

use std::time::Duration;

use fxprof_processed_profile::{
    CategoryColor, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Firefox,
    ReferenceTimestamp, SamplingInterval, StackHandle, ThreadHandle, Timestamp,
};

use crate::Area;
use crate::CallStacks;
use crate::profile::Profile;

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
    let categories =
        Area::ALL.map(|area| CategoryPairHandle::from(out.add_category(area.name(), color(area))));
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
