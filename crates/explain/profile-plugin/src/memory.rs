//! References of a guest to memory, as the simulator of TLBs sees them.

use std::collections::HashMap;

use crate::charged::Charged;
use crate::guest::{Guest, handles};
use crate::nodes::Node;
use crate::prices::Prices;
use crate::privileged::Operand;
use crate::qemu::Register;
use crate::reference::PAGE_SHIFT;
use crate::tables::Tables;
use crate::target::Target;
use crate::tlb::{Machine, Mapped, Options, PageSize, Simulator};

/// Page numbers of addresses of 57 bits.
const PAGE_MASK: u64 = (1 << 45) - 1;
/// The registers of operands, by their numbers in instructions.
const GENERAL: [&[u8]; 16] = [
    b"rax", b"rcx", b"rdx", b"rbx", b"rsp", b"rbp", b"rsi", b"rdi", b"r8", b"r9", b"r10", b"r11",
    b"r12", b"r13", b"r14", b"r15",
];
const CONTROL: [&[u8]; 3] = [b"cr3", b"cr4", b"rip"];

/// The references of a guest, and what becomes of them.
pub(crate) struct Memory {
    target: Target,
    reader: Option<Reader>,
    cpus: Vec<Cpu>,
    /// The virtual CPU that executes.
    active: usize,
    /// Numbers of address spaces, by CR3.
    spaces: HashMap<u64, u32>,
    /// Changes with whatever can move code: the address at which a block was found holds until then.
    age: u64,
    times_ns: Vec<u64>,
    next_ns: u64,
    intervals: usize,
    /// References whose page tables could not be read.
    unreadable: u64,
}

struct Cpu {
    cr3: u64,
    /// Whether CR3 was written since it was read.
    is_stale: bool,
    process: u32,
}

/// What reads the guest, from the first block on.
struct Reader {
    guest: Guest,
    general: [*mut Register; GENERAL.len()],
    cr3: *mut Register,
    rip: *mut Register,
    /// `None` where they could not be found.
    tables: Option<Tables>,
}

/// A block of instructions, as it was translated.
pub(crate) struct Block {
    /// The first byte, where it was executed last.
    pub(crate) address: u64,
    /// Instructions on its first page and on the next one.
    pub(crate) counts: [u64; 2],
    pub(crate) is_user: bool,
    /// When the address was checked: code may be at several addresses.
    pub(crate) age: u64,
}

impl Memory {
    /// With the simulation of a machine with the TLBs that these words describe; `None` if they are
    /// none.
    pub(crate) fn simulated(machine: &[u8], cpus: usize, times_ns: Vec<u64>) -> Option<Self> {
        let target = Target::Simulated(Box::new((simulator(machine, cpus)?, Prices::new(cpus))));
        Some(Self::new(target, cpus, times_ns))
    }

    /// With the same simulation, for which the virtual clock pays.
    pub(crate) fn charged(machine: &[u8], cpus: usize) -> Option<Self> {
        let target = Target::Charged(Box::new(Charged::new(simulator(machine, cpus)?)));
        Some(Self::new(target, cpus, Vec::new()))
    }

    pub(crate) fn new(target: Target, cpus: usize, times_ns: Vec<u64>) -> Self {
        let cpu = || Cpu { cr3: 0, is_stale: true, process: 0 };
        Self {
            target,
            reader: None,
            cpus: (0..cpus).map(|_| cpu()).collect(),
            active: 0,
            spaces: HashMap::new(),
            age: 1,
            next_ns: times_ns.first().copied().unwrap_or(u64::MAX),
            times_ns,
            intervals: 0,
            unreadable: 0,
        }
    }

    /// A virtual CPU executes a block, which begins at this time, in this call stack.
    #[inline]
    pub(crate) fn block(&mut self, cpu: usize, block: &mut Block, node: Node, now_ns: u64) {
        if cpu != self.active || self.cpus[cpu].is_stale {
            self.switch(cpu);
        }
        while now_ns >= self.next_ns {
            self.cut();
        }
        self.target.enter(cpu, node, now_ns);
        if block.is_user && block.age != self.age {
            block.age = self.age;
            if let Some(reader) = &mut self.reader {
                block.address = reader.guest.register(reader.rip).unwrap_or(block.address);
            }
        }
        let page = block.address >> PAGE_SHIFT;
        for (page, count) in (page..).zip(block.counts) {
            if count > 0 {
                self.refer(page, true, false, count);
            }
        }
    }

    /// The block that executes refers to data.
    #[inline]
    pub(crate) fn data(&mut self, address: u64, is_store: bool) {
        self.refer(address >> PAGE_SHIFT, false, is_store, 1);
    }

    #[inline]
    fn refer(&mut self, page: u64, fetch: bool, written: bool, count: u64) {
        let page = page & PAGE_MASK;
        while !self.target.refer(page, fetch, written, count) {
            let mapped = self.translate(page);
            self.target.translated(page, mapped);
        }
    }

    #[cold]
    fn translate(&mut self, page: u64) -> Mapped {
        let cr3 = self.cpus[self.active].cr3;
        let found = self.reader.as_mut().and_then(|reader| {
            let tables = reader.tables?;
            tables.mapped(cr3, page << PAGE_SHIFT, &mut |address| {
                reader.guest.read(address).map(u64::from_le_bytes)
            })
        });
        found.unwrap_or_else(|| {
            self.unreadable += 1;
            Mapped { size: PageSize::Small, is_global: false }
        })
    }

    /// Another virtual CPU executes, or another address space.
    #[cold]
    fn switch(&mut self, cpu: usize) {
        self.age += 1;
        self.active = cpu;
        let reader = self.reader.get_or_insert_with(Reader::new);
        let at = &mut self.cpus[cpu];
        if std::mem::take(&mut at.is_stale) {
            at.cr3 = reader.guest.register(reader.cr3).unwrap_or(0);
            let next = self.spaces.len() as u32;
            at.process = *self.spaces.entry(at.cr3).or_insert(next);
        }
        self.target.switch(at.process, cpu);
    }

    /// A virtual CPU is about to write CR3, or to flush all.
    pub(crate) fn flush(&mut self, cpu: usize, globals_too: bool) {
        self.age += 1;
        self.cpus[cpu].is_stale = true;
        self.target.flush(globals_too);
    }

    /// A virtual CPU is about to flush the page of an operand of an instruction that ends here.
    pub(crate) fn flush_page(&mut self, operand: Operand, end: u64) {
        self.age += 1;
        let Some(reader) = &mut self.reader else { return };
        let mut value = |number: u8| {
            let register = reader.general[usize::from(number) % GENERAL.len()];
            reader.guest.register(register).unwrap_or(0)
        };
        let base = operand.base.map_or(0, &mut value);
        let index = operand.index.map_or(0, |(number, shift)| value(number) << shift);
        let from = if operand.is_relative { end } else { 0 };
        let address = from.wrapping_add(base).wrapping_add(index);
        let address = address.wrapping_add_signed(operand.displacement);
        self.target.flush_page(address >> PAGE_SHIFT & PAGE_MASK);
    }

    /// A virtual CPU executes this task from here on.
    pub(crate) fn switch_task(&mut self, cpu: usize, life: u32) {
        self.target.switch_task(cpu, life);
    }

    fn cut(&mut self) {
        self.target.cut();
        self.intervals += 1;
        self.next_ns = self.times_ns.get(self.intervals).copied().unwrap_or(u64::MAX);
    }

    /// The file of prices at the end of the recording; nothing where references are passed on.
    pub(crate) fn finish(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        while now_ns >= self.next_ns {
            self.cut();
        }
        self.target.finish(self.unreadable)
    }
}

/// The simulator of a machine with these words; `None` if they are none.
fn simulator(machine: &[u8], cpus: usize) -> Option<Simulator> {
    let words = machine.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let machine = Machine::of_words(words)?;
    let options = Options { cores: cpus, ..Options::default() };
    let mut simulator = Simulator::new(&machine, &options).ok()?;
    simulator.begin_guest();
    Some(simulator)
}

impl Reader {
    /// In a callback of a virtual CPU that may read registers.
    fn new() -> Self {
        let mut guest = Guest::new();
        let [cr3, cr4, rip] = handles(CONTROL);
        let general = handles(GENERAL);
        let [root, flags] = [cr3, cr4].map(|register| guest.register(register).unwrap_or(0));
        let mut read = |address| guest.read(address).map(u64::from_le_bytes);
        let tables = Tables::find(root, flags, &mut read);
        Self { guest, general, cr3, rip, tables }
    }
}
