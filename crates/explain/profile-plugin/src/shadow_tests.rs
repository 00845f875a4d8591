//! Tests of shadow stacks: what a guest does, event by event.

use super::*;
use crate::nodes::{ROOTS, UNKNOWN};
use crate::plan::{OF_CALLER, SYSTEM_CALL_AREA, USER_AREA};
use crate::records::FIRST_USER_FUNCTION;

/// Stacks of two tasks, and one for interrupts that is not aligned.
const TASK: u64 = 0xffff_c900_0001_0000;
const OTHER: u64 = 0xffff_c900_0002_0000;
const INTERRUPTS: u64 = 0xffff_c900_0003_4000 + 0x100;

// Functions.
const SYSCALL: u32 = 1;
const READ: u32 = 2;
const WRITE: u32 = 3;
const INTERRUPT: u32 = 4;
const SCHEDULE: u32 = 5;
const SWITCH: u32 = 6;
const SWITCHED: u32 = 7;

/// A guest with one CPU, 8 ns per instruction.
struct Guest {
    shadow: Shadow,
    instructions: u64,
    idle_ns: u64,
    is_user: bool,
}

impl Guest {
    fn new(times_ns: &[u64]) -> Self {
        let shadow = Shadow::new(3, times_ns.to_vec(), vec![OF_CALLER; 8]);
        Self { shadow, instructions: 0, idle_ns: 0, is_user: false }
    }

    /// What the next event sees after so many instructions.
    fn after(&mut self, instructions: u64) -> Now {
        self.instructions += instructions;
        let was_user = std::mem::take(&mut self.is_user);
        let time_ns = (self.instructions << 3) + self.idle_ns;
        Now { instructions: self.instructions, time_ns, was_user }
    }

    fn enter(&mut self, count: u64, function: u32, kind: Kind) {
        let now = self.after(count);
        self.shadow.enter(0, now, function, kind);
    }

    fn call(&mut self, count: u64, slot: u64, function: u32) {
        let now = self.after(count);
        self.shadow.call(0, slot, || now);
        self.enter(0, function, Kind::Function);
    }

    fn leave(&mut self, count: u64, slot: u64) -> bool {
        let now = self.after(count);
        self.shadow.leave(0, now, slot)
    }

    fn resume(&mut self, count: u64, slot: Option<u64>) {
        let now = self.after(count);
        self.shadow.resume(0, now, slot);
    }

    /// Executes user code, and enters the kernel.
    fn system_call(&mut self, user: u64) {
        self.is_user = true;
        self.enter(user, SYSCALL, Kind::Entry);
    }

    /// Paths of functions with their instructions and entries in the last interval.
    fn counts(&mut self) -> Vec<(Vec<u32>, u64, u64)> {
        let now = self.after(0);
        self.shadow.finish(0, now);
        let before = self.shadow.nodes.intervals.len();
        self.shadow.cut();
        let bytes = self.shadow.nodes.intervals[before..].to_vec();
        let nodes = &self.shadow.nodes;
        let mut found = Vec::new();
        let mut node = 0;
        // All numbers of these tests fit into a byte.
        for counts in bytes[1..].chunks(3) {
            node += usize::from(counts[0]);
            let mut path = Vec::new();
            let mut at = node as Node;
            while at as usize >= ROOTS {
                path.insert(0, nodes.functions[at as usize]);
                at = nodes.parents[at as usize];
            }
            path.insert(0, UNKNOWN - at);
            found.push((path, counts[1].into(), counts[2].into()));
        }
        found
    }
}

const IN_USER: u32 = UNKNOWN - USER;
const IN_KERNEL: u32 = UNKNOWN - KERNEL;

#[test]
fn calls_and_returns_are_paths() {
    let mut guest = Guest::new(&[]);
    guest.system_call(10);
    guest.call(2, TASK + 0x3f00, READ);
    guest.call(3, TASK + 0x3e00, WRITE);
    assert!(!guest.leave(4, TASK + 0x3e00));
    guest.leave(5, TASK + 0x3f00);
    guest.resume(6, None);
    guest.system_call(7);
    let expected = [
        (vec![IN_USER], 17, 0),
        (vec![IN_USER, SYSCALL], 8, 2),
        (vec![IN_USER, SYSCALL, READ], 8, 1),
        (vec![IN_USER, SYSCALL, READ, WRITE], 4, 1),
    ];
    assert_eq!(guest.counts(), expected);
}

#[test]
fn a_jump_to_a_function_takes_the_frame_and_a_loop_is_no_entry() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    guest.call(1, TASK + 0x3f00, READ);
    guest.enter(5, READ, Kind::Function);
    guest.enter(5, WRITE, Kind::Function);
    guest.leave(7, TASK + 0x3f00);
    let expected = [
        (vec![IN_USER], 1, 0),
        (vec![IN_USER, SYSCALL], 1, 1),
        (vec![IN_USER, SYSCALL, READ], 10, 1),
        (vec![IN_USER, SYSCALL, WRITE], 7, 1),
    ];
    assert_eq!(guest.counts(), expected);
}

#[test]
fn frames_that_a_return_skips_are_gone() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    for (slot, function) in [(0x3f00, READ), (0x3e00, WRITE), (0x3d00, SCHEDULE)] {
        guest.call(1, TASK + slot, function);
    }
    // Past two frames at once.
    guest.leave(1, TASK + 0x3f00);
    guest.call(9, TASK + 0x3f00, SWITCHED);
    let counts = guest.counts();
    assert_eq!(counts[1], (vec![IN_USER, SYSCALL], 10, 1));
    assert_eq!(counts.last(), Some(&(vec![IN_USER, SYSCALL, SWITCHED], 0, 1)));
}

#[test]
fn a_function_that_moves_its_return_address_ends_with_its_own_return() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    let now = guest.after(1);
    guest.shadow.call(0, TASK + 0x3f00, || now);
    guest.enter(0, READ, Kind::Moving);
    guest.call(1, TASK + 0x3e00, WRITE);
    guest.leave(1, TASK + 0x3e00);
    // Its return address is below where the call put it.
    guest.leave(1, TASK + 0x3e80);
    guest.call(5, TASK + 0x3e80, SCHEDULE);
    let counts = guest.counts();
    assert!(counts.contains(&(vec![IN_USER, SYSCALL], 6, 1)), "{counts:?}");
    assert!(counts.contains(&(vec![IN_USER, SYSCALL, SCHEDULE], 0, 1)), "{counts:?}");
}

#[test]
fn an_interrupt_on_its_own_stack_continues_what_it_interrupted() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    guest.call(1, TASK + 0x3f00, READ);
    guest.enter(2, INTERRUPT, Kind::Entry);
    guest.call(3, TASK + 0x3e00, SCHEDULE);
    // The stack for interrupts, which crosses a boundary.
    guest.call(1, INTERRUPTS, WRITE);
    guest.call(1, INTERRUPTS - 0x200, SWITCHED);
    guest.leave(1, INTERRUPTS - 0x200);
    guest.leave(1, INTERRUPTS);
    guest.leave(4, TASK + 0x3e00);
    guest.resume(5, Some(TASK + 0x3e80));
    guest.leave(6, TASK + 0x3f00);
    let interrupt = vec![IN_USER, SYSCALL, READ, INTERRUPT];
    let with = |more: &[u32]| [&interrupt[..], more].concat();
    let counts = guest.counts();
    for expected in [
        (vec![IN_USER, SYSCALL, READ], 2 + 6, 1),
        (interrupt.clone(), 3 + 5, 1),
        (with(&[SCHEDULE]), 1 + 4, 1),
        (with(&[SCHEDULE, WRITE]), 1 + 1, 1),
        (with(&[SCHEDULE, WRITE, SWITCHED]), 1, 1),
    ] {
        assert!(counts.contains(&expected), "{expected:?} in {counts:?}");
    }
}

#[test]
fn a_task_continues_on_its_own_stack() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    guest.call(1, TASK + 0x3f00, SCHEDULE);
    guest.call(1, TASK + 0x3e00, SWITCH);
    guest.enter(0, SWITCH, Kind::Switch);
    guest.enter(3, SWITCHED, Kind::Function);
    // The other task slept before the profile began.
    assert!(guest.leave(4, OTHER + 0x3d00), "its functions are unknown");
    guest.shadow.continue_in(0, WRITE);
    guest.call(5, OTHER + 0x3d00, SWITCH);
    guest.enter(0, SWITCH, Kind::Switch);
    guest.enter(3, SWITCHED, Kind::Function);
    assert!(!guest.leave(4, TASK + 0x3e00));
    guest.leave(6, TASK + 0x3f00);
    let counts = guest.counts();
    for expected in [
        (vec![IN_USER, SYSCALL, SCHEDULE], 1 + 6, 1),
        (vec![IN_USER, SYSCALL, SCHEDULE, SWITCH], 3, 1),
        (vec![IN_USER, SYSCALL, SCHEDULE, SWITCHED], 4, 1),
        (vec![IN_KERNEL, WRITE], 5, 1 - 1),
        (vec![IN_KERNEL, WRITE, SWITCHED], 4, 1),
    ] {
        assert!(counts.contains(&expected), "{expected:?} in {counts:?}");
    }
}

#[test]
fn a_new_task_begins_at_the_root() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    guest.call(1, TASK + 0x3f00, SWITCH);
    guest.enter(0, SWITCH, Kind::Switch);
    guest.leave(2, OTHER + 0x3f00);
    guest.enter(0, READ, Kind::Start);
    guest.call(3, OTHER + 0x3f00, WRITE);
    let counts = guest.counts();
    assert!(counts.contains(&(vec![IN_KERNEL, READ], 3, 1)), "{counts:?}");
    assert!(counts.contains(&(vec![IN_KERNEL, READ, WRITE], 0, 1)), "{counts:?}");
}

#[test]
fn an_interrupt_between_a_call_and_its_function_changes_nothing() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    let now = guest.after(1);
    guest.shadow.call(0, TASK + 0x3f00, || now);
    guest.enter(0, INTERRUPT, Kind::Entry);
    guest.call(2, TASK + 0x3e00, WRITE);
    guest.leave(2, TASK + 0x3e00);
    guest.resume(2, Some(TASK + 0x3e80));
    guest.enter(0, READ, Kind::Function);
    guest.leave(9, TASK + 0x3f00);
    guest.resume(5, None);
    let counts = guest.counts();
    assert!(counts.contains(&(vec![IN_USER, SYSCALL], 6, 1)), "{counts:?}");
    assert!(counts.contains(&(vec![IN_USER, SYSCALL, READ], 9, 1)), "{counts:?}");
    assert!(counts.contains(&(vec![IN_USER, SYSCALL, INTERRUPT], 4, 1)), "{counts:?}");
}

#[test]
fn a_call_through_a_trampoline_is_one_call() {
    let mut guest = Guest::new(&[]);
    guest.system_call(1);
    let now = guest.after(1);
    // The trampoline calls, and returns to the function.
    guest.shadow.call(0, TASK + 0x3f00, || now);
    let now = guest.after(1);
    guest.shadow.call(0, TASK + 0x3ef8, || now);
    guest.leave(1, TASK + 0x3ef8);
    guest.enter(0, READ, Kind::Function);
    guest.leave(9, TASK + 0x3f00);
    let counts = guest.counts();
    // The trampoline counts for the caller.
    assert!(counts.contains(&(vec![IN_USER, SYSCALL], 3, 1)), "{counts:?}");
    assert!(counts.contains(&(vec![IN_USER, SYSCALL, READ], 9, 1)), "{counts:?}");
}

#[test]
fn intervals_end_within_instructions_and_while_idle() {
    // In the middle of user code, at the end of it, and in the idle time after the kernel.
    let mut guest = Guest::new(&[40, 80, 200]);
    guest.system_call(10);
    guest.enter(5, READ, Kind::Function);
    guest.idle_ns = 1000;
    guest.enter(3, INTERRUPT, Kind::Entry);
    let marks: Vec<(u64, Node, bool)> = guest
        .shadow
        .marks
        .iter()
        .map(|mark| (mark.instructions, mark.node, mark.is_idle))
        .collect();
    let read = guest.shadow.nodes.child(USER, READ);
    assert_eq!(marks, [(5, USER, false), (10, USER, false), (18, read, true)]);
    let all: Vec<u64> = guest.shadow.nodes.intervals.iter().map(|byte| (*byte).into()).collect();
    // One node with 5 instructions, and again; then the two of the kernel.
    assert_eq!(all[..8], [1, 0, 5, 0, 1, 0, 5, 0]);
}

#[test]
fn nothing_is_lost_between_intervals() {
    let mut guest = Guest::new(&[8, 8, 9, 100, 101, 1000]);
    guest.system_call(7);
    for slot in (1..20).rev() {
        guest.call(slot, TASK + 0x100 * slot, READ);
    }
    guest.counts();
    let (mut sum, mut rest) = (0, &guest.shadow.nodes.intervals[..]);
    while let [nodes, after @ ..] = rest {
        let (counts, next) = after.split_at(3 * usize::from(*nodes));
        sum += counts.chunks(3).map(|counts| u64::from(counts[1])).sum::<u64>();
        rest = next;
    }
    assert_eq!(sum, guest.instructions);
}

/// The stack of a program, the addresses of its functions, and two tasks.
const PROGRAM: u64 = 0x7fff_0000_0000;
const MAIN: u64 = 0x40_1000;
const WORK: u64 = 0x40_2000;
const FIRST_TASK: u64 = 0xffff_8880_0000_0000;
const SECOND_TASK: u64 = 0xffff_8880_0000_1000;

impl Guest {
    fn user_call(&mut self, count: u64, slot: u64, address: u64) {
        self.is_user = true;
        let now = self.after(count);
        self.shadow.user_call(0, now, slot);
        self.shadow.user_enter(0, address);
    }

    fn user_leave(&mut self, count: u64, slot: u64) {
        self.is_user = true;
        let now = self.after(count);
        self.shadow.user_leave(0, now, slot);
    }
}

#[test]
fn user_code_has_paths_that_the_kernel_continues() {
    let mut guest = Guest::new(&[]);
    guest.user_call(3, PROGRAM, MAIN);
    guest.user_call(4, PROGRAM - 64, WORK);
    guest.system_call(5);
    guest.call(2, TASK + 0x3f00, READ);
    guest.leave(6, TASK + 0x3f00);
    guest.resume(1, None);
    guest.user_leave(7, PROGRAM - 64);
    guest.system_call(8);
    let (main, work) = (FIRST_USER_FUNCTION, FIRST_USER_FUNCTION + 1);
    let expected = [
        (vec![IN_USER], 3, 0),
        (vec![IN_USER, main], 12, 1),
        (vec![IN_USER, main, work], 12, 1),
        (vec![IN_USER, main, work, SYSCALL], 3, 1),
        (vec![IN_USER, main, work, SYSCALL, READ], 6, 1),
        (vec![IN_USER, main, SYSCALL], 0, 1),
    ];
    assert_eq!(guest.counts(), expected);
    assert_eq!(guest.shadow.spaces.functions, [(0, MAIN), (0, WORK)]);
    let areas = &guest.shadow.nodes.areas;
    let [user, call] = [USER_AREA, SYSTEM_CALL_AREA];
    assert_eq!(areas[2..], [user, user, call, call, call]);
}

#[test]
fn recursion_does_not_make_paths_longer() {
    let mut guest = Guest::new(&[]);
    for depth in 0..50 {
        guest.user_call(1, PROGRAM - 64 * depth, if depth % 2 == 0 { MAIN } else { WORK });
    }
    let (main, work) = (FIRST_USER_FUNCTION, FIRST_USER_FUNCTION + 1);
    let expected =
        [(vec![IN_USER], 1, 0), (vec![IN_USER, main], 25, 25), (vec![IN_USER, main, work], 24, 25)];
    assert_eq!(guest.counts(), expected);
}

#[test]
fn tasks_have_their_own_stacks_programs_and_counts() {
    let mut guest = Guest::new(&[]);
    guest.user_call(1, PROGRAM, MAIN);
    guest.system_call(1);
    guest.shadow.switch(0, 0, FIRST_TASK);
    let first = guest.shadow.life(0);
    guest.shadow.lives.exec(first);
    guest.user_call(2, PROGRAM, MAIN);
    guest.system_call(3);
    guest.shadow.lives.fork(first, SECOND_TASK);
    guest.enter(4, WRITE, Kind::Function);
    guest.shadow.switch(0, 1, SECOND_TASK);
    guest.user_leave(5, PROGRAM - 8);
    let node = guest.shadow.user_node(0);
    assert_eq!(guest.shadow.nodes.functions[node as usize], FIRST_USER_FUNCTION + 1);
    assert_eq!(guest.shadow.spaces.functions, [(0, MAIN), (1, MAIN)]);
    guest.counts();
    let bytes = &guest.shadow.lives.intervals;
    // Three tasks: user code and system calls of each, and the other areas.
    assert_eq!(bytes[..4], [3, 0, 2, 0]);
    assert_eq!(bytes[1 + 8..][..4], [1, 5, 4, 0]);
    assert_eq!(bytes[1 + 16..][..4], [1, 5, 0, 0]);
    let names: Vec<u32> = guest.shadow.lives.all.iter().map(|life| life.name).collect();
    assert_eq!(names, [0, 1, u32::MAX]);
}
