//! What `perf record` wrote (`perf.data`), as a profile.
//!
//! The file has the records that the kernel wrote, so they are taken as those of a recording of our own. It
//! may come from anywhere: its sizes are checked before it is read, and names are taken only from files and
//! a kernel that are as they were.

use std::collections::HashSet;
use std::io::Cursor;

use linux_perf_data::{
    AttributeDescription, Endianness, Error as PerfDataError, Feature, PerfFile, PerfFileReader,
    PerfFileRecord, PerfRecordIter,
};
use linux_perf_event_reader::{
    AttrFlags, EventRecord, HardwareEventId, Mmap2FileId, PerfEventType, SamplingPolicy,
    SoftwareCounterType,
};
use object::Object;
use profile::SampledProfile;

use crate::faults::FaultSamples;
use crate::modules::program_parts;
use crate::names::{Changed, KnownFiles, Weight, is_kernel_function, named};
use crate::recording::SamplerError;
use crate::watched::{SampleKind, Watched};

/// Where numbers are in the header of the file (Linux, `tools/perf/util/header.h`).
const HEADER_BYTES: usize = 104;
const SECTIONS_AT: [usize; 3] = [24, 40, 56];
const DATA_AT: usize = 40;
const FEATURES_AT: usize = 72;
const SECTION_BYTES: u64 = 16;
const ATTRIBUTE_BYTES_AT: usize = 16;
/// The first version of `struct perf_event_attr`.
const LEAST_ATTRIBUTE_BYTES: u64 = 64;
const EVENT_TYPES_AT: usize = 56;
/// `HEADER_SIMPLEPERF_META_INFO` of Android's simpleperf.
const SIMPLEPERF_FEATURE: usize = 129;
/// `HEADER_EVENT_DESC`.
const EVENTS_FEATURE: usize = 12;
/// A longer recording is not read: sums of the times of many threads would not fit.
const LONGEST_NS: u64 = 1 << 47;
/// The kernel's code as perf lists it, with the name of the function at whose address it begins.
const KERNEL: &str = "[kernel.kallsyms]";

/// A file of `perf record`, read.
pub struct PerfRecording {
    /// The profile.
    pub profile: SampledProfile,
    /// The command line of perf, if the file has it.
    pub command: String,
    /// Samples a second of CPU time, as requested; 0 if it has none of what executes.
    pub frequency_hz: u64,
}

/// The events of a file.
struct Events {
    kinds: Vec<Option<SampleKind>>,
    /// What a sample of what executes stands for in ns.
    sample_ns: u64,
    has_switches: bool,
}

/// Reads what `perf record` wrote, with what each thread did when if that is requested. Fails for another
/// file, and for one without samples of time or of page faults.
pub fn read_perf_data(bytes: &[u8], with_times: bool) -> Result<PerfRecording, SamplerError> {
    let wrong = |why: &str| SamplerError::PerfData(why.to_owned());
    check_sections(bytes).ok_or_else(|| wrong("it is cut off, or not a file of perf record"))?;
    if describes_events_elsewhere(bytes) {
        return Err(wrong("it is of simpleperf, or of a perf that is older than Linux 2.6.36"));
    }
    let failed = |error: PerfDataError| SamplerError::PerfData(error.to_string());
    let reader = PerfFileReader::parse_file(Cursor::new(bytes)).map_err(failed)?;
    let PerfFileReader { perf_file, record_iter } = reader;
    let events = Events::of(perf_file.event_attributes()).map_err(|why| wrong(&why))?;
    let read = read_records(perf_file, record_iter, &events, with_times)?;
    let Read { mut watched, perf_file, lost, records, first_ns, last_ns, changed } = read;
    watched.end(last_ns);
    if !events.has_switches {
        watched.without_switches(events.sample_ns);
    }
    let weight = match events.has_switches {
        true => Weight::All,
        false => Weight::Each(events.sample_ns),
    };
    let missed = missed(&watched, &events, &changed);
    let (samples, truncated) = (watched.samples, watched.truncated);
    let faults = FaultSamples::of(&watched.ended);
    let mut profile =
        named(watched.stacks, &watched.ended, &weight, changed, &mut KnownFiles::default());
    profile.elapsed_ns = last_ns.saturating_sub(first_ns);
    (profile.samples, profile.truncated) = (samples, truncated);
    let count = faults.by_stack.values().fold(0_u64, |sum, it| sum.saturating_add(it.0));
    profile.faults = (count > 0).then_some(count);
    (profile.lost, profile.records) = (Some(lost), records.saturating_add(lost));
    profile.missed = missed;
    let words = command_line(&perf_file);
    let frequency_hz = if events.has_time() { 1_000_000_000 / events.sample_ns } else { 0 };
    Ok(PerfRecording { profile, command: words.join(" "), frequency_hz })
}

/// Whether all parts of the file are in it; `None` if not.
fn check_sections(bytes: &[u8]) -> Option<()> {
    let number =
        |at: usize| Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let size = bytes.len() as u64;
    let is_here = |at: usize| {
        let (begin, length) = (number(at)?, number(at.checked_add(8)?)?);
        begin.checked_add(length).filter(|end| *end <= size).map(|_| length)
    };
    if bytes.get(..8)? != b"PERFILE2" || number(8)? < HEADER_BYTES as u64 {
        return None;
    }
    for at in SECTIONS_AT {
        is_here(at)?;
    }
    let mut at = number(DATA_AT)? + number(DATA_AT + 8)?;
    let mut all = 0_u64;
    for feature in 0..256 {
        if number(FEATURES_AT + 8 * (feature / 64))? >> (feature % 64) & 1 == 0 {
            continue;
        }
        let here = usize::try_from(at).ok()?;
        let length = is_here(here)?;
        if feature == EVENTS_FEATURE {
            let begin = usize::try_from(number(here)?).ok()?;
            check_events(bytes.get(begin..begin + usize::try_from(length).ok()?)?)?;
        }
        all = all.checked_add(length)?;
        at += SECTION_BYTES;
    }
    (all <= size && number(ATTRIBUTE_BYTES_AT)? >= LEAST_ATTRIBUTE_BYTES).then_some(())
}

/// Whether a file has no list of its events, and lists them in sections of other programs: those name further
/// sections, whose sizes are not checked.
fn describes_events_elsewhere(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
        word.map_or(0, u64::from_le_bytes)
    };
    let has_feature =
        |feature: usize| number(FEATURES_AT + feature / 64 * 8) >> (feature % 64) & 1 == 1;
    let is_other = number(EVENT_TYPES_AT + 8) != 0 || has_feature(SIMPLEPERF_FEATURE);
    !has_feature(EVENTS_FEATURE) && is_other
}

/// The command line of perf; nothing if the file has none, or claims more words than it has.
fn command_line(file: &PerfFile) -> Vec<&str> {
    let section = file.feature_section_data(Feature::CMDLINE).unwrap_or_default();
    match has_as_many_words(section, file.endian()) {
        true => file.cmdline().ok().flatten().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Whether a list of words has room for as many as it claims, each with its length in four bytes: memory is
/// taken for as many.
fn has_as_many_words(section: &[u8], endian: Endianness) -> bool {
    let Some((count, words)) = section.split_first_chunk() else { return false };
    let count = match endian {
        Endianness::LittleEndian => u32::from_le_bytes(*count),
        Endianness::BigEndian => u32::from_be_bytes(*count),
    };
    count as usize <= words.len() / 4
}

/// Whether the events that a file describes are in it: memory is taken for as many as it says.
fn check_events(bytes: &[u8]) -> Option<()> {
    let number = |at: usize| {
        let word = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?) as usize)
    };
    let (count, attribute_bytes) = (number(0)?, number(4)?);
    let mut at = 8_usize;
    if count > bytes.len() {
        return None;
    }
    for _ in 0..count {
        at = at.checked_add(attribute_bytes)?;
        let (ids, name_bytes) = (number(at)?, number(at + 4)?);
        at = at.checked_add(8)?.checked_add(name_bytes)?.checked_add(ids.checked_mul(8)?)?;
    }
    (at <= bytes.len()).then_some(())
}

impl Events {
    fn of(attributes: &[AttributeDescription]) -> Result<Self, String> {
        let mut kinds: Vec<Option<SampleKind>> = Vec::new();
        let mut sample_ns = 0;
        for description in attributes {
            let attribute = description.attributes();
            let kind = match attribute.type_ {
                PerfEventType::Software(kind) => of_software(kind),
                PerfEventType::Hardware(HardwareEventId::CpuCycles, _) => Some(SampleKind::OnCpu),
                _ => None,
            };
            let is_first = !kinds.contains(&kind);
            if kind == Some(SampleKind::OnCpu) && is_first {
                let is_clock = matches!(attribute.type_, PerfEventType::Software(_));
                sample_ns = match attribute.sampling_policy {
                    SamplingPolicy::Frequency(hz) => 1_000_000_000 / hz.max(1),
                    SamplingPolicy::Period(ns) if is_clock => ns.get(),
                    _ => return Err(after_cycles(description)),
                };
            }
            kinds.push(kind.filter(|_| is_first));
        }
        if kinds.iter().all(Option::is_none) {
            let names = attributes.iter().filter_map(|it| it.name()).collect::<Vec<_>>().join(", ");
            return Err(format!("its events ({names}) are neither time nor page faults"));
        }
        Ok(Self { kinds, sample_ns: sample_ns.max(1), has_switches: false }
            .with_switches(attributes))
    }

    fn has_time(&self) -> bool {
        self.kinds.contains(&Some(SampleKind::OnCpu))
    }

    fn with_switches(self, attributes: &[AttributeDescription]) -> Self {
        let records =
            |it: &AttributeDescription| it.attributes().flags.contains(AttrFlags::CONTEXT_SWITCH);
        Self { has_switches: attributes.iter().any(records), ..self }
    }
}

fn of_software(kind: SoftwareCounterType) -> Option<SampleKind> {
    match kind {
        SoftwareCounterType::CpuClock | SoftwareCounterType::TaskClock => Some(SampleKind::OnCpu),
        SoftwareCounterType::ContextSwitches => Some(SampleKind::LeavesCpu),
        SoftwareCounterType::PageFaults
        | SoftwareCounterType::PageFaultsMin
        | SoftwareCounterType::PageFaultsMaj => Some(SampleKind::Fault),
        _ => None,
    }
}

fn after_cycles(description: &AttributeDescription) -> String {
    let name = description.name().unwrap_or("its event");
    format!("{name} was sampled after a number of events, which is not a time: record with -F 997")
}

/// What was read of a file.
struct Read {
    watched: Watched,
    perf_file: PerfFile,
    lost: u64,
    records: u64,
    first_ns: u64,
    last_ns: u64,
    changed: Changed,
}

fn read_records(
    mut perf_file: PerfFile,
    mut records: PerfRecordIter<Cursor<&[u8]>>,
    events: &Events,
    with_times: bool,
) -> Result<Read, SamplerError> {
    let failed = |error: PerfDataError| SamplerError::PerfData(error.to_string());
    let mut watched = Watched::of(&[], &[], false);
    if with_times {
        watched.keep_times();
    }
    let mut changed = changed_files(&perf_file);
    let (mut lost, mut count) = (0_u64, 0);
    let (mut first_ns, mut last_ns) = (None, 0);
    while let Some(record) = records.next_record(&mut perf_file).map_err(failed)? {
        let PerfFileRecord::EventRecord { attr_index, record: raw } = record else { continue };
        count += 1;
        let time_ns = raw.timestamp().filter(|ns| *ns > 0);
        if let Some(ns) = time_ns {
            let first_ns = *first_ns.get_or_insert(ns);
            last_ns = last_ns.max(ns);
            if last_ns.saturating_sub(first_ns) > LONGEST_NS {
                let why = "it is of more than 39 hours, or its times are wrong";
                return Err(SamplerError::PerfData(why.to_owned()));
            }
        }
        match raw.parse() {
            Ok(EventRecord::Lost(it)) => lost = lost.saturating_add(it.count),
            Ok(EventRecord::Sample(sample)) => {
                if let Some(Some(kind)) = events.kinds.get(attr_index) {
                    watched.sample(&sample, *kind);
                }
            }
            Ok(record) => {
                compare(&record, &mut changed);
                watched.event(time_ns.unwrap_or(0), &raw, record);
            }
            Err(_) => {}
        }
    }
    let first_ns = first_ns.unwrap_or(0);
    Ok(Read { watched, perf_file, lost, records: count, first_ns, last_ns, changed })
}

/// What has changed since, as the header says: files by their build IDs, and whether this is the machine.
fn changed_files(perf_file: &PerfFile) -> Changed {
    let here = rustix::system::uname();
    let host = perf_file.hostname().ok().flatten();
    let is_other_machine = host.is_some_and(|host| here.nodename().to_bytes() != host.as_bytes());
    let infos = perf_file.build_ids().unwrap_or_default().into_values();
    let files = infos.filter_map(|info| {
        let path = String::from_utf8(info.path).ok()?;
        (path.starts_with('/') && has_changed(&path, &info.build_id)).then_some(path)
    });
    let files: HashSet<String> = files.collect();
    Changed { files, is_other_kernel: is_other_machine, is_other_machine }
}

/// Whether a file has another build ID. perf pads short ones with zeros.
fn has_changed(path: &str, build_id: &[u8]) -> bool {
    let Some(parts) = program_parts(path) else { return true };
    let file = object::File::parse(&parts);
    let Ok(Some(found)) = file.as_ref().map(|file| file.build_id().ok().flatten()) else {
        return true;
    };
    !build_id.starts_with(found)
}

/// Compares what a record maps with what is here now.
fn compare(record: &EventRecord<'_>, changed: &mut Changed) {
    match record {
        EventRecord::Mmap(it) => {
            let path = it.path.as_slice();
            let path = String::from_utf8_lossy(&path);
            if let Some(symbol) = path.strip_prefix(KERNEL).filter(|symbol| !symbol.is_empty())
                && is_kernel_function(symbol, it.page_offset) != Some(true)
            {
                changed.is_other_kernel = true;
            }
        }
        EventRecord::Mmap2(it) => {
            let path = it.path.as_slice();
            let path = String::from_utf8_lossy(&path);
            if let Mmap2FileId::BuildId(build_id) = &it.file_id
                && path.starts_with('/')
                && !changed.files.contains(&*path)
                && has_changed(&path, build_id)
            {
                changed.files.insert(path.into_owned());
            }
        }
        _ => {}
    }
}

/// What the file does not have, each as a fragment of a sentence.
fn missed(watched: &Watched, events: &Events, changed: &Changed) -> Vec<String> {
    let mut missed = Vec::new();
    if events.has_time() && !events.has_switches {
        missed.push("waits (perf record --switch-events records their times)".to_owned());
    }
    if watched.chained > 0 {
        let cure = "perf record --call-graph dwarf knows it";
        missed.push(format!("whether call stacks by frame pointers are whole ({cure})"));
    }
    if changed.is_other_kernel {
        missed.push(
            "the kernel's functions: this is another kernel, or has started again".to_owned(),
        );
    }
    if !changed.files.is_empty() {
        let count = changed.files.len();
        missed.push(format!("the functions of {count} files that have changed or are not here"));
    }
    missed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_file_of_perf_is_refused() {
        for bytes in [&b""[..], b"PERFILE2", &[0; 200], b"2ELIFREP"] {
            let Err(error) = read_perf_data(bytes, true) else { panic!("{bytes:?}") };
            assert!(error.to_string().contains("perf record"), "{error}");
        }
        let mut large = vec![0; 200];
        large[..8].copy_from_slice(b"PERFILE2");
        large[8] = 104;
        large[DATA_AT + 8..DATA_AT + 16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(read_perf_data(&large, true).is_err());
    }

    #[test]
    fn more_words_than_bytes_are_not_believed() {
        let (one, two) = ([1, 0, 0, 0, 4, 0, 0, 0], [2, 0, 0, 0, 4, 0, 0, 0]);
        assert!(has_as_many_words(&one, Endianness::LittleEndian));
        assert!(!has_as_many_words(&two, Endianness::LittleEndian));
        assert!(!has_as_many_words(&one, Endianness::BigEndian));
        assert!(!has_as_many_words(&[0xff; 64], Endianness::LittleEndian));
        assert!(!has_as_many_words(&[0; 3], Endianness::LittleEndian));
    }

    #[test]
    fn events_in_sections_of_other_programs_are_refused() {
        let mut file = vec![0; 200];
        file[..8].copy_from_slice(b"PERFILE2");
        (file[8], file[ATTRIBUTE_BYTES_AT]) = (104, 64);
        file[EVENT_TYPES_AT + 8] = 16;
        let Err(error) = read_perf_data(&file, true) else { panic!("it was read") };
        assert!(error.to_string().contains("simpleperf"), "{error}");
        (file[EVENT_TYPES_AT + 8], file[FEATURES_AT + 16]) = (0, 2);
        assert!(describes_events_elsewhere(&file));
        assert!(!describes_events_elsewhere(b"PERFILE2"));
    }

    proptest! {
        #[test]
        fn any_bytes_after_the_magic_number_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 96..400),
        ) {
            let mut all = b"PERFILE2\x68\0\0\0\0\0\0\0".to_vec();
            all.extend(bytes);
            let _ = read_perf_data(&all, true);
        }
    }
}
