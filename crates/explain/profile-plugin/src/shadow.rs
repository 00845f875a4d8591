//! Shadow stacks: which functions are active on each stack of the guest, and what they execute.
//!
//! A frame is known by the address of its return address, its *slot*. Stacks grow downwards, so
//! whatever pushes or pops at a slot has ended all frames at lower slots. This needs no balance of
//! calls and returns: frames that were skipped disappear with the next event above them.

use std::collections::HashMap;

use crate::lives::{ByArea, Lives};
use crate::nodes::{KERNEL, Node, Nodes, USER};
use crate::plan::Kind;
use crate::records::Mark;
use crate::spaces::Spaces;

/// The kernel's stacks have this size and alignment (log2), apart from smaller ones for exceptions.
const STACK_SHIFT: u32 = 14;
/// A push further below the last slot than this is on another stack.
const SAME_STACK_BYTES: u64 = 4096;
/// The stacks in the CPU entry area, from which the kernel leaves at once.
const ENTRY_AREA: u64 = 0xff_fffe;

/// Where a virtual CPU is in its instruction stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Its instructions so far.
    pub(crate) instructions: u64,
    /// Virtual time.
    pub(crate) time_ns: u64,
    /// Whether user code was executed since the last event.
    pub(crate) was_user: bool,
}

struct Frame {
    slot: u64,
    node: Node,
    state: FrameState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameState {
    Usual,
    /// Called, but no function was entered yet: a trampoline executes, which counts for the caller.
    Open,
    /// Its return address is no longer at the slot.
    Moved,
}

struct Stack {
    frames: Vec<Frame>,
    /// What its lowest frame was entered from.
    base: Node,
    /// Whether a task executed here before the profile, so that its frames are unknown.
    is_unknown: bool,
}

impl Stack {
    fn pop_to(&mut self, slot: u64) {
        while self.frames.last().is_some_and(|frame| frame.slot <= slot) {
            self.frames.pop();
        }
    }

    fn top(&self) -> Node {
        self.frames.last().map_or(self.base, |frame| frame.node)
    }

    fn top_mut(&mut self) -> &mut Node {
        self.frames.last_mut().map_or(&mut self.base, |frame| &mut frame.node)
    }
}

/// A virtual CPU.
struct Cpu {
    stack: usize,
    chunk: u64,
    last_slot: u64,
    node: Node,
    /// The slot of a call whose function was not entered yet.
    called: Option<u64>,
    /// An entry by the processor whose slot is not known yet.
    entered: Option<Node>,
    is_switching: bool,
    /// What was counted, and when.
    instructions: u64,
    time_ns: u64,
    /// The life of its task, and what that executed in this interval since the last switch.
    life: u32,
    areas: ByArea,
}

/// All stacks of a guest.
pub(crate) struct Shadow {
    pub(crate) nodes: Nodes,
    pub(crate) lives: Lives,
    pub(crate) spaces: Spaces,
    stacks: Vec<Stack>,
    by_chunk: HashMap<u64, usize>,
    cpus: Vec<Cpu>,
    shift: u32,
    /// The times at which intervals end, ascending.
    times_ns: Vec<u64>,
    pub(crate) marks: Vec<Mark>,
    next_ns: u64,
    /// The virtual CPU that executed last.
    last_cpu: usize,
}

impl Shadow {
    /// For a guest with 2^`shift` ns per instruction, whose kernel's functions have these areas.
    pub(crate) fn new(shift: u32, times_ns: Vec<u64>, function_areas: Vec<u8>) -> Self {
        let next_ns = times_ns.first().copied().unwrap_or(u64::MAX);
        let stack = Stack { frames: Vec::new(), base: KERNEL, is_unknown: false };
        Self {
            nodes: Nodes::new(function_areas),
            lives: Lives::new(),
            spaces: Spaces::default(),
            stacks: vec![stack],
            by_chunk: HashMap::new(),
            cpus: Vec::new(),
            shift,
            times_ns,
            marks: Vec::new(),
            next_ns,
            last_cpu: 0,
        }
    }

    fn know(&mut self, index: usize, now: Now) {
        while self.cpus.len() <= index {
            self.cpus.push(Cpu {
                stack: 0,
                chunk: 0,
                last_slot: 0,
                node: KERNEL,
                called: None,
                entered: None,
                is_switching: false,
                instructions: 0,
                // Nothing was idle before the first event.
                time_ns: now.time_ns - (now.instructions << self.shift),
                life: 0,
                areas: ByArea::default(),
            });
        }
    }

    /// The next instruction of this CPU is the first one of a function.
    pub(crate) fn enter(&mut self, cpu: usize, now: Now, function: u32, kind: Kind) {
        self.count(cpu, now);
        match kind {
            Kind::Entry => return self.enter_by_processor(cpu, now.was_user, function),
            Kind::Start => return self.start(cpu, function),
            Kind::Switch => self.cpus[cpu].is_switching = true,
            _ => {}
        }
        self.open_called(cpu);
        let at = &mut self.cpus[cpu];
        if let Some(frame) = self.stacks[at.stack].frames.last_mut()
            && frame.state == FrameState::Open
            && at.entered.is_none()
        {
            frame.node = self.nodes.child(at.node, function);
            frame.state = match kind {
                Kind::Moving => FrameState::Moved,
                _ => FrameState::Usual,
            };
            at.node = frame.node;
            return self.nodes.add_entry(at.node);
        }
        // A jump: the function takes the frame of the one that ends with it.
        let is_base = self.nodes.is_base(at.node);
        if !is_base && self.nodes.functions[at.node as usize] == function {
            return;
        }
        let from = match is_base {
            true => at.node,
            false => self.nodes.parents[at.node as usize],
        };
        at.node = self.nodes.child(from, function);
        match &mut at.entered {
            Some(entered) => *entered = at.node,
            None => *self.stacks[at.stack].top_mut() = at.node,
        }
        self.nodes.add_entry(at.node);
    }

    /// Gives a call whose function was not entered yet a frame.
    fn open_called(&mut self, cpu: usize) {
        let at = &mut self.cpus[cpu];
        if let Some(slot) = at.called.take() {
            let frame = Frame { slot, node: at.node, state: FrameState::Open };
            self.stacks[at.stack].frames.push(frame);
        }
    }

    fn enter_by_processor(&mut self, cpu: usize, was_user: bool, function: u32) {
        self.open_called(cpu);
        let at = &mut self.cpus[cpu];
        if was_user {
            let stack = &mut self.stacks[at.stack];
            at.node = self.lives.life(at.life).user.node();
            stack.base = at.node;
            stack.is_unknown = false;
            stack.frames.clear();
        }
        at.node = self.nodes.child(at.node, function);
        at.entered = Some(at.node);
        self.nodes.add_entry(at.node);
    }

    fn start(&mut self, cpu: usize, function: u32) {
        let at = &mut self.cpus[cpu];
        at.called = None;
        at.node = self.nodes.child(KERNEL, function);
        let stack = &mut self.stacks[at.stack];
        stack.frames.clear();
        stack.base = at.node;
        stack.is_unknown = false;
        self.nodes.add_entry(at.node);
    }

    /// A call pushes its return address. Nothing is counted until it enters its function, unless the
    /// stack is another one.
    pub(crate) fn call(&mut self, cpu: usize, slot: u64, now: impl FnOnce() -> Now) {
        if self.cpus.get(cpu).is_none_or(|at| at.chunk != slot >> STACK_SHIFT) {
            self.count(cpu, now());
        }
        self.open_called(cpu);
        self.move_to(cpu, slot);
        let at = &mut self.cpus[cpu];
        let stack = &mut self.stacks[at.stack];
        stack.pop_to(slot);
        (at.node, at.called) = (stack.top(), Some(slot));
    }

    /// A return pops its return address. Returns whether the function that continues is unknown.
    pub(crate) fn leave(&mut self, cpu: usize, now: Now, slot: u64) -> bool {
        self.count(cpu, now);
        self.move_to(cpu, slot);
        let at = &mut self.cpus[cpu];
        let stack = &mut self.stacks[at.stack];
        let frames = stack.frames.len();
        stack.pop_to(slot);
        if stack.frames.len() == frames {
            stack.frames.pop_if(|frame| frame.state == FrameState::Moved);
        }
        (at.node, at.called) = (stack.top(), None);
        stack.is_unknown && stack.frames.is_empty()
    }

    /// The function that continues after [`Self::leave`], where that did not know it.
    pub(crate) fn continue_in(&mut self, cpu: usize, function: u32) {
        let at = &mut self.cpus[cpu];
        at.node = self.nodes.child(KERNEL, function);
        self.stacks[at.stack].base = at.node;
    }

    /// A return from an interrupt pops the interrupted code's address; what follows may be user code.
    pub(crate) fn resume(&mut self, cpu: usize, now: Now, slot: Option<u64>) {
        self.count(cpu, now);
        if let Some(slot) = slot.filter(|slot| slot >> 40 != ENTRY_AREA) {
            self.move_to(cpu, slot);
            let at = &mut self.cpus[cpu];
            self.stacks[at.stack].pop_to(slot);
        }
        let at = &mut self.cpus[cpu];
        (at.called, at.entered) = (None, None);
        at.node = self.stacks[at.stack].top();
    }

    /// Finds the stack of a slot, on which everything was counted, and gives a pending entry its frame.
    fn move_to(&mut self, cpu: usize, slot: u64) {
        let chunk = slot >> STACK_SHIFT;
        if chunk != self.cpus[cpu].chunk {
            self.change_stack(cpu, chunk, slot);
        }
        let at = &mut self.cpus[cpu];
        at.last_slot = slot;
        if let Some(node) = at.entered.take() {
            let stack = &mut self.stacks[at.stack];
            stack.pop_to(slot);
            // Just above the first call of the entry.
            stack.frames.push(Frame { slot: slot + 8, node, state: FrameState::Usual });
            at.node = node;
        }
    }

    fn change_stack(&mut self, cpu: usize, chunk: u64, slot: u64) {
        let at = &mut self.cpus[cpu];
        at.chunk = chunk;
        let is_below = at.last_slot > slot && at.last_slot - slot < SAME_STACK_BYTES;
        let (stacks, stack) = (&mut self.stacks, at.stack);
        let found = *self.by_chunk.entry(chunk).or_insert_with(|| match is_below {
            // A stack that is not aligned.
            true => stack,
            false => {
                stacks.push(Stack { frames: Vec::new(), base: KERNEL, is_unknown: false });
                stacks.len() - 1
            }
        });
        if found == stack {
            return;
        }
        let stack = &mut stacks[found];
        stack.pop_to(slot);
        if stack.frames.is_empty() {
            // Another task's, or one for interrupts, which continues the interrupted stack.
            stack.base = if at.is_switching { KERNEL } else { at.node };
            stack.is_unknown = at.is_switching;
        }
        at.is_switching = false;
        (at.stack, at.node) = (found, stack.top());
    }

    /// Counts what this CPU executed since its last event.
    #[inline]
    fn count(&mut self, cpu: usize, now: Now) {
        let next_ns = self.next_ns;
        self.know(cpu, now);
        let at = &mut self.cpus[cpu];
        let count = now.instructions - at.instructions;
        if now.was_user {
            at.node = self.lives.life(at.life).user.node();
        }
        let node = at.node;
        let since_ns = at.time_ns;
        (at.instructions, at.time_ns) = (now.instructions, now.time_ns);
        if count > 0 {
            self.last_cpu = cpu;
        }
        if now.time_ns < next_ns {
            at.areas[self.nodes.areas[node as usize] as usize] += count;
            self.nodes.add_instructions(node, count);
            return;
        }
        self.count_across(cpu, node, count, now.time_ns - since_ns);
    }

    /// Counts what a CPU executed while intervals ended. Time that passed without instructions is
    /// taken as the last part: a CPU that is idle continues with an interrupt.
    #[cold]
    fn count_across(&mut self, cpu: usize, node: Node, count: u64, elapsed_ns: u64) {
        let mut counted = 0;
        let area = self.nodes.areas[node as usize] as usize;
        let now_ns = self.cpus[cpu].time_ns;
        let since_ns = now_ns - elapsed_ns;
        while self.next_ns <= now_ns {
            let elapsed_ns = self.next_ns.saturating_sub(since_ns);
            let before = elapsed_ns.div_ceil(1 << self.shift);
            let part = before.min(count).saturating_sub(counted);
            self.nodes.add_instructions(node, part);
            self.cpus[cpu].areas[area] += part;
            counted += part;
            let others: u64 = self.cpus.iter().map(|cpu| cpu.instructions).sum();
            let instructions = others - (count - counted);
            let (is_idle, cpu) = (before > count, cpu as u32);
            self.marks.push(Mark { instructions, node, is_idle, cpu });
            self.cut();
            self.next_ns = self.times_ns.get(self.marks.len()).copied().unwrap_or(u64::MAX);
        }
        self.nodes.add_instructions(node, count - counted);
        self.cpus[cpu].areas[area] += count - counted;
    }

    /// Ends an interval.
    pub(crate) fn cut(&mut self) {
        for at in &mut self.cpus {
            self.lives.count(at.life, &mut at.areas);
        }
        self.nodes.cut();
        self.lives.cut();
    }

    /// The task with this name leaves this CPU to another one; returns whether that one called a
    /// function of its program and did not enter it yet.
    pub(crate) fn switch(&mut self, cpu: usize, name: u32, next: u64) -> bool {
        let at = &mut self.cpus[cpu];
        self.lives.count(at.life, &mut at.areas);
        self.lives.life_mut(at.life).name = name;
        at.life = self.lives.of(next);
        self.lives.life(at.life).user.is_open()
    }

    /// The life of a CPU's task.
    pub(crate) fn life(&self, cpu: usize) -> u32 {
        self.cpus[cpu].life
    }

    /// The call stack of user code that a CPU's task executes.
    pub(crate) fn user_node(&self, cpu: usize) -> Node {
        self.cpus.get(cpu).map_or(USER, |at| self.lives.life(at.life).user.node())
    }

    /// A call of user code pushes its return address.
    pub(crate) fn user_call(&mut self, cpu: usize, now: Now, slot: u64) {
        self.count(cpu, now);
        let life = self.cpus[cpu].life;
        self.lives.life_mut(life).user.call(slot);
    }

    /// User code is in the first block of the function that it called. What it executed since the call
    /// led there.
    pub(crate) fn user_enter(&mut self, cpu: usize, address: u64) {
        let life = self.lives.life_mut(self.cpus[cpu].life);
        if life.user.is_open() {
            let function = self.spaces.function(life.program, address);
            let node = self.nodes.user_child(life.user.node(), function);
            life.user.enter(node);
            self.nodes.add_entry(node);
        }
    }

    /// A return of user code pops its return address.
    pub(crate) fn user_leave(&mut self, cpu: usize, now: Now, slot: u64) {
        self.count(cpu, now);
        let life = self.cpus[cpu].life;
        self.lives.life_mut(life).user.leave(slot);
    }

    /// What a CPU executes.
    pub(crate) fn node(&self, cpu: usize) -> Node {
        self.cpus.get(cpu).map_or(KERNEL, |cpu| cpu.node)
    }

    /// What was executed last.
    pub(crate) fn last(&self) -> Node {
        self.cpus.get(self.last_cpu).map_or(KERNEL, |cpu| cpu.node)
    }

    /// Counts the rest of a CPU.
    pub(crate) fn finish(&mut self, cpu: usize, now: Now) {
        self.count(cpu, now);
    }
}

#[cfg(test)]
#[path = "shadow_tests.rs"]
mod tests;
