//! Whole tables in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::batch::Batch;
use crate::column::{Column, Words};
use crate::reading::{LoadError, RunFiles};
use crate::tables::Table;

/// Smaller batches are merged.
const FEW_ROWS: usize = 1 << 14;

/// A table in memory.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its kind.
    pub table: Table,
    /// Its batches (at least one), with the same column names, types and word numbers.
    pub batches: Vec<Vec<Column>>,
}

/// Loads run files as tables. Fails as [`RunFiles::read`].
pub fn load(files: &RunFiles, go_on: impl FnMut() -> bool) -> Result<[Frame; 8], LoadError> {
    let mut gathered = Table::ALL.map(|table| Gathered::new(files.empty(table)));
    files.read(&Table::ALL, go_on, |_, table, batch| -> Result<(), LoadError> {
        gathered[table as usize].push(batch);
        Ok(())
    })?;
    let mut gathered = gathered.into_iter();
    Ok(Table::ALL.map(|table| {
        let batches = gathered.next().map(|it| it.finish(table.prefix())).unwrap_or_default();
        Frame { table, batches }
    }))
}

struct Gathered {
    batches: Vec<Batch>,
    /// The words of each column over all batches.
    words: Vec<Words>,
}

impl Gathered {
    fn new(mut empty: Batch) -> Self {
        let words = empty.declared().iter_mut().map(|column| {
            let mut words = Words::default();
            column.renumber(&mut words);
            words
        });
        Self { words: words.collect(), batches: vec![empty] }
    }

    /// Adds a batch; small ones are merged, since a folder may have many small runs.
    fn push(&mut self, mut batch: Batch) {
        for (column, words) in batch.declared().iter_mut().zip(&mut self.words) {
            column.renumber(words);
        }
        match self.batches.last_mut() {
            Some(last) if last.rows() == 0 => *last = batch,
            Some(last) if last.rows() < FEW_ROWS || batch.rows() < FEW_ROWS / 16 => {
                last.append(batch);
            }
            _ => self.batches.push(batch),
        }
    }

    fn finish(mut self, prefix: &str) -> Vec<Vec<Column>> {
        let names = self.batches.iter().flat_map(Batch::names).map(str::to_owned);
        let names: BTreeSet<String> = names.collect();
        let words: Vec<Arc<Words>> = self.words.into_iter().map(Arc::new).collect();
        for batch in &mut self.batches {
            for (column, words) in batch.declared().iter_mut().zip(&words) {
                column.set_words(Arc::clone(words));
            }
        }
        self.batches.into_iter().map(|batch| batch.columns(&names, prefix)).collect()
    }
}
