//! The schedule of a run as a trace in the Common Trace Format 1.8
//! (<https://diamon.org/ctf/v1.8.3/>), which babeltrace2 and Trace Compass read.
//!
//! A stream for each virtual CPU has the kernel's events under their names in LTTng, without the
//! fields that are unknown, and a stream has the responses. A stream is one packet.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::profile::Profile;
use crate::records::What;

const MAGIC: u32 = 0xC1FC_1FC1;
/// Bytes of a packet before its events.
const HEAD_BYTES: usize = 4 + 4 + 4 * 8 + 4;
/// Bytes of the name of a task.
const COMM_BYTES: usize = 16;

const OF_CPU: u32 = 0;
const OF_RESPONSES: u32 = 1;

const SWITCH: u32 = 0;
const WAKEUP: u32 = 1;
const BEGIN: u32 = 0;
const END: u32 = 1;

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;

trace {
	major = 1;
	minor = 8;
	byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; };
};

env {
	domain = "kernel";
	sysname = "Linux";
	tracer_name = "thrashlab";
};
"#;

const STREAMS: &str = r#"
typealias integer { size = 64; align = 8; signed = false; map = clock.virtual.value; } := time_t;

struct packet_context {
	time_t timestamp_begin;
	time_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint32_t cpu_id;
};

struct event_header { uint32_t id; time_t timestamp; };

stream {
	id = 0;
	packet.context := struct packet_context;
	event.header := struct event_header;
};

event {
	name = "sched_switch";
	id = 0;
	stream_id = 0;
	fields := struct {
		char_t _prev_comm[16];
		int32_t _prev_tid;
		uint64_t _prev_state;
		char_t _next_comm[16];
		int32_t _next_tid;
	};
};

event {
	name = "sched_wakeup";
	id = 1;
	stream_id = 0;
	fields := struct { char_t _comm[16]; int32_t _tid; };
};

stream {
	id = 1;
	packet.context := struct packet_context;
	event.header := struct event_header;
};

event {
	name = "thrashlab_response_begin";
	id = 0;
	stream_id = 1;
	fields := struct { uint32_t _index; };
};

event {
	name = "thrashlab_response_end";
	id = 1;
	stream_id = 1;
	fields := struct { uint32_t _index; };
};
"#;

/// The events of a stream with their times, as the bytes of a packet.
#[derive(Default)]
struct Stream {
    events: Vec<(u64, Vec<u8>)>,
}

impl Stream {
    fn add(&mut self, id: u32, at_ns: u64, fields: &[&[u8]]) {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend(at_ns.to_le_bytes());
        fields.iter().for_each(|field| bytes.extend(*field));
        self.events.push((at_ns, bytes));
    }

    /// Its packet, with events in the order of time.
    fn packet(mut self, stream: u32, cpu: u32) -> Vec<u8> {
        self.events.sort_by_key(|(at_ns, _)| *at_ns);
        let time = |event: Option<&(u64, Vec<u8>)>| event.map_or(0, |(at_ns, _)| *at_ns);
        let (first, last) = (time(self.events.first()), time(self.events.last()));
        let content: Vec<u8> = self.events.into_iter().flat_map(|(_, bytes)| bytes).collect();
        let size_bits = 8 * (HEAD_BYTES + content.len()) as u64;
        let mut packet = MAGIC.to_le_bytes().to_vec();
        packet.extend(stream.to_le_bytes());
        for number in [first, last, size_bits, size_bits] {
            packet.extend(number.to_le_bytes());
        }
        packet.extend(cpu.to_le_bytes());
        packet.extend(content);
        packet
    }
}

/// The files of a trace by name: `metadata`, and a stream for each virtual CPU and the responses.
pub fn ctf(profile: &Profile) -> BTreeMap<String, Vec<u8>> {
    let [begin_ns, end_ns] = [0, profile.responses.end_ns].map(|at| profile.virtual_ns(at));
    let mut cpus: BTreeMap<u32, Stream> = BTreeMap::new();
    for event in profile.events() {
        if !(begin_ns..=end_ns).contains(&event.time_ns) {
            continue;
        }
        let at_ns = profile.run_ns(event.time_ns);
        let stream = cpus.entry(event.cpu).or_default();
        let (tid, comm) = task(profile, event.task, event.time_ns);
        match event.what {
            What::Switch { next, state, .. } => {
                let (next_tid, next_comm) = task(profile, next, event.time_ns);
                let fields: [&[u8]; 5] = [&comm, &tid, &state.to_le_bytes(), &next_comm, &next_tid];
                stream.add(SWITCH, at_ns, &fields);
            }
            What::Wake => stream.add(WAKEUP, at_ns, &[&comm, &tid]),
        }
    }
    let mut files = BTreeMap::from([("metadata".to_owned(), metadata(profile).into_bytes())]);
    for (cpu, stream) in cpus {
        files.insert(format!("cpu_{cpu}"), stream.packet(OF_CPU, cpu));
    }
    let mut responses = Stream::default();
    for response in &profile.responses.all {
        let index = response.index.to_le_bytes();
        responses.add(BEGIN, response.intended_ns, &[&index]);
        responses.add(END, response.end_ns, &[&index]);
    }
    if !responses.events.is_empty() {
        files.insert("responses".to_owned(), responses.packet(OF_RESPONSES, 0));
    }
    files
}

/// The description of the streams, with the time of day at which the run began.
fn metadata(profile: &Profile) -> String {
    let started_ns = profile.started_unix_ns();
    let (seconds, rest_ns) = (started_ns / 1_000_000_000, started_ns % 1_000_000_000);
    let mut text = METADATA.to_owned();
    let _ = write!(
        text,
        "\nclock {{\n\tname = virtual;\n\tdescription = \"virtual time of the guest\";\n\t\
         freq = 1000000000;\n\toffset_s = {seconds};\n\toffset = {rest_ns};\n}};\n"
    );
    text + STREAMS
}

/// The number and name of a task at a time; -1 and its address if it is unknown.
fn task(profile: &Profile, task: u64, at_ns: u64) -> ([u8; 4], [u8; COMM_BYTES]) {
    let (pid, name) = profile.task(task, at_ns);
    let tid = pid.and_then(|pid| i32::try_from(pid).ok()).unwrap_or(-1);
    let mut comm = [0; COMM_BYTES];
    let mut length = name.len().min(COMM_BYTES - 1);
    while !name.is_char_boundary(length) {
        length -= 1;
    }
    comm[..length].copy_from_slice(&name.as_bytes()[..length]);
    (tid.to_le_bytes(), comm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::critical_path::tests::profile;

    fn number(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn a_packet_has_its_size_and_events_in_order() {
        let files = ctf(&profile());
        assert_eq!(files.keys().collect::<Vec<_>>(), ["cpu_0", "metadata", "responses"]);
        let packet = &files["cpu_0"];
        assert_eq!(packet[..4], [0xC1, 0x1F, 0xFC, 0xC1]);
        assert_eq!((number(packet, 8), number(packet, 16)), (100, 400));
        assert_eq!(number(packet, 24), 8 * packet.len() as u64);
        // Six switches, and three times that a task was woken up.
        let (switch, wakeup) = (4 + 8 + 2 * (COMM_BYTES + 4) + 8, 4 + 8 + COMM_BYTES + 4);
        assert_eq!(packet.len(), HEAD_BYTES + 6 * switch + 3 * wakeup);
        let first = &packet[HEAD_BYTES..HEAD_BYTES + switch];
        assert_eq!((first[..4].to_vec(), number(first, 4)), (vec![0; 4], 100));
        assert_eq!(&first[12..19], b"reader\0");
        assert_eq!(first[28..32], 7_i32.to_le_bytes());
        assert_eq!(number(first, 32), 2);
        assert_eq!(files["responses"].len(), HEAD_BYTES + 2 * (4 + 8 + 4));
        assert!(String::from_utf8_lossy(&files["metadata"]).starts_with("/* CTF 1.8 */"));
    }
}
