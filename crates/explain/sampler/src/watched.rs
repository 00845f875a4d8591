//! The processes of a recording: what is mapped, which threads there are, and their call stacks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use framehop::{CacheNative, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder, UnwinderNative};
use linux_perf_event_reader::{
    ContextSwitchRecord, EventRecord, RawData, RawEventRecord, SampleRecord, TaskWasPreempted,
};

use crate::blocked::{Looks, MISSED_WAIT_NS};
use crate::modules::{Files, Mapped, Section};
use crate::running::RunningProcess;
use crate::stacks::{Frame, NOTHING, Stacks};
use crate::threads::{LeftAt, Thread};
use crate::waits::Waits;

/// More frames than a call stack of people has; a damaged one could be endless.
const MOST_FRAMES: usize = 512;
/// Addresses from here on divide a call chain: `PERF_CONTEXT_MAX`.
const LEAST_MARKER: u64 = -4095_i64 as u64;
/// A sample stands for at most so many events.
const MOST_PERIOD: u64 = 1 << 32;
/// `PROT_EXEC`.
const EXECUTABLE: u32 = 4;
/// The time of records about what was there before.
const BEFORE: u64 = 0;
/// The name of a thread before it has one.
const UNKNOWN: &str = "?";
/// Maps a page of the kernel, which every process has.
const KERNEL_PAGES: &str = "[vdso]";

type Unwinding = UnwinderNative<Section, MayAllocateDuringUnwind>;

#[derive(Clone, Default)]
struct Process {
    mapped: Vec<Mapped>,
    unwinder: Unwinding,
}

impl Process {
    /// The file that is mapped at an address.
    fn at(&self, address: u64) -> Option<&Mapped> {
        self.mapped.iter().rfind(|it| it.addresses.contains(&address))
    }
}

/// What a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleKind {
    /// A thread that executes.
    OnCpu,
    /// A thread that leaves its CPU.
    LeavesCpu,
    /// A page fault.
    Fault,
}

/// Everything that was recorded so far.
pub(crate) struct Watched {
    files: Files,
    processes: HashMap<i32, Process>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    live: HashMap<i32, Thread>,
    /// Threads that have ended.
    pub(crate) ended: Vec<Thread>,
    pub(crate) stacks: Stacks,
    pub(crate) samples: u64,
    pub(crate) truncated: u64,
    /// Samples whose call stack the kernel has followed by frame pointers.
    pub(crate) chained: u64,
    /// The identifiers of samples of threads that leave their CPU.
    switch_ids: Vec<u64>,
    /// The identifiers of samples at page faults.
    fault_ids: Vec<u64>,
    /// Whether page faults show what is touched: the file is of interest where its pages are read.
    names_touched: bool,
    /// Whether what threads do when is kept.
    keeps_times: bool,
    /// Threads that were seen waiting.
    looks: Looks,
}

impl Watched {
    /// Nothing yet; where a thread leaves its CPU, and at page faults, samples have these identifiers. With
    /// `names_touched` the innermost frame of a page fault is the file that is touched.
    pub(crate) fn of(switch_ids: &[u64], fault_ids: &[u64], names_touched: bool) -> Self {
        Self {
            names_touched,
            keeps_times: false,
            looks: Looks::default(),
            switch_ids: switch_ids.to_vec(),
            fault_ids: fault_ids.to_vec(),
            files: Files::default(),
            processes: HashMap::new(),
            cache: CacheNative::new_in(),
            live: HashMap::new(),
            ended: Vec::new(),
            stacks: Stacks::default(),
            samples: 0,
            truncated: 0,
            chained: 0,
        }
    }

    /// Keeps what each thread does when.
    pub(crate) fn keep_times(&mut self) {
        self.keeps_times = true;
    }

    /// Looks at the threads of which no call stack is known yet.
    pub(crate) fn look(&mut self) {
        let live = &self.live;
        let is_known = |tid| live.get(&tid).is_some_and(|thread| thread.left_at.is_some());
        self.looks.look(self.processes.keys().copied(), is_known);
    }

    /// Uses what was seen until a time, up to which all records have come.
    fn use_seen(&mut self, until_ns: u64) {
        for thread in self.looks.take(until_ns) {
            let live = self.live.get(&thread.tid);
            let since_ns = live.and_then(Thread::waits_since_ns);
            if since_ns.is_none_or(|since_ns| since_ns > thread.from_ns) {
                continue;
            }
            let registers = thread.registers();
            let (user, reaches_root) =
                self.unwound(thread.pid, (thread.ip, registers), (thread.sp, &thread.stack));
            let stack = self.stack(thread.tid, user, reaches_root, Vec::new());
            self.thread(thread.tid).left_at = Some(LeftAt::Seen(stack, MISSED_WAIT_NS));
        }
    }

    /// Takes the next record; the identifiers of samples say what they are of.
    pub(crate) fn take(&mut self, time_ns: u64, raw: &RawEventRecord<'_>) {
        self.use_seen(time_ns);
        match raw.parse() {
            Ok(EventRecord::Sample(sample)) => {
                let is_of = |ids: &[u64]| sample.id.is_some_and(|id| ids.contains(&id));
                let kind = match (is_of(&self.switch_ids), is_of(&self.fault_ids)) {
                    (true, _) => SampleKind::LeavesCpu,
                    (_, true) => SampleKind::Fault,
                    (false, false) => SampleKind::OnCpu,
                };
                self.sample(&sample, kind);
            }
            Ok(record) => self.event(time_ns, raw, record),
            Err(_) => {}
        }
    }

    /// Takes the next record other than a sample.
    pub(crate) fn event(
        &mut self,
        time_ns: u64,
        raw: &RawEventRecord<'_>,
        record: EventRecord<'_>,
    ) {
        match record {
            EventRecord::Comm(it) => {
                let name: Arc<str> = String::from_utf8_lossy(&it.name.as_slice()).into();
                if it.is_execve {
                    self.processes.insert(it.pid, Process::default());
                }
                let thread = self.thread(it.tid);
                thread.name = name;
                // A process that executes a program is on a CPU.
                if time_ns != BEFORE {
                    thread.comes(time_ns);
                }
            }
            EventRecord::Fork(it) => {
                if it.pid != it.ppid
                    && let Some(parent) = self.processes.get(&it.ppid).cloned()
                {
                    self.processes.insert(it.pid, parent);
                }
                let name = self.live.get(&it.ptid).map(|parent| Arc::clone(&parent.name));
                let name = name.unwrap_or_else(|| UNKNOWN.into());
                match self.live.get_mut(&it.tid) {
                    // The clocks of two CPUs differ a little: it was seen before it was made.
                    Some(thread) if &*thread.name == UNKNOWN => thread.name = name,
                    _ => {
                        let thread = match time_ns == BEFORE {
                            true => Thread::unknown(name),
                            false => Thread::made(name, time_ns),
                        };
                        self.live.insert(it.tid, begun(self.keeps_times, it.tid, thread));
                    }
                }
            }
            EventRecord::Exit(it) => {
                if let Some(mut thread) = self.live.remove(&it.tid) {
                    thread.ends(time_ns);
                    self.ended.push(thread);
                }
                if it.pid == it.tid {
                    self.processes.remove(&it.pid);
                }
            }
            EventRecord::Mmap(it) => {
                let addresses = it.address..it.address.saturating_add(it.length);
                let place = (addresses, it.page_offset, it.is_executable);
                self.map(it.pid, &it.path.as_slice(), place);
            }
            EventRecord::Mmap2(it) => {
                let addresses = it.address..it.address.saturating_add(it.length);
                let is_code = it.protection & EXECUTABLE != 0;
                self.map(it.pid, &it.path.as_slice(), (addresses, it.page_offset, is_code));
            }
            EventRecord::ContextSwitch(switch) => {
                let Some(tid) = raw.common_data().ok().and_then(|common| common.tid) else {
                    return;
                };
                match switch {
                    ContextSwitchRecord::In { .. } => self.thread(tid).comes(time_ns),
                    ContextSwitchRecord::Out { preempted, .. } => {
                        if let Some(thread) = self.live.get_mut(&tid) {
                            thread.leaves(time_ns, preempted == TaskWasPreempted::Yes);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a process that is there already, as `/proc` has it at a time: the files that it executes,
    /// and its threads with their states.
    pub(crate) fn add(&mut self, process: &RunningProcess, at_ns: u64) {
        for mapped in &process.mapped {
            let Mapped { path, addresses, offset, is_code } = mapped.clone();
            self.map(process.pid, path.as_bytes(), (addresses, offset, is_code));
        }
        for (tid, name, could_run) in &process.threads {
            let mut thread = Thread::made(name.as_str().into(), at_ns);
            thread.leaves(at_ns, *could_run);
            self.live.insert(*tid, begun(self.keeps_times, *tid, thread));
        }
    }

    /// Ends all threads at a time.
    pub(crate) fn end(&mut self, last_ns: u64) {
        self.use_seen(last_ns);
        let live = std::mem::take(&mut self.live);
        self.ended.extend(live.into_values().map(|mut thread| {
            thread.ends(last_ns);
            thread
        }));
    }

    /// Without records of switches the time of a thread that has ended is that of its samples, and its
    /// waits are not known.
    pub(crate) fn without_switches(&mut self, sample_ns: u64) {
        for thread in &mut self.ended {
            let samples: u64 = thread.samples.values().sum();
            thread.on_cpu_ns = samples.saturating_mul(sample_ns);
            (thread.waits_ns, thread.waits_for_cpu_ns) = (0, 0);
            thread.off = [Waits::default(), Waits::default()];
            thread.times.iter_mut().for_each(|times| times.spans.clear());
        }
    }

    fn thread(&mut self, tid: i32) -> &mut Thread {
        let keeps_times = self.keeps_times;
        let new = || begun(keeps_times, tid, Thread::unknown(UNKNOWN.into()));
        self.live.entry(tid).or_insert_with(new)
    }

    fn map(&mut self, pid: i32, path: &[u8], place: (std::ops::Range<u64>, u64, bool)) {
        let (addresses, offset, is_code) = place;
        let path: Arc<str> = String::from_utf8_lossy(path).into();
        let process = self.processes.entry(pid).or_default();
        // What was there before is gone.
        let overlaps =
            |it: &Mapped| it.addresses.start < addresses.end && addresses.start < it.addresses.end;
        for old in process.mapped.extract_if(.., |it| overlaps(it)) {
            process.unwinder.remove_module(old.addresses.start);
        }
        if !path.starts_with('/') && &*path != KERNEL_PAGES || path.starts_with("//anon") {
            return;
        }
        let mapped = Mapped { path, addresses, offset, is_code };
        // Data may be larger than memory, and is not read.
        if let Some(module) = is_code.then(|| self.files.module(&mapped)).flatten() {
            process.unwinder.add_module(module);
        }
        process.mapped.push(mapped);
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self, sample: &SampleRecord<'_>, kind: SampleKind) {
        let (Some(pid), Some(tid)) = (sample.pid, sample.tid) else { return };
        let (user, reaches_root) = self.user_frames(pid, sample);
        let mut inner = Vec::new();
        if kind == SampleKind::Fault && self.names_touched {
            inner.extend(sample.addr.filter(|address| *address >> 63 == 0).map(|address| {
                let mapped = self.processes.get(&pid).and_then(|process| process.at(address));
                mapped.map_or(Frame::TouchedMemory, |it| {
                    Frame::Touched(Arc::clone(&it.path), it.is_code)
                })
            }));
        }
        inner.extend(kernel_frames(sample));
        let stack = self.stack(tid, user, reaches_root, inner);
        let thread = self.thread(tid);
        let stands_for = sample.period.unwrap_or(1).clamp(1, MOST_PERIOD);
        match kind {
            SampleKind::LeavesCpu => thread.left_at = Some(LeftAt::Recorded(stack, stands_for)),
            SampleKind::Fault => thread.faults.push((stack, stands_for)),
            SampleKind::OnCpu => {
                *thread.samples.entry(stack).or_insert(0) += 1;
                let times = thread.times.as_mut().zip(sample.timestamp);
                times.into_iter().for_each(|(it, at_ns)| it.samples.push((at_ns, stack)));
            }
        }
    }

    /// Counts a call stack of a thread: the program's part, given with the innermost first, and what is below it.
    fn stack(&mut self, tid: i32, user: Vec<Frame>, reaches_root: bool, inner: Vec<Frame>) -> u32 {
        self.samples += 1;
        self.truncated += u64::from(!reaches_root);
        let name = Arc::clone(&self.thread(tid).name);
        let mut stack = self.stacks.of(NOTHING, Frame::Thread(name));
        if !reaches_root {
            stack = self.stacks.of(stack, Frame::CutOff);
        }
        for frame in user.into_iter().rev().chain(inner) {
            stack = self.stacks.of(stack, frame);
        }
        stack
    }

    /// The program's part of a call stack, the innermost first, and whether it is whole.
    fn user_frames(&mut self, pid: i32, sample: &SampleRecord<'_>) -> (Vec<Frame>, bool) {
        let Some(process) = self.processes.get(&pid) else {
            // A thread of the kernel.
            return (Vec::new(), true);
        };
        let Some(registers) = &sample.user_regs else {
            self.chained += 1;
            return (chained_frames(process, pid, sample), true);
        };
        let Some((ip, unwinding)) = unwinding_registers(registers) else {
            return (Vec::new(), true);
        };
        let (bytes, sp) = match &sample.user_stack {
            Some((bytes, size)) => {
                let size = usize::try_from(*size).unwrap_or(usize::MAX).min(bytes.len());
                (bytes.get(0..size).unwrap_or_else(RawData::empty).as_slice(), unwinding.sp())
            }
            None => (Cow::default(), 0),
        };
        self.unwound(pid, (ip, unwinding), (sp, &bytes))
    }

    /// The program's part of a call stack from the registers and from the bytes at the stack pointer on.
    fn unwound(
        &mut self,
        pid: i32,
        (ip, registers): (u64, UnwindRegsNative),
        (sp, bytes): (u64, &[u8]),
    ) -> (Vec<Frame>, bool) {
        let Some(process) = self.processes.get(&pid) else { return (Vec::new(), true) };
        let mut read = |address: u64| {
            let start = usize::try_from(address.checked_sub(sp).ok_or(())?).map_err(|_| ())?;
            let word = bytes.get(start..start.checked_add(8).ok_or(())?).ok_or(())?;
            Ok(u64::from_ne_bytes(word.try_into().map_err(|_| ())?))
        };
        let mut frames = Vec::new();
        let mut outermost = ip;
        let mut all = process.unwinder.iter_frames(ip, registers, &mut self.cache, &mut read);
        let reaches_root = loop {
            match all.next() {
                Ok(Some(frame)) if frames.len() < MOST_FRAMES => {
                    outermost = frame.address_for_lookup();
                    frames.push(place_at(process, pid, outermost));
                }
                Ok(Some(_)) => break false,
                Err(_) => {
                    let file = process.at(outermost);
                    break file.is_some_and(|it| self.files.begins_at(it, outermost));
                }
                Ok(None) => break true,
            }
        };
        (frames, reaches_root)
    }
}

/// A new thread, which keeps its times if all do.
fn begun(keeps_times: bool, tid: i32, thread: Thread) -> Thread {
    if keeps_times { thread.keeping_times(tid) } else { thread }
}

#[cfg(target_arch = "x86_64")]
fn unwinding_registers(
    registers: &linux_perf_event_reader::Regs<'_>,
) -> Option<(u64, UnwindRegsNative)> {
    // `asm/perf_regs.h`.
    let [bp, sp, ip] = [6, 7, 8].map(|number| registers.get(number));
    Some((ip?, UnwindRegsNative::new(ip?, sp?, bp?)))
}

#[cfg(target_arch = "aarch64")]
fn unwinding_registers(
    registers: &linux_perf_event_reader::Regs<'_>,
) -> Option<(u64, UnwindRegsNative)> {
    let [fp, lr, sp, pc] = [29, 30, 31, 32].map(|number| registers.get(number));
    Some((pc?, UnwindRegsNative::new(lr?, sp?, fp?)))
}

/// The program's part of a call chain that the kernel followed, or only where it executes.
fn chained_frames(process: &Process, pid: i32, sample: &SampleRecord<'_>) -> Vec<Frame> {
    let Some(chain) = &sample.callchain else {
        let ip = sample.ip.filter(|ip| *ip >> 63 == 0);
        return ip.map(|ip| place_at(process, pid, ip)).into_iter().collect();
    };
    let addresses = (0..chain.len()).filter_map(|index| chain.get(index));
    let addresses = addresses.filter(|address| *address >> 63 == 0).take(MOST_FRAMES);
    // All but the first are where calls return to.
    let before = addresses.enumerate().map(|(depth, it)| it.saturating_sub(u64::from(depth > 0)));
    before.map(|address| place_at(process, pid, address)).collect()
}

/// Where an address is: in a file, or in memory of its process.
fn place_at(process: &Process, pid: i32, address: u64) -> Frame {
    match process.at(address) {
        Some(it) => {
            let offset = (address - it.addresses.start).wrapping_add(it.offset);
            Frame::File(Arc::clone(&it.path), offset)
        }
        None => Frame::Memory(pid, address),
    }
}

/// The kernel's part of a call stack, the outermost first.
fn kernel_frames(sample: &SampleRecord<'_>) -> Vec<Frame> {
    kernel_addresses(sample).into_iter().rev().map(Frame::Kernel).collect()
}

/// The kernel's addresses of a call stack, the innermost first.
pub(crate) fn kernel_addresses(sample: &SampleRecord<'_>) -> Vec<u64> {
    let is_kernel = |address: &u64| *address < LEAST_MARKER && *address >> 63 == 1;
    match &sample.callchain {
        Some(chain) => {
            let addresses = (0..chain.len()).filter_map(|index| chain.get(index));
            addresses.filter(is_kernel).collect()
        }
        None => sample.ip.into_iter().filter(is_kernel).collect(),
    }
}
