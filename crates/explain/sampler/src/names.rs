//! The names of places in code, and the profile of what was recorded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::{Arc, OnceLock};

use profile::{Area, Part, ProgramFile, SampledProfile, StackTree, TaskTime, ThreadTimes};

use crate::faults::FaultSamples;
use crate::modules::program_bytes;
use crate::stacks::{Frame, NOTHING, Stacks};
use crate::threads::Thread;
use crate::waits::divided;

const KERNEL_NAME: &str = "[kernel]";
const CUT_OFF_NAME: &str = "[call stack cut off]";
const NOT_SAMPLED_NAME: &str = "[not sampled]";
const NO_STACK_NAME: &str = "[call stack not recorded]";
/// A longer list of functions is not read.
const MOST_LISTED_BYTES: u64 = 256 << 20;
const TOUCHED_NAME: &str = "memory in swap";
const MEMORY_NAME: &str = "[code without a file]";

/// The functions of the kernel by address, from the first time that one is wanted.
static KERNEL: OnceLock<Vec<(u64, String)>> = OnceLock::new();

/// Whose names are those of what was recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// Files that are not as they were.
    pub(crate) files: HashSet<String>,
    /// Whether this is not the kernel.
    pub(crate) is_other_kernel: bool,
    /// Whether these are not the processes, and the files that they wrote are others'.
    pub(crate) is_other_machine: bool,
}

/// The functions of files, which several profiles share: large ones take a second to read. A file that has
/// changed is read again.
#[derive(Debug, Default)]
pub struct KnownFiles {
    files: HashMap<Arc<str>, (Option<FileVersion>, ProgramFile)>,
}

/// Device, inode, size in bytes, and the time of the last change in s and ns.
type FileVersion = (u64, u64, u64, i64, i64);

impl KnownFiles {
    fn forget_changed(&mut self) {
        self.files.retain(|path, (version, _)| *version == file_version(path));
    }

    fn get(&mut self, path: &Arc<str>) -> &ProgramFile {
        let read = || (file_version(path), ProgramFile::find(path, &program_bytes));
        &self.files.entry(Arc::clone(path)).or_insert_with(read).1
    }
}

fn file_version(path: &str) -> Option<FileVersion> {
    let about = fs::metadata(path).ok()?;
    Some((about.dev(), about.ino(), about.size(), about.mtime(), about.mtime_nsec()))
}

/// Names of addresses.
struct Names<'a> {
    changed: Changed,
    files: &'a mut KnownFiles,
    /// The functions that compilers at run time have listed, by process (`/tmp/perf-PID.map`).
    maps: HashMap<i32, Vec<(u64, u64, String)>>,
}

impl Names<'_> {
    /// The functions that are inlined at a place whose name is known, the outermost first.
    fn inlined(&self, frame: &Frame) -> Vec<String> {
        let Frame::File(path, offset) = frame else { return Vec::new() };
        let file = self.files.files.get(path);
        let inlined = file.map_or_else(Vec::new, |(_, file)| file.inlined(*offset));
        inlined.iter().map(|name| format!("{name} [{}]", short(path))).collect()
    }

    fn name(&mut self, frame: &Frame) -> String {
        match frame {
            Frame::Thread(name) => name.to_string(),
            Frame::Touched(path, is_code) => {
                let part = if *is_code { "text" } else { "data" };
                format!("{part} of {}", short(path))
            }
            Frame::TouchedMemory => TOUCHED_NAME.to_owned(),
            Frame::CutOff => CUT_OFF_NAME.to_owned(),
            Frame::NotSampled => NOT_SAMPLED_NAME.to_owned(),
            Frame::NoStack => NO_STACK_NAME.to_owned(),
            Frame::Kernel(_) if self.changed.is_other_kernel => KERNEL_NAME.to_owned(),
            Frame::Kernel(address) => kernel_function(*address),
            Frame::File(path, offset) => {
                let short = short(path);
                if short.starts_with('[') {
                    return short.to_owned();
                }
                if self.changed.files.contains(&**path) {
                    return format!("[{short}]");
                }
                match self.files.get(path).symbol(*offset) {
                    Some(name) => format!("{name} [{short}]"),
                    None => format!("[{short}]"),
                }
            }
            Frame::Memory(..) if self.changed.is_other_machine => MEMORY_NAME.to_owned(),
            Frame::Memory(pid, address) => {
                let map = self.maps.entry(*pid).or_insert_with(|| {
                    let path = format!("/tmp/perf-{pid}.map");
                    listed_functions(&own_text(&path).unwrap_or_default())
                });
                let after = map.partition_point(|(start, ..)| start <= address);
                let found = after.checked_sub(1).and_then(|index| map.get(index));
                let found = found.filter(|(start, size, _)| address - start < *size);
                found.map_or(MEMORY_NAME, |(_, _, name)| name).to_owned()
            }
        }
    }
}

/// The name of a file without its folder.
fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn kernel() -> &'static [(u64, String)] {
    KERNEL
        .get_or_init(|| kernel_functions(&fs::read_to_string("/proc/kallsyms").unwrap_or_default()))
}

/// Whether a function of this kernel has an address; `None` where addresses are hidden.
pub(crate) fn is_kernel_function(name: &str, address: u64) -> Option<bool> {
    let mut found = kernel().iter().filter(|it| it.1 == name).peekable();
    found.peek()?;
    Some(found.any(|it| it.0 == address))
}

/// The function of this kernel at an address.
pub(crate) fn kernel_function(address: u64) -> String {
    let kernel = kernel();
    let after = kernel.partition_point(|(start, _)| *start <= address);
    let found = after.checked_sub(1).and_then(|index| kernel.get(index));
    found.map_or(KERNEL_NAME, |(_, name)| name).to_owned()
}

/// The text of a file in a folder in which every user may make one: of this user or root, and not a device.
fn own_text(path: &str) -> Option<String> {
    let open = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut file = open.ok()?;
    let about = file.metadata().ok()?;
    let is_trusted = [0, rustix::process::geteuid().as_raw()].contains(&about.uid());
    if !about.is_file() || !is_trusted || about.len() > MOST_LISTED_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Functions of `/proc/kallsyms`, by address; none where they are hidden.
fn kernel_functions(text: &str) -> Vec<(u64, String)> {
    let function = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok().filter(|it| *it > 0)?;
        let is_code = words.next()?.eq_ignore_ascii_case("t");
        is_code.then(|| Some((address, words.next()?.to_owned())))?
    };
    let mut found: Vec<(u64, String)> = text.lines().filter_map(function).collect();
    found.sort_unstable();
    found
}

/// Functions of a map, by address: start and size in hexadecimal digits, and a name with blanks
/// (Linux, `tools/perf/Documentation/jit-interface.txt`).
fn listed_functions(text: &str) -> Vec<(u64, u64, String)> {
    let function = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
        Some((number()?, number()?, words.next()?.to_owned()))
    };
    let mut found: Vec<(u64, u64, String)> = text.lines().filter_map(function).collect();
    found.sort_unstable();
    found
}

/// The area of the kernel that begins with a function; else its caller's.
fn area(of_caller: Area, frame: &Frame, name: &str) -> Area {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match frame {
        Frame::Kernel(_) if begins(&["asm_exc_", "el0_da", "el1_abort"]) => Area::Exception,
        Frame::Kernel(_) if begins(&["asm_sysvec_", "asm_common_interrupt"]) => Area::Interrupt,
        Frame::Kernel(_) if begins(&["handle_softirqs", "__do_softirq"]) => Area::Softirq,
        Frame::Kernel(_) if begins(&["ret_from_fork"]) => Area::Thread,
        // A call of the system, or of something that is not known.
        Frame::Kernel(_) if of_caller == Area::User => Area::SystemCall,
        Frame::Kernel(_) => of_caller,
        _ => Area::User,
    }
}

/// How samples become time.
pub(crate) enum Weight {
    /// All of a thread's time is divided by its samples.
    All,
    /// Each sample is so many ns: samples in the kernel are missing.
    Each(u64),
}

/// The profile of all threads.
pub(crate) fn named(
    mut stacks: Stacks,
    threads: &[Thread],
    weight: &Weight,
    changed: Changed,
    files: &mut KnownFiles,
) -> SampledProfile {
    let mut times = Vec::new();
    let mut tasks: BTreeMap<&str, TaskTime> = BTreeMap::new();
    for thread in threads {
        let root = stacks.of(NOTHING, Frame::Thread(Arc::clone(&thread.name)));
        let (on_cpu, unsampled_ns) = on_cpu(thread, weight);
        times.extend(on_cpu.into_iter().map(|(stack, ns, seen)| (stack, Part::OnCpu, ns, seen)));
        if unsampled_ns > 0 {
            let stack = stacks.of(root, Frame::NotSampled);
            times.push((stack, Part::OnCpu, unsampled_ns, 0));
        }
        for (waits, part) in thread.off.iter().zip([Part::Waits, Part::WaitsForCpu]) {
            let (known, rest) = waits.by_stack();
            times.extend(known.into_iter().map(|(stack, it)| (stack, part, it.ns, it.times)));
            if rest.times > 0 {
                let stack = stacks.of(root, Frame::NoStack);
                times.push((stack, part, rest.ns, rest.times));
            }
        }
        let task = tasks.entry(&thread.name).or_insert_with(|| TaskTime {
            name: thread.name.to_string(),
            threads: 0,
            on_cpu_ns: 0,
            unsampled_ns: 0,
            waits_ns: 0,
            waits_for_cpu_ns: 0,
        });
        task.threads += 1;
        task.on_cpu_ns += thread.on_cpu_ns;
        task.unsampled_ns += unsampled_ns;
        task.waits_ns += thread.waits_ns;
        task.waits_for_cpu_ns += thread.waits_for_cpu_ns;
    }
    let faults = FaultSamples::of(threads);
    let by_stack = faults.by_stack.iter();
    times.extend(by_stack.map(|(stack, (count, seen))| (*stack, Part::Faults, *count, *seen)));
    // Equal results for equal records.
    times.sort_unstable();
    let mut tasks: Vec<TaskTime> = tasks.into_values().collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.on_cpu_ns));
    let (tree, nodes) = tree(&stacks, changed, files);
    let times =
        times.into_iter().map(|(stack, part, ns, seen)| (nodes[stack as usize], part, ns, seen));
    let mut profile = SampledProfile::new(tree, times);
    profile.threads = thread_times(threads, &nodes);
    profile.tasks = tasks;
    profile.fault_samples = faults.effective;
    profile
}

/// What threads did when, if that was kept, from the first of all times on and with the call stacks of the
/// profile.
fn thread_times(threads: &[Thread], nodes: &[u32]) -> Vec<ThreadTimes> {
    let kept = || threads.iter().filter_map(|thread| Some((thread, thread.times.as_ref()?)));
    let first = |it: &ThreadTimes| {
        let span = it.spans.first().map(|it| it.from_ns);
        span.into_iter().chain(it.samples.first().map(|it| it.0)).min()
    };
    let origin_ns = kept().filter_map(|(_, it)| first(it)).min().unwrap_or(0);
    let node = |stack: u32| nodes[stack as usize];
    let times = |(thread, it): (&Thread, &ThreadTimes)| {
        let mut times = ThreadTimes { name: thread.name.to_string(), ..it.clone() };
        for span in &mut times.spans {
            span.from_ns = span.from_ns.saturating_sub(origin_ns);
            span.to_ns = span.to_ns.saturating_sub(origin_ns);
            span.node = span.node.map(node);
        }
        for (at_ns, stack) in &mut times.samples {
            (*at_ns, *stack) = (at_ns.saturating_sub(origin_ns), node(*stack));
        }
        times
    };
    let mut all: Vec<ThreadTimes> =
        kept().filter(|(_, it)| first(it).is_some()).map(times).collect();
    all.sort_by_key(|it| it.tid);
    all
}

/// The call stacks with names; several places of a function are one.
fn tree(stacks: &Stacks, changed: Changed, files: &mut KnownFiles) -> (StackTree, Vec<u32>) {
    files.forget_changed();
    let mut names = Names { changed, files, maps: HashMap::new() };
    let mut tree = StackTree::default();
    let mut nodes: Vec<u32> = Vec::with_capacity(stacks.all.len());
    let mut areas: Vec<Area> = Vec::with_capacity(stacks.all.len());
    let mut names_of: Vec<String> = Vec::with_capacity(stacks.all.len());
    // Callers come first.
    for (caller, frame) in &stacks.all {
        let caller = (*caller != NOTHING).then_some(*caller as usize);
        let mut name = names.name(frame);
        let area = area(caller.map_or(Area::User, |caller| areas[caller]), frame, &name);
        let mut node = match caller {
            // Calls within a file without symbols.
            Some(caller) if name.starts_with('[') && *names_of[caller] == *name => nodes[caller],
            _ => tree.node(caller.map(|caller| nodes[caller]), &name, area),
        };
        for function in names.inlined(frame) {
            node = tree.node(Some(node), &function, area);
            name = function;
        }
        nodes.push(node);
        areas.push(area);
        names_of.push(name);
    }
    (tree, nodes)
}

/// The time of a thread by call stack with the number of samples, and the time that no sample is of.
fn on_cpu(thread: &Thread, weight: &Weight) -> (Vec<(u32, u64, u64)>, u64) {
    let mut samples: Vec<(u32, u64)> = thread.samples.iter().map(|it| (*it.0, *it.1)).collect();
    samples.sort_unstable();
    let count: u64 = samples.iter().map(|it| it.1).sum();
    let sampled_ns = match weight {
        Weight::All if count > 0 => thread.on_cpu_ns,
        Weight::All => 0,
        Weight::Each(ns) => count.saturating_mul(*ns).min(thread.on_cpu_ns),
    };
    let parts = divided(sampled_ns, samples.iter().map(|it| u128::from(it.1)));
    let times = samples.iter().zip(parts).map(|((stack, seen), ns)| (*stack, ns, *seen));
    (times.collect(), thread.on_cpu_ns - sampled_ns)
}

#[cfg(test)]
mod tests {
    use profile::CallStacks;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_time_of_a_thread_is_divided_by_its_samples_and_nothing_is_lost() {
        let mut stacks = Stacks::default();
        let root = stacks.of(NOTHING, Frame::Thread("it".into()));
        let one = stacks.of(root, Frame::CutOff);
        let other = stacks.of(one, Frame::Memory(-1, 5));
        let mut thread = Thread::made("it".into(), 0);
        thread.comes(0);
        thread.ends(100);
        thread.samples.extend([(one, 1), (other, 2)]);
        let mut idle = Thread::unknown("it".into());
        idle.on_cpu_ns = 7;
        let threads = [thread, idle];
        let found = |weight| {
            let mut files = KnownFiles::default();
            let profile = named(stacks.clone(), &threads, &weight, Changed::default(), &mut files);
            let functions = profile.functions(profile.counts(Part::OnCpu));
            let mut functions: Vec<_> =
                functions.into_iter().map(|it| (it.name, it.own)).filter(|it| it.1 > 0).collect();
            functions.sort();
            (functions, profile.tasks[0].clone())
        };
        let (functions, task) = found(Weight::All);
        let expected = [(CUT_OFF_NAME, 33), (MEMORY_NAME, 67), (NOT_SAMPLED_NAME, 7)];
        assert_eq!(functions, expected.map(|(name, ns)| (name.to_owned(), ns)));
        assert_eq!((task.threads, task.on_cpu_ns, task.unsampled_ns), (2, 107, 7));
        let (functions, task) = found(Weight::Each(10));
        let expected = [(CUT_OFF_NAME, 10), (MEMORY_NAME, 20), (NOT_SAMPLED_NAME, 77)];
        assert_eq!(functions, expected.map(|(name, ns)| (name.to_owned(), ns)));
        assert_eq!(task.unsampled_ns, 77);
    }

    proptest! {
        #[test]
        fn any_list_of_functions_is_read_or_left_out(text in any::<String>()) {
            let _ = (listed_functions(&text), kernel_functions(&text));
        }
    }

    #[test]
    fn functions_are_read_and_the_rest_is_left_out() {
        let text = "ffff0010 t b\nffff0000 T a [m]\n0 T hidden\nffff0020 D data\nbad\n";
        let expected = [(0xffff_0000, "a".to_owned()), (0xffff_0010, "b".to_owned())];
        assert_eq!(kernel_functions(text), expected);
        let listed = listed_functions("20 10 py::f:/a b.py\nzz 1 x\n0x10 8 g\n");
        let expected = [(0x10, 8, "g".to_owned()), (0x20, 16, "py::f:/a b.py".to_owned())];
        assert_eq!(listed, expected);
    }
}
