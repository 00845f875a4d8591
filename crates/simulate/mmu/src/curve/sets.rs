//! Set-associative caches: one number of sets, all numbers of ways in one pass.

/// The stacks of the sets (Mattson et al. 1970, section on congruence mappings).
#[derive(Clone, Debug)]
pub struct SetStacks {
    mask: u64,
    ways: usize,
    /// The last keys of each set, at most as many as ways.
    stacks: Vec<Vec<u64>>,
    /// By distance, below the number of ways.
    counts: Vec<u64>,
    references: u64,
}

impl SetStacks {
    /// `sets` sets, a power of two, by the lowest bits of the key, and up to `ways` ways.
    /// `None` unless `sets` is a power of two and `ways` above 0.
    pub fn new(sets: u64, ways: usize) -> Option<Self> {
        let number = usize::try_from(sets).ok().filter(|sets| sets.is_power_of_two())?;
        (ways > 0).then(|| Self {
            mask: sets - 1,
            ways,
            stacks: vec![Vec::new(); number],
            counts: vec![0; ways],
            references: 0,
        })
    }

    /// Number of sets.
    pub fn sets(&self) -> u64 {
        self.mask + 1
    }

    /// Refers to one key `count` times in a row, at least once.
    #[inline]
    pub fn run(&mut self, key: u64, count: u64) {
        self.references += count;
        self.counts[0] += count - 1;
        let stack = &mut self.stacks[(key & self.mask) as usize];
        if stack.first() == Some(&key) {
            self.counts[0] += 1;
            return;
        }
        let place = stack.iter().position(|other| *other == key);
        match place {
            Some(distance) => self.counts[distance] += 1,
            None if stack.len() < self.ways => stack.push(key),
            None => {}
        }
        let end = place.unwrap_or(stack.len() - 1);
        stack.copy_within(..end, 1);
        stack[0] = key;
    }

    /// Misses with 1, 2, … ways, including first references.
    pub fn misses(&self) -> Vec<u64> {
        let mut misses = self.references;
        let at = |hits: &u64| {
            misses -= hits;
            misses
        };
        self.counts.iter().map(at).collect()
    }
}
