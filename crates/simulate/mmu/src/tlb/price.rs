//! What translations cost, in short.

use model::counted;

counted! {
    /// What translations cost so far, or part of a run.
    #[derive(Copy)]
    pub struct Price {
        /// References: fetches of instructions, loads and stores.
        pub references: u64,
        /// References that missed the first level.
        pub misses: u64,
        /// Page walks that they waited for.
        pub walks: u64,
        /// Entries of page tables that these walks read.
        pub steps: u64,
        /// How many of them came from memory.
        pub steps_from_memory: u64,
        /// Cycles of lookups and walks.
        pub cycles: u64,
    }
}

impl Price {
    /// How many numbers it has.
    pub const FIELDS: usize = 6;

    /// Its numbers, in order.
    pub(crate) fn numbers(self) -> [u64; Self::FIELDS] {
        let Self { references, misses, walks, steps, steps_from_memory, cycles } = self;
        [references, misses, walks, steps, steps_from_memory, cycles]
    }

    /// What was added since an earlier price.
    pub(crate) fn since(self, earlier: Self) -> Self {
        let (numbers, earlier) = (self.numbers(), earlier.numbers());
        Self::of_numbers(std::array::from_fn(|index| numbers[index] - earlier[index]))
    }

    /// Each number divided by a count.
    pub fn mean_of(self, count: u64) -> Self {
        Self::of_numbers(self.numbers().map(|number| (number + count / 2) / count))
    }

    /// The price with these numbers.
    pub fn of_numbers(numbers: [u64; Self::FIELDS]) -> Self {
        let [references, misses, walks, steps, steps_from_memory, cycles] = numbers;
        Self { references, misses, walks, steps, steps_from_memory, cycles }
    }
}

impl std::ops::AddAssign for Price {
    fn add_assign(&mut self, other: Self) {
        let (numbers, others) = (self.numbers(), other.numbers());
        *self = Self::of_numbers(std::array::from_fn(|index| numbers[index] + others[index]));
    }
}
