//! Touches of a path, as many as there is time for until the next tick.
//!
//! All that is done at once is exactly what single touches would do before the next tick.

use super::{Engine, PathPosition};
use crate::hat::Cost;
use crate::program::{Path, Visit};

impl Engine<'_> {
    /// Continues a path that is touched `times` times.
    pub(super) fn touch(&mut self, process: usize, path: &Path, times: u64) {
        let at = &mut self.processes[process];
        if at.place.times == 0 {
            if path.visits.is_empty() || times == 0 {
                at.step += 1;
                return;
            }
            at.place = PathPosition { times, visit: 0, pages: path.visits[0].pages, done: 0 };
        }
        let place = at.place;
        if place.visit == 0
            && place.pages == path.visits[0].pages
            && place.done == 0
            && self.whole_times(process, path)
        {
            return;
        }
        let visit = &path.visits[place.visit];
        if self.is_visit_noted {
            self.hat.visit(process, visit.slot);
        }
        let ready = self.hat.ready(process, visit.slot, path.is_write);
        let missing = place.pages & !ready;
        if missing == 0 {
            self.ready_pages(process, path, place.pages);
        } else if missing & lowest(place.pages) == 0 {
            self.ready_pages(process, path, place.pages & (lowest(missing) - 1));
        } else {
            self.missing_pages(process, path, visit);
        }
    }

    /// Writes the registers of a process to its stack, as the kernel does.
    pub(super) fn resume(&mut self, process: usize, visit: &Visit) {
        let mut left = visit.pages;
        while left != 0 {
            let page = lowest(left);
            if page & self.hat.ready(process, visit.slot, true) != 0 {
                left &= !page;
                continue;
            }
            let cost = self.fault(process, visit.slot, page, true);
            self.spend(process, cost.system_ns + cost.user_ns, 0);
        }
        if self.is_visit_noted {
            self.hat.visit(process, visit.slot);
        }
    }

    fn fault(&mut self, process: usize, slot: u32, page: u64, is_write: bool) -> Cost {
        let before = self.hat.outcome.translation_faults;
        let cost = self.hat.fault(process, slot, page, is_write);
        let faults = self.hat.outcome.translation_faults - before;
        self.processes[process].outcome.translation_faults += faults;
        cost
    }

    /// Touches a ready path as many whole times as fit into the time; returns whether any did.
    fn whole_times(&mut self, process: usize, path: &Path) -> bool {
        let is_ready =
            |visit: &Visit| visit.pages & !self.hat.ready(process, visit.slot, path.is_write) == 0;
        let path_ns = path.touches * self.hat.prices.touch_ns;
        let room = (self.next_tick_ns() - self.now_ns) / path_ns;
        let times = room.min(self.processes[process].place.times);
        if times == 0 || !path.visits.iter().all(is_ready) {
            return false;
        }
        if self.is_visit_noted {
            path.visits.iter().for_each(|visit| self.hat.visit(process, visit.slot));
        }
        let at = &mut self.processes[process];
        at.place.times -= times;
        at.step += usize::from(at.place.times == 0);
        at.outcome.touches += times * path.touches;
        self.spend(process, 0, times * path_ns);
        true
    }

    /// Touches ready pages, the lowest that are left of the visit.
    fn ready_pages(&mut self, process: usize, path: &Path, pages: u64) {
        let visit = &path.visits[self.processes[process].place.visit];
        let touch_ns = self.hat.prices.touch_ns;
        let room = (self.next_tick_ns() - self.now_ns).div_ceil(touch_ns.max(1));
        let done = self.processes[process].place.done;
        let all = u64::from(pages.count_ones()) * visit.touches_a_page - done;
        let touches = room.min(all);
        let now = (done + touches) / visit.touches_a_page;
        let at = &mut self.processes[process];
        at.place.done = (done + touches) % visit.touches_a_page;
        at.outcome.touches += touches;
        self.leave_behind(process, path, lowest_of(pages, now).0);
        self.spend(process, 0, touches * touch_ns);
    }

    /// Faults on the lowest page that is left, or on several alike.
    fn missing_pages(&mut self, process: usize, path: &Path, visit: &Visit) {
        let left = self.processes[process].place.pages;
        let plain = self.hat.plain(process, visit.slot, path.is_write);
        let other = left & !plain;
        let alike = if other == 0 { left } else { left & (lowest(other) - 1) };
        let plain_ns = self.hat.prices.plain_ns(visit.touches_a_page);
        let room = (self.next_tick_ns() - self.now_ns) / plain_ns;
        let (now, count) = lowest_of(alike, room);
        if count == 0 || self.processes[process].place.done > 0 {
            let cost = self.fault(process, visit.slot, lowest(left), path.is_write);
            self.spend(process, cost.system_ns, cost.user_ns);
            return;
        }
        self.hat.plain_faults(process, visit.slot, now);
        self.hat.log.faults(process, visit.slot, now, plain_ns);
        self.leave_behind(process, path, now);
        let outcome = &mut self.processes[process].outcome;
        outcome.translation_faults += count;
        outcome.touches += count * visit.touches_a_page;
        let system_ns = count * self.hat.prices.paths_ns.fault;
        self.spend(process, system_ns, count * plain_ns - system_ns);
    }

    /// Advances past these pages of the visit.
    fn leave_behind(&mut self, process: usize, path: &Path, pages: u64) {
        let at = &mut self.processes[process];
        at.place.pages &= !pages;
        if at.place.pages != 0 {
            return;
        }
        at.place.visit += 1;
        if at.place.visit == path.visits.len() {
            at.place.visit = 0;
            at.place.times -= 1;
            at.step += usize::from(at.place.times == 0);
        }
        at.place.pages = path.visits[at.place.visit].pages;
    }
}

fn lowest(pages: u64) -> u64 {
    pages & pages.wrapping_neg()
}

/// At most this many of the lowest pages, and their number.
fn lowest_of(pages: u64, most: u64) -> (u64, u64) {
    let count = u64::from(pages.count_ones());
    if count <= most {
        return (pages, count);
    }
    let mut rest = pages;
    for _ in 0..most {
        rest &= rest - 1;
    }
    (pages & !rest, most)
}
