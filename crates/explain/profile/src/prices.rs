//! What translations cost, as the plugin wrote it (`crates/explain/profile-plugin/src/prices.rs` has the
//! format).

use mmu::tlb::{Machine, Outcome, Price};

use crate::reader::RecordingError::Unreadable;
use crate::reader::{Reader, RecordingError};
use crate::recording::Recording;

const MAGIC: u64 = u64::from_le_bytes(*b"tlprice\x02");

/// The price of the references of a guest, by call stack, task and interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// All counts of the simulator, from the restored machine to the end of the emulator.
    pub outcome: Outcome,
    /// References whose page tables could not be read, which count as pages of 4 KiB.
    pub unreadable: u64,
    pub(crate) intervals: Vec<Vec<(u32, Price)>>,
    /// Interval, task, price.
    pub(crate) tasks: Vec<(usize, u32, Price)>,
}

impl Prices {
    /// Reads the plugin's file on a machine and what it recorded besides. Fails if anything is missing,
    /// or if the prices do not sum to the simulator's counts.
    pub fn parse(
        bytes: &[u8],
        machine: &Machine,
        recording: &Recording,
    ) -> Result<Self, RecordingError> {
        let mut reader = Reader(bytes);
        if reader.word()? != MAGIC {
            return Err(Unreadable("it begins with other bytes"));
        }
        let is_whole = reader.word()? == 1;
        let unreadable = reader.word()?;
        let counts = (0..reader.count(8)?).map(|_| reader.word());
        let counts = counts.collect::<Result<Vec<u64>, _>>()?;
        let outcome = Outcome::with_numbers(machine, counts.into_iter());
        let outcome = outcome.ok_or(Unreadable("it is of another machine"))?;
        let tasks = tasks(&mut reader, recording)?;
        let intervals = intervals(&mut reader, recording)?;
        if !is_whole {
            return Err(RecordingError::TooLarge);
        }
        if !reader.0.is_empty() || intervals.len() != recording.intervals.len() {
            return Err(Unreadable("its intervals do not fit those of the counts"));
        }
        let prices = Self { outcome, unreadable, intervals, tasks };
        prices.check()?;
        Ok(prices)
    }

    /// Call stacks got other numbers.
    pub(crate) fn renumber(&mut self, new: &[u32]) {
        self.intervals.iter_mut().flatten().for_each(|(node, _)| *node = new[*node as usize]);
    }

    /// The sums are the simulator's.
    fn check(&self) -> Result<(), RecordingError> {
        let outcome = &self.outcome;
        let first_level = outcome.tlbs.iter().filter(|tlb| tlb.level == 1);
        let expected = Price {
            references: outcome.references,
            misses: first_level.map(|tlb| tlb.misses).sum(),
            walks: outcome.walks.walks,
            steps: outcome.walks.all_steps(),
            steps_from_memory: outcome.walks.steps_from_memory,
            cycles: outcome.lookup_cycles + outcome.walks.cycles,
        };
        let by_node = self.intervals.iter().flatten().map(|(_, price)| *price);
        let by_task = self.tasks.iter().map(|(_, _, price)| *price);
        match sum(by_node) == expected && sum(by_task) == expected {
            true => Ok(()),
            false => Err(Unreadable("its prices do not sum to the simulator's counts")),
        }
    }
}

pub(crate) fn sum(prices: impl Iterator<Item = Price>) -> Price {
    prices.fold(Price::default(), |mut sum, price| {
        sum += price;
        sum
    })
}

fn tasks(
    reader: &mut Reader<'_>,
    recording: &Recording,
) -> Result<Vec<(usize, u32, Price)>, RecordingError> {
    let mut tasks = Vec::new();
    for _ in 0..reader.count(8 * (2 + Price::FIELDS))? {
        let interval = usize::try_from(reader.word()?).unwrap_or(usize::MAX);
        let life = u32::try_from(reader.word()?).ok();
        let life = life.filter(|life| (*life as usize) < recording.lives.len());
        let life = life.ok_or(Unreadable("a price is of no task"))?;
        if interval >= recording.intervals.len() {
            return Err(Unreadable("a price is in no interval"));
        }
        tasks.push((interval, life, price(|| reader.word())?));
    }
    Ok(tasks)
}

fn intervals(
    reader: &mut Reader<'_>,
    recording: &Recording,
) -> Result<Vec<Vec<(u32, Price)>>, RecordingError> {
    let mut intervals = Vec::new();
    for _ in 0..reader.count(1)? {
        let (mut prices, mut last) = (Vec::new(), 0_u64);
        for _ in 0..reader.number()? {
            last = last.saturating_add(reader.number()?);
            let node = u32::try_from(last).ok();
            let node = node.filter(|node| (*node as usize) < recording.nodes.len());
            let node = node.ok_or(Unreadable("an interval has no call stack of this number"))?;
            prices.push((node, price(|| reader.number())?));
        }
        intervals.push(prices);
    }
    Ok(intervals)
}

fn price(mut number: impl FnMut() -> Result<u64, RecordingError>) -> Result<Price, RecordingError> {
    let mut numbers = [0; Price::FIELDS];
    for field in &mut numbers {
        // Sums of many cannot overflow.
        *field = number()?.min(u64::from(u32::MAX) << 8);
    }
    Ok(Price::of_numbers(numbers))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recording::NodeRecord;
    use crate::tlb::{Mapped, Options, PageSize, Simulator};
    use crate::written_prices::Prices as Writer;

    const DESCRIPTION: &str = mmu::tlb::MACHINES[3].1;

    /// Two call stacks and two tasks, of which the second executes across the end of an interval.
    fn written() -> Vec<u8> {
        let machine = Machine::parse(DESCRIPTION).unwrap();
        let machine = crate::tlb::Machine::of_words(machine.words()).unwrap();
        let mut simulator = Simulator::new(&machine, &Options::default()).unwrap();
        simulator.begin_guest();
        let refer = |simulator: &mut Simulator, page, count| {
            let mapped = Mapped { size: PageSize::Small, is_global: false };
            simulator.translated(page, mapped);
            assert!(simulator.refer_in_guest(page, false, count));
        };
        let mut writer = Writer::new(1);
        writer.enter(0, 0, simulator.price());
        refer(&mut simulator, 1, 5);
        writer.enter(0, 2, simulator.price());
        refer(&mut simulator, 1, 1);
        writer.switch(0, 1, simulator.price());
        refer(&mut simulator, 2, 1);
        writer.cut(simulator.price());
        refer(&mut simulator, 3, 2);
        writer.finish(&simulator, 0)
    }

    fn recording() -> Recording {
        let node = |parent, function| NodeRecord { parent, function, area: crate::Area::User };
        Recording {
            nodes: vec![node(0, u32::MAX), node(1, u32::MAX), node(0, 0)],
            intervals: vec![Vec::new(); 2],
            names: vec![(7, "first".to_owned())],
            lives: vec![Some(0), None],
            ..Recording::default()
        }
    }

    fn parse(bytes: &[u8]) -> Result<Prices, RecordingError> {
        Prices::parse(bytes, &Machine::parse(DESCRIPTION).unwrap(), &recording())
    }

    #[test]
    fn prices_are_of_the_call_stack_the_task_and_the_interval() {
        let prices = parse(&written()).unwrap();
        let short = |price: &Price| (price.references, price.walks);
        let by_node: Vec<Vec<_>> = prices
            .intervals
            .iter()
            .map(|all| all.iter().map(|(node, price)| (*node, short(price))).collect())
            .collect();
        assert_eq!(by_node, [vec![(0, (5, 1)), (2, (2, 1))], vec![(2, (2, 1))]]);
        let lives = recording().lives;
        let named =
            |(at, life, price): &(usize, u32, Price)| (*at, lives[*life as usize], short(price));
        let by_task: Vec<_> = prices.tasks.iter().map(named).collect();
        let expected = [(0, Some(0), (6, 1)), (0, None, (1, 1)), (1, None, (2, 1))];
        assert_eq!(by_task, expected);
        assert_eq!((prices.outcome.references, prices.outcome.walks.walks), (9, 3));
    }

    #[test]
    fn prices_that_do_not_sum_to_the_counts_are_refused() {
        let mut bytes = written();
        // The simulator's number of references.
        bytes[32] += 1;
        let reason = Unreadable("its prices do not sum to the simulator's counts");
        assert_eq!(parse(&bytes), Err(reason));
        let bytes = written();
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_read_or_refused(at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = written();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = parse(&bytes);
        }
    }
}
