//! The memory job `touch`, with the places, order and draws of the real job with the same seed
//! (docs/mmu-mixes.md). `limit` is ignored: the work is finite.

use jobs::{
    Access, Backing, Chain, Layout, PAGE_BYTES, Pages, Pattern, TouchPlan, Zipf, in_order,
    shuffled, uniform,
};

use super::image::{FIRST_FILE, Image, LOWER_END, Shape};
use crate::program::{self, Program, Scene, Start, Step};
use crate::setup::Setup;

/// Address space for the places: the lower half, without text and data.
const MOST_BYTES: u64 = LOWER_END - (1 << 20);
/// Most touches that are kept one by one.
const MOST_TOUCHES: u64 = 1 << 24;

/// The service at which processes wait for each other.
const READY: u32 = 0;

/// Refuses what a Sun-4 cannot do, with a remedy.
pub(super) fn check(plan: &TouchPlan) -> Result<(), String> {
    if matches!(plan.pages, Pages::Thp | Pages::Hugetlb) {
        return Err("a Sun-4 has no huge pages: take pages=default".to_owned());
    }
    let space_bytes = plan.layout(0).size_bytes();
    if space_bytes > MOST_BYTES {
        return Err(format!(
            "footprint × spread is {space_bytes} bytes of address space and a Sun-4 has at most \
             {MOST_BYTES} for it: take less"
        ));
    }
    let kept = kept(plan).saturating_mul(plan.processes);
    if kept > MOST_TOUCHES {
        return Err(format!(
            "{kept} touches would be kept one by one and at most {MOST_TOUCHES} are possible: take \
             less work, or an order that repeats itself (sequential, strided or chase) with batch=0"
        ));
    }
    Ok(())
}

/// Touches of one process without repetitions.
fn kept(plan: &TouchPlan) -> u64 {
    let places = plan.layout(0).places();
    let first = plan.first_touches().max(places);
    // A touch takes 300 ns at the least, on the fastest of the machines.
    let work = if plan.work > 0 { plan.work } else { plan.time_ns / 300 / plan.processes.max(1) };
    first.saturating_add(if repeats(plan, places) { 2 * places } else { work })
}

/// A parent that creates the shared memory and starts all processes at once, and the processes.
pub(super) fn scene(plan: &TouchPlan, setup: &Setup, seed: u64) -> Result<Scene, String> {
    let layout = plan.layout(seed);
    let shape = Shape {
        file: FIRST_FILE,
        text_bytes: 8192,
        data_bytes: 8192,
        heap_bytes: layout.size_bytes(),
        heap_backing: match plan.backing {
            Backing::Private => program::Backing::Zero,
            Backing::Shared | Backing::File | Backing::Shm => program::Backing::Shared(FIRST_FILE),
        },
        stack_bytes: 16 << 10,
        ..Shape::default()
    };
    let image = Image::new(setup, &shape)?;
    let process = |row| Process { plan, layout: &layout, image: &image, seed, row };
    let work = if plan.work > 0 {
        plan.work
    } else {
        (plan.time_ns / setup.machine.touch_ns().max(1) / plan.processes.max(1)).max(1)
    };
    let mut programs = vec![parent(plan, &layout, &image)];
    let processes = 0..plan.processes;
    programs.extend(processes.map(|row| image.program("touch", true, process(row).steps(work))));
    let starts = vec![Start { program: 0, at_ns: 0, is_awaited: true }];
    Ok(Scene { programs, starts })
}

fn parent(plan: &TouchPlan, layout: &Layout, image: &Image) -> Program {
    let mut steps = image.begin();
    if plan.backing != Backing::Private {
        steps.push(image.touch(creation(plan, layout, image), true, 1));
    }
    steps.extend((1..=plan.processes as usize).map(Step::Fork));
    steps.extend([Step::Serve(READY), Step::Again(1, plan.processes - 1)]);
    steps.extend([Step::Begin, Step::Reply, Step::Wait, Step::Again(1, plan.processes - 1)]);
    image.program("parent", false, steps)
}

/// Addresses whose writes create the memory: each page, or each place if places lie further apart.
fn creation(plan: &TouchPlan, layout: &Layout, image: &Image) -> Vec<u64> {
    let offsets: Vec<u64> = if plan.step_bytes > PAGE_BYTES {
        (0..layout.places()).map(|place| layout.offset(place) as u64).collect()
    } else {
        (0..layout.pages()).map(|page| layout.page_offset(page)).collect()
    };
    offsets.into_iter().map(|offset| image.heap.start + offset).collect()
}

type Order<'a> = Box<dyn Iterator<Item = u64> + 'a>;

struct Process<'a> {
    plan: &'a TouchPlan,
    layout: &'a Layout,
    image: &'a Image,
    seed: u64,
    row: u64,
}

impl Process<'_> {
    fn steps(&self, work: u64) -> Vec<Step> {
        let mut steps = vec![self.image.touch([self.image.text.start], false, 1)];
        if self.plan.backing == Backing::Private {
            steps.push(self.image.touch(creation(self.plan, self.layout, self.image), true, 1));
        }
        let mut order = self.order();
        match self.plan.first_touches() {
            0 => {}
            first if matches!(self.plan.pattern, Pattern::Uniform | Pattern::Zipf) => {
                let order = shuffled(self.layout.places(), self.seed, self.row);
                steps.push(self.touch(&mut (Box::new(order) as Order<'_>), first));
            }
            first => steps.push(self.touch(&mut order, first)),
        }
        steps.push(Step::Call(READY));
        self.work(&mut order, work, &mut steps);
        steps
    }

    fn order(&self) -> Order<'_> {
        let (places, seed, row) = (self.layout.places(), self.seed, self.row);
        let processes = self.plan.processes;
        match self.plan.pattern {
            Pattern::Sequential => Box::new(in_order(places, 1, row, processes)),
            Pattern::Strided => Box::new(in_order(places, self.plan.stride, row, processes)),
            Pattern::Uniform => Box::new(uniform(places, seed, row)),
            Pattern::Zipf => {
                Box::new(Zipf::new(places, self.plan.skew_milli as f64 / 1000.0, seed, row))
            }
            Pattern::Chase => {
                let is_own = self.plan.backing == Backing::Private;
                let chain = Chain::new(places, seed, if is_own { row } else { 0 });
                let first = chain.first(row, processes);
                Box::new(std::iter::successors(Some(first), move |at| Some(chain.after(*at))))
            }
        }
    }

    /// The next touches of an order.
    fn touch(&self, order: &mut Order<'_>, count: u64) -> Step {
        let address = |place| self.image.heap.start + self.layout.offset(place) as u64;
        let addresses = order.take(count as usize).map(address);
        self.image.touch(addresses, self.plan.access == Access::Write, 1)
    }

    /// The counted touches, with think time after each batch but the last.
    fn work(&self, order: &mut Order<'_>, work: u64, steps: &mut Vec<Step>) {
        let places = self.layout.places();
        let think_ns = self.plan.think_ns;
        let batch = batch(self.plan, places);
        let pauses = (work - 1) / batch;
        let last = work - pauses * batch;
        if !repeats(self.plan, places) {
            for _ in 0..pauses {
                steps.extend([self.touch(order, batch), Step::Sleep(think_ns)]);
            }
            steps.push(self.touch(order, last));
            return;
        }
        // All rounds are alike.
        let round = self.touch(order, places.min(work));
        let times = |touches| match &round {
            Step::Touch(path, _) => Step::Touch(path.clone(), touches / places),
            other => other.clone(),
        };
        if pauses > 0 {
            steps.extend([times(batch), Step::Sleep(think_ns), Step::Again(2, pauses - 1)]);
        }
        steps.extend((last >= places).then(|| times(last)));
        steps.extend(
            (!last.is_multiple_of(places)).then(|| {
                if work < places { round.clone() } else { self.touch(order, last % places) }
            }),
        );
    }
}

fn batch(plan: &TouchPlan, places: u64) -> u64 {
    match (plan.think_ns, plan.batch) {
        (0, _) => u64::MAX,
        (_, 0) => places,
        (_, batch) => batch,
    }
}

/// Whether touches are whole rounds over all places, each like the one before.
fn repeats(plan: &TouchPlan, places: u64) -> bool {
    let is_drawn = matches!(plan.pattern, Pattern::Uniform | Pattern::Zipf);
    !is_drawn && (plan.think_ns == 0 || batch(plan, places).is_multiple_of(places))
}

#[cfg(test)]
#[path = "touch_tests.rs"]
mod tests;
