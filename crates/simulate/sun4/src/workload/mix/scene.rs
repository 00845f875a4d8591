//! The programs and processes of a mix.

use std::collections::BTreeSet;

use jobs::{Layout, Order, PAGE_BYTES, Zipf, uniform};

use super::{Command, Group, Mix, Pause, Size, TouchOrder, Touches, index_of};
use crate::program::{Program, Scene, Start, Step};
use crate::setup::Setup;
use crate::workload::image::{Image, Shape};

/// Different turns of an endless process before it begins again.
const VARIANTS: u64 = 16;
pub(super) const COMMAND_VARIANTS: u64 = 4;
const SKEW: f64 = 0.99;
/// The service at which users wait for each other.
const READY: u32 = 0;
/// Separates the orders of a program's parts: 2^64 / golden ratio.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// Different turns of a process of a group.
pub(super) fn bursts(group: &Group) -> u64 {
    group.interactions.unwrap_or(VARIANTS.max(group.sweep_each).max(group.run_each))
}

/// All programs and processes; the seed determines all that is random.
pub(in crate::workload) fn scene(mix: &Mix, setup: &Setup, seed: u64) -> Result<Scene, String> {
    let images = mix.shapes().map(|shape| Image::new(setup, &shape));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let init = Image::new(setup, &init_shape())?;
    let builder = Builder { mix, images, seed };
    let mut programs = vec![builder.init(&init)];
    for (name, command) in &mix.commands {
        for _ in 0..COMMAND_VARIANTS {
            programs.push(builder.command(name, command, programs.len() as u64 - 1));
        }
    }
    let mut starts = vec![Start { program: 0, at_ns: 0, is_awaited: true }];
    let mut number = (mix.commands.len() as u64) * COMMAND_VARIANTS;
    for (index, group) in mix.groups.iter().enumerate() {
        for member in 0..group.count {
            let is_awaited = group.interactions.is_some();
            starts.push(Start { program: programs.len(), at_ns: 0, is_awaited });
            programs.push(builder.process(index, member, number));
            number += 1;
        }
    }
    Ok(Scene { programs, starts })
}

/// The process that starts the counts when all users are logged in.
fn init_shape() -> Shape {
    let (text_bytes, data_bytes, stack_bytes) = (8192, 8192, 8192);
    Shape { file: u32::MAX, text_bytes, data_bytes, stack_bytes, ..Shape::default() }
}

struct Builder<'a> {
    mix: &'a Mix,
    images: Vec<Image>,
    seed: u64,
}

/// The pages of one part, and a process's order of them.
struct PagePicker {
    pages: Vec<u64>,
    count: u64,
    popular: Zipf,
    uniform: Box<dyn Iterator<Item = u64>>,
    order: TouchOrder,
}

impl PagePicker {
    fn new(pages: Vec<u64>, count: u64, order: TouchOrder, seed: u64, process: u64) -> Self {
        let places = pages.len() as u64;
        let popular = Zipf::new(places, SKEW, seed, process);
        let uniform = Box::new(uniform(places, seed, process));
        Self { count: if places == 0 { 0 } else { count }, pages, popular, uniform, order }
    }

    /// The pages of the next time.
    fn next(&mut self) -> Vec<u64> {
        let at = |place: u64| self.pages[place as usize];
        if self.order == TouchOrder::Uniform {
            return self.uniform.by_ref().take(self.count as usize).map(at).collect();
        }
        let places = self.pages.len() as u64;
        let count = self.count.min(places);
        if count == places {
            return self.pages.clone();
        }
        let mut chosen = BTreeSet::new();
        // The least popular may take very long; the lowest replace them.
        let mut draws = self.popular.by_ref().take(16 * count as usize).chain(0..places);
        while (chosen.len() as u64) < count
            && let Some(place) = draws.next()
        {
            chosen.insert(place);
        }
        chosen.into_iter().map(at).collect()
    }
}

/// What a process does when it is scheduled: regions that it reads and regions that it writes.
struct Turn<'a> {
    image: &'a Image,
    reads: Vec<PagePicker>,
    writes: Vec<PagePicker>,
    compute_cycles: u64,
}

impl Turn<'_> {
    fn next(&mut self) -> Vec<Step> {
        let pages = |parts: &mut [PagePicker]| {
            parts.iter_mut().flat_map(PagePicker::next).collect::<Vec<_>>()
        };
        let (reads, writes) = (pages(&mut self.reads), pages(&mut self.writes));
        let mut steps = Vec::new();
        for (pages, is_write) in [(reads, false), (writes, true)] {
            steps.extend((!pages.is_empty()).then(|| self.image.touch(pages, is_write, 1)));
        }
        steps.extend((self.compute_cycles > 0).then_some(Step::Compute(self.compute_cycles)));
        steps
    }
}

impl Builder<'_> {
    fn init(&self, image: &Image) -> Program {
        let users = self.mix.groups.iter().filter(|group| group.interactions.is_some());
        let users: u64 = users.map(|group| group.count).sum();
        let mut steps = image.begin();
        steps.extend([Step::Serve(READY), Step::Again(1, users - 1), Step::Begin, Step::Reply]);
        image.program("init", false, steps)
    }

    fn command(&self, name: &str, command: &Command, number: u64) -> Program {
        let program = index_of(&self.mix.programs, &command.program);
        let image = &self.images[program];
        let mut steps = image.begin();
        steps.extend(self.turn(program, &command.touches, command.compute_cycles, number).next());
        image.program(name, true, steps)
    }

    /// Address space for each page of the heap that is used.
    fn spread_bytes(&self, program: usize) -> u64 {
        self.mix.programs.values().nth(program).map_or(PAGE_BYTES, |program| program.spread.0)
    }

    /// Pages of the heap that are used.
    fn live(&self, program: usize) -> Vec<u64> {
        let (image, spread_bytes) = (&self.images[program], self.spread_bytes(program));
        if spread_bytes <= image.page_bytes {
            return image.pages(&image.heap).collect();
        }
        let pages = (image.heap.end - image.heap.start) / spread_bytes;
        let seed = self.seed ^ (program as u64 + 1).wrapping_mul(APART);
        let layout = Layout::new(pages * PAGE_BYTES, PAGE_BYTES, spread_bytes, seed);
        (0..pages).map(|page| image.heap.start + layout.page_offset(page)).collect()
    }

    fn turn(&self, program: usize, touches: &Touches, cycles: u64, number: u64) -> Turn<'_> {
        let image = &self.images[program];
        let live = self.live(program);
        let is_sparse = self.spread_bytes(program) > image.page_bytes;
        let heap_page = if is_sparse { PAGE_BYTES } else { image.page_bytes };
        let part = |index: u64, pages: Vec<u64>, size: Size, page_bytes, order| {
            let seed = self.seed ^ (index + 1).wrapping_mul(APART).rotate_left(program as u32 % 64);
            PagePicker::new(pages, size.0.div_ceil(page_bytes), order, seed, number)
        };
        let (page, popular) = (image.page_bytes, TouchOrder::Popular);
        let of = |parts: &[std::ops::Range<u64>]| -> Vec<u64> {
            parts.iter().flat_map(|part| image.pages(part)).collect()
        };
        let text = of(std::slice::from_ref(&image.text));
        let stack = of(std::slice::from_ref(&image.stack));
        Turn {
            image,
            reads: vec![
                part(0, text, touches.text, page, popular),
                part(1, image.library.clone(), touches.library, page, popular),
                part(2, of(&image.segments), touches.segment, page, touches.order),
            ],
            writes: vec![
                part(3, of(&image.data), touches.data, page, popular),
                part(4, live, touches.heap, heap_page, touches.order),
                part(5, stack, touches.stack, page, popular),
            ],
            compute_cycles: cycles,
        }
    }

    /// Number of the service of a member of a group.
    fn service(&self, group: usize, member: u64) -> u32 {
        let before: u64 = self.mix.groups[..group].iter().map(|group| group.count).sum();
        (1 + before + member % self.mix.groups[group].count) as u32
    }

    fn process(&self, index: usize, member: u64, number: u64) -> Program {
        let group = &self.mix.groups[index];
        let program = index_of(&self.mix.programs, &group.program);
        let image = &self.images[program];
        let live = self.live(program);
        let mut steps = image.begin();
        steps.extend((!live.is_empty()).then(|| image.touch(live.iter().copied(), true, 1)));
        let is_user = group.interactions.is_some();
        steps.extend(is_user.then_some(Step::Call(READY)));
        let first = steps.len();
        let mut turn = self.turn(program, &group.touches, group.compute_cycles, number);
        let mut order = Order::new(self.seed, number as u32, group.runs.len());
        let mut runs = Vec::new();
        for burst in 1..=bursts(group) {
            steps.push(match (group.think, group.every) {
                (Some(Pause(mean_ns)), _) => Step::Sleep(order.next_think_ns(mean_ns)),
                (_, Some(Pause(period_ns))) => Step::Sleep(period_ns),
                _ => Step::Serve(self.service(index, member)),
            });
            steps.extend(turn.next());
            if group.sweep_each > 0 && burst.is_multiple_of(group.sweep_each) {
                steps.push(image.touch(live.iter().copied(), true, 1));
            }
            let server = |call: &String| self.mix.groups.iter().position(|of| of.name == *call);
            let servers = group.calls.iter().filter_map(server);
            steps.extend(servers.map(|server| Step::Call(self.service(server, member))));
            if !group.runs.is_empty() && burst.is_multiple_of(group.run_each) {
                if runs.is_empty() {
                    runs = order.next_pass();
                }
                let run = runs.pop().map_or("", |run| &*group.runs[run]);
                let command = index_of(&self.mix.commands, run);
                let variant = (number + burst) % COMMAND_VARIANTS;
                let program = 1 + command * COMMAND_VARIANTS as usize + variant as usize;
                steps.extend([Step::Fork(program), Step::Wait]);
            }
            steps.extend(group.serves.then_some(Step::Reply));
            steps.extend(is_user.then_some(Step::Answer));
        }
        if !is_user {
            steps.push(Step::Again(steps.len() - first, u64::MAX));
        }
        image.program(&group.name, true, steps)
    }
}
