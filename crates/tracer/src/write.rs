//! Writing what is recorded to a file, while the program runs.

use std::fs::File;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Instant;

use trace::{Effort, Header, PackedBlock, QUICK_LEVEL, TraceError, Writer};

use crate::takers::EncoderTaker;
use crate::{Recording, TracerError};

/// Packed blocks that may wait for the thread that compresses.
const WAITING_BLOCKS: usize = 8;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// References in the file.
    pub references: u64,
    /// References of the program until recording stopped.
    pub seen: u64,
    /// Length of the file in bytes.
    pub size_bytes: u64,
}

impl Recording {
    /// Writes the references with numbers in `range` as a trace, until there are no more or the
    /// range ends. The command may still run then.
    ///
    /// # Errors
    /// When the trace cannot be written, or the system refuses something.
    pub fn write(
        &mut self,
        out: File,
        header: &Header,
        range: Range<u64>,
    ) -> Result<Written, TracerError> {
        let mut writer = Writer::new(out, header, QUICK_LEVEL)?;
        let (full, to_compress) = sync_channel(WAITING_BLOCKS);
        let (empty, used) = channel();
        thread::scope(|scope| {
            let compressing = scope.spawn(move || {
                compress(&mut writer, &to_compress, &empty)?;
                let references = writer.references();
                let size_bytes = writer.finish()?.metadata()?.len();
                Ok::<_, TraceError>((references, size_bytes))
            });
            let seen = self.pack(range, &full, &used);
            drop(full);
            let (references, size_bytes) = match compressing.join() {
                Ok(outcome) => outcome?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok(Written { references, seen: seen?, size_bytes })
        })
    }

    /// Packs what comes; how many references came. Ends early if nobody compresses any more.
    fn pack(
        &mut self,
        range: Range<u64>,
        full: &SyncSender<(PackedBlock, Effort)>,
        used: &Receiver<PackedBlock>,
    ) -> Result<u64, TracerError> {
        let begun = Instant::now();
        let mut taker = EncoderTaker::new(self.pages(), range);
        while !taker.is_done() && self.fill(&mut taker)? {
            let mut block = used.try_recv().unwrap_or_default();
            taker.finish_into(&mut block);
            block.at_ns = u64::try_from(begun.elapsed().as_nanos()).ok();
            // What is compressed while the command waits makes it slow.
            let effort = if self.is_behind() { Effort::Store } else { Effort::Compress };
            if full.send((block, effort)).is_err() {
                break;
            }
        }
        Ok(taker.seen())
    }
}

fn compress(
    writer: &mut Writer<File>,
    blocks: &Receiver<(PackedBlock, Effort)>,
    empty: &Sender<PackedBlock>,
) -> Result<(), TraceError> {
    for (block, effort) in blocks {
        writer.add_with(&block, effort)?;
        // Nobody who wants it is nobody who has more.
        let _ = empty.send(block);
    }
    Ok(())
}
