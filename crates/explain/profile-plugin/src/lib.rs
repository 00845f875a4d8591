//! A plugin for the engine that counts the instructions of a guest by call stack.
//!
//! Callbacks exist at calls, returns, interrupts and the first block of each function; what was
//! executed between two of them is the difference of QEMU's own counts. So the sum of all counts is the emulator's by construction. The plugin changes nothing of the guest.
//!
//! It has no dependencies, so that the build script of the crate `profile` can build it with `rustc`
//! alone, and writes one file when QEMU ends.
#![expect(unsafe_code, reason = "it is called by QEMU and calls it")]

// What the files of other crates import by these names.
extern crate self as model;
extern crate self as trace;

mod charged;
mod decode;
mod file;
mod guest;
#[path = "../../../simulate/trace-plugin/src/interface.rs"]
mod interface;
mod lives;
mod mapped;
mod memory;
mod named;
mod nodes;
#[cfg_attr(not(test), expect(dead_code, reason = "the rest is for the host"))]
mod plan;
mod prices;
mod privileged;
mod qemu;
mod records;
#[path = "../../../simulate/trace/src/reference.rs"]
#[expect(dead_code, unreachable_pub, reason = "another crate's")]
mod reference;
mod scheduler;
mod shadow;
mod spaces;
mod stream;
mod tables;
mod target;
#[expect(dead_code, unreachable_pub, reason = "another crate's")]
mod tlb;
mod traced;
mod user;
mod user_code;
mod watch;
#[cfg_attr(not(test), expect(dead_code, reason = "the rest is for the host"))]
mod words;

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fs;
use std::io::{self, Write};
use std::ptr::{null_mut, without_provenance_mut};

use decode::{Transfer, transfer};
use guest::Guest;
use memory::Memory;
use named::{counted, described, named};
use plan::{Field, Kind, Plan};
use qemu::{Instruction, PluginId, Scoreboard, TranslatedBlock};
use records::{Event, What};
use reference::{PAGE_SHIFT, PageRun};
use scheduler::{NAME_BYTES, Scheduler, TaskName};
use shadow::{Now, Shadow};
use stream::Stream;
use target::Target;
use watch::Watch;

/// Kernel code is in the upper half of the address space.
const FIRST_KERNEL_ADDRESS: u64 = 1 << 63;
/// The longest prefix of an instruction that is decoded.
const DECODED_BYTES: usize = 15;

struct Profile {
    plan: Plan,
    shadow: Shadow,
    scheduler: Scheduler,
    /// From the first event of the scheduler on.
    guest: Option<Guest>,
    /// In place of everything else.
    watch: Option<Watch>,
    /// The simulation of TLBs and the file for it, if that was requested.
    memory: Option<Memory>,
    /// Whether nothing else is done: the virtual clock pays for the simulation.
    is_clock: bool,
    prices: Option<String>,
    /// What callbacks of the simulation get.
    code: traced::Code,
    shift: u32,
    output: String,
    /// A [`CpuFlags`] for each virtual CPU.
    flags: *mut Scoreboard,
}

/// What translated code notes without a callback, or asks before one.
#[repr(C)]
struct CpuFlags {
    /// Whether user code was executed since the kernel was entered last.
    was_user: u64,
    /// Whether user code called a function that it did not enter yet.
    has_called: u64,
}

/// What callbacks share. The engine executes all virtual CPUs in one thread, and the file is written
/// when they have stopped.
struct Shared(UnsafeCell<Option<Profile>>);

// SAFETY: only the thread of the virtual CPUs uses it, and the main thread before they start and
// after they have stopped.
unsafe impl Sync for Shared {}

static PROFILE: Shared = Shared(UnsafeCell::new(None));

#[inline]
fn with(work: impl FnOnce(&mut Profile)) {
    // SAFETY: callbacks do not nest, and `Shared` is used by one thread at a time.
    if let Some(profile) = unsafe { &mut *PROFILE.0.get() } {
        work(profile);
    }
}

/// QEMU's entry point.
///
/// # Safety
/// QEMU passes `count` strings in `arguments`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    _: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU passes `count` NUL-terminated strings that outlive the call.
    let arguments = unsafe { interface::strings(count, arguments) };
    match begin(id, &arguments) {
        Ok(()) => 0,
        Err(error) => {
            complain(&format!("the profile cannot begin: {error}"));
            1
        }
    }
}

/// Prints an error where QEMU prints its own; the host shows both.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn begin(id: PluginId, arguments: &[String]) -> io::Result<()> {
    let value = |name: &str| {
        let mut named = arguments.iter().filter_map(|argument| argument.split_once('='));
        let found = named.find(|(other, _)| *other == name).map(|(_, value)| value.to_owned());
        found.ok_or_else(|| io::Error::other(format!("there is no {name}=")))
    };
    let is_clock = value("clock").is_ok();
    let (plan, shift, output) = match is_clock {
        true => Default::default(),
        false => {
            let plan =
                Plan::decode(&fs::read(value("plan")?)?).ok_or(io::ErrorKind::InvalidData)?;
            (plan, value("shift")?.parse().map_err(io::Error::other)?, value("output")?)
        }
    };
    let areas = plan.functions.iter().map(|function| function.area).collect();
    let shadow = Shadow::new(shift, plan.times_ns.clone(), areas);
    let prices = value("prices").ok();
    let memory = memory(&value, &plan.times_ns)?;
    let until_ns = plan.times_ns.first().copied().unwrap_or(u64::MAX);
    let watch = plan.watched.map(|(address, size)| Watch::new(address, size, until_ns));
    // SAFETY: the callbacks have the expected types, and QEMU only unloads plugins on request. No
    // callback exists yet.
    unsafe {
        let flags = qemu::qemu_plugin_scoreboard_new(size_of::<CpuFlags>());
        let (scheduler, guest) = (Scheduler::default(), None);
        let code = traced::Code::default();
        *PROFILE.0.get() = Some(Profile {
            plan,
            shadow,
            scheduler,
            guest,
            watch,
            memory,
            is_clock,
            prices,
            code,
            shift,
            output,
            flags,
        });
        qemu::qemu_plugin_register_flush_cb(id, traced::on_code_flush);
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
        if !is_clock {
            qemu::qemu_plugin_register_atexit_cb(id, on_exit, null_mut());
        }
    }
    Ok(())
}

/// What becomes of the guest's references, if anything was requested.
fn memory(
    value: &impl Fn(&str) -> io::Result<String>,
    times_ns: &[u64],
) -> io::Result<Option<Memory>> {
    let number = |name: &str| value(name)?.parse::<u64>().map_err(io::Error::other);
    let Ok(cpus) = number("cpus") else { return Ok(None) };
    let (cpus, times_ns) = (cpus as usize, times_ns.to_vec());
    if let Ok(path) = value("clock") {
        let memory = Memory::charged(&fs::read(path)?, cpus);
        return memory.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into());
    }
    if let Ok(path) = value("references") {
        let stream = Stream::new(&path, cpus, number("from")?, number("to")?)?;
        return Ok(Some(Memory::new(Target::Written(Box::new(stream)), cpus, times_ns)));
    }
    let memory = Memory::simulated(&fs::read(value("tlbs")?)?, cpus, times_ns);
    memory.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

extern "C" fn on_translation(_: PluginId, block: *mut TranslatedBlock) {
    with(|profile| {
        // SAFETY: the block is valid during this callback.
        unsafe {
            match &profile.watch {
                Some(_) => watch::instrument(block),
                None if profile.is_clock => {}
                None => instrument(profile, block),
            }
            // Last, so that the call stack is that of the block when it is called.
            if profile.memory.is_some() {
                traced::instrument(&mut profile.code, block);
            }
        }
    });
}

/// # Safety
/// The block must belong to a running callback.
unsafe fn instrument(profile: &mut Profile, block: *mut TranslatedBlock) {
    // SAFETY: the caller vouches for the block, and so for its instructions; callbacks live forever,
    // and their user data is a number.
    unsafe {
        let (address, count) =
            (qemu::qemu_plugin_tb_vaddr(block), qemu::qemu_plugin_tb_n_insns(block));
        // Whatever changes the stack ends a block.
        let last = qemu::qemu_plugin_tb_get_insn(block, count.saturating_sub(1));
        if address < FIRST_KERNEL_ADDRESS {
            return user_code::instrument(profile.flags, block, last, address);
        }
        if let Some(function) = profile.plan.function_at(address)
            && let kind = profile.plan.functions[function as usize].kind
            && kind != Kind::Part
        {
            let data = (count as u64) << 32 | u64::from(function);
            let registers = match is_of_task(kind) {
                true => qemu::READS_REGISTERS,
                false => qemu::NO_REGISTERS,
            };
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(
                block,
                on_function,
                registers,
                without_provenance_mut(data as usize),
            );
        }
        let bytes = bytes_of(last);
        let (callback, access): (qemu::OnMemory, _) = match transfer(bytes.as_slice()) {
            Some(Transfer::Call) => (on_call, qemu::STORES),
            Some(Transfer::Return) => (on_return, qemu::LOADS),
            Some(Transfer::InterruptReturn) => (on_interrupt_return, qemu::LOADS),
            Some(Transfer::SystemReturn) => {
                return qemu::qemu_plugin_register_vcpu_insn_exec_cb(
                    last,
                    on_system_return,
                    qemu::NO_REGISTERS,
                    null_mut(),
                );
            }
            None => return,
        };
        on_memory(last, callback, access);
    }
}

/// Whether the kernel does something to a task, which is recorded.
fn is_of_task(kind: Kind) -> bool {
    matches!(kind, Kind::Switch | Kind::Wake | Kind::New | Kind::Exec | Kind::Map)
}

/// The first bytes of an instruction.
struct InstructionBytes([u8; DECODED_BYTES], usize);

impl InstructionBytes {
    fn as_slice(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// # Safety
/// The instruction must belong to a running callback.
unsafe fn bytes_of(instruction: *const Instruction) -> InstructionBytes {
    let mut bytes = [0; DECODED_BYTES];
    // SAFETY: the caller vouches for the instruction, and the buffer has this size.
    let size =
        unsafe { qemu::qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len()) };
    InstructionBytes(bytes, size.min(bytes.len()))
}

/// # Safety
/// The instruction must belong to a running callback.
unsafe fn on_memory(instruction: *mut Instruction, callback: qemu::OnMemory, access: c_int) {
    // SAFETY: the caller vouches for the instruction; the callback lives forever.
    unsafe {
        let registers = qemu::NO_REGISTERS;
        qemu::qemu_plugin_register_vcpu_mem_cb(
            instruction,
            callback,
            registers,
            access,
            null_mut(),
        );
    }
}

fn write(path: &str, bytes: &[u8]) {
    if let Err(error) = fs::write(path, bytes) {
        complain(&format!("the profile cannot be written: {error}"));
    }
}

impl Profile {
    fn write(&self, bytes: &[u8]) {
        write(&self.output, bytes);
    }

    fn with_flags<T>(&mut self, cpu: c_uint, work: impl FnOnce(&mut CpuFlags) -> T) -> T {
        // SAFETY: the entry of the scoreboard is this CPU's, which only its thread uses.
        work(unsafe { &mut *qemu::qemu_plugin_scoreboard_find(self.flags, cpu).cast() })
    }

    /// Whether a virtual CPU executed user code since this was asked last.
    fn take_user(&mut self, cpu: c_uint) -> bool {
        self.with_flags(cpu, |flags| std::mem::take(&mut flags.was_user) != 0)
    }

    /// Notes whether the next block of user code is that of a called function.
    fn set_called(&mut self, cpu: c_uint, has_called: bool) {
        self.with_flags(cpu, |flags| flags.has_called = u64::from(has_called));
    }

    /// Records what the kernel does to a task, when a function of this kind is entered.
    fn record(&mut self, cpu: c_uint, time_ns: u64, kind: Kind) {
        let guest = self.guest.get_or_insert_with(Guest::new);
        let Some([task, second]) = guest.arguments() else { return };
        let fields = self.plan.fields;
        let field = |field| fields.offset(field);
        let life = self.shadow.life(cpu as usize);
        let state = guest.field(task, field(Field::State)).map(u32::from_le_bytes).map(u64::from);
        let what = match kind {
            Kind::Exec => return self.shadow.lives.exec(life),
            Kind::Map => {
                let program = self.shadow.lives.life(life).program;
                let mapped = mapped::read(task, guest, &fields);
                return mapped.into_iter().for_each(|it| self.shadow.spaces.map(program, it));
            }
            Kind::Switch => {
                let pid = guest.field(task, field(Field::Pid)).map_or(0, u32::from_le_bytes);
                let name = guest.field::<NAME_BYTES>(task, field(Field::Name)).unwrap_or_default();
                let name = self.scheduler.number(TaskName { pid, name });
                let has_called = self.shadow.switch(cpu as usize, name, second);
                if let Some(memory) = &mut self.memory {
                    memory.switch_task(cpu as usize, self.shadow.life(cpu as usize));
                }
                self.set_called(cpu, has_called);
                What::Switch { next: second, state: state.unwrap_or_default(), name }
            }
            // A wake-up that is meant for other states has no effect.
            Kind::Wake if state.is_some_and(|state| state & second == 0) => return,
            Kind::New => {
                self.shadow.lives.fork(life, task);
                What::Wake
            }
            _ => What::Wake,
        };
        let node = self.shadow.node(cpu as usize);
        self.scheduler.record(Event { time_ns, cpu, node, task, what });
    }
}

/// Where a virtual CPU is, `before` instructions before the end of its block.
#[inline]
fn now(cpu: c_uint, before: u64, shift: u32, was_user: bool) -> Now {
    // SAFETY: the functions only read.
    let (instructions, time_ns) =
        unsafe { (qemu::qemu_plugin_instructions(cpu), qemu::qemu_plugin_virtual_ns()) };
    Now {
        instructions: instructions - before,
        time_ns: time_ns as u64 - (before << shift),
        was_user,
    }
}

extern "C" fn on_function(cpu: c_uint, data: *mut c_void) {
    let (count, function) = ((data.addr() as u64) >> 32, data.addr() as u32);
    with(|profile| {
        let kind = profile.plan.functions[function as usize].kind;
        // Only the processor leaves user code.
        let was_user = kind == Kind::Entry && profile.take_user(cpu);
        let now = now(cpu, count, profile.shift, was_user);
        profile.shadow.enter(cpu as usize, now, function, kind);
        if is_of_task(kind) {
            profile.record(cpu, now.time_ns, kind);
        }
    });
}

extern "C" fn on_call(cpu: c_uint, _: c_uint, slot: u64, _: *mut c_void) {
    with(|profile| {
        let Profile { shadow, shift, .. } = profile;
        shadow.call(cpu as usize, slot, || now(cpu, 0, *shift, false));
    });
}

extern "C" fn on_return(cpu: c_uint, info: c_uint, slot: u64, _: *mut c_void) {
    with(|profile| {
        let now = now(cpu, 0, profile.shift, false);
        if profile.shadow.leave(cpu as usize, now, slot) {
            // SAFETY: the description is that of this callback's load.
            let value = unsafe { qemu::qemu_plugin_mem_get_value(info) };
            if let Some(function) = profile.plan.function_around(value.words[0]) {
                profile.shadow.continue_in(cpu as usize, function);
            }
        }
    });
}

extern "C" fn on_interrupt_return(cpu: c_uint, _: c_uint, slot: u64, _: *mut c_void) {
    with(|profile| {
        let now = now(cpu, 0, profile.shift, false);
        profile.shadow.resume(cpu as usize, now, Some(slot));
    });
}

extern "C" fn on_system_return(cpu: c_uint, _: *mut c_void) {
    with(|profile| {
        let now = now(cpu, 0, profile.shift, false);
        profile.shadow.resume(cpu as usize, now, None);
    });
}

extern "C" fn on_exit(_: PluginId, _: *mut c_void) {
    with(|profile| {
        if let Some(watch) = &profile.watch {
            return profile.write(&watch.encode());
        }
        // SAFETY: it only reads.
        let cpus = unsafe { qemu::qemu_plugin_num_vcpus() };
        let mut instructions = 0;
        for cpu in 0..u32::try_from(cpus).unwrap_or(0) {
            let now = now(cpu, 0, profile.shift, profile.take_user(cpu));
            profile.shadow.finish(cpu as usize, now);
            instructions += now.instructions;
        }
        profile.shadow.cut();
        profile.write(&file::encode(&profile.shadow, &profile.scheduler, instructions));
        // SAFETY: it only reads.
        let now_ns = unsafe { qemu::qemu_plugin_virtual_ns() } as u64;
        let memory = profile.memory.as_mut().and_then(|memory| memory.finish(now_ns));
        if let (Some(bytes), Some(path)) = (memory, &profile.prices) {
            write(path, &bytes);
        }
    });
}
