//! Writing what is recorded to a file, while the program runs.

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::thread::gettid;
use trace::{Effort, Header, PackedBlock, QUICK_LEVEL, TraceError, Writer};

use crate::takers::EncoderTaker;
use crate::uncached::UncachedFile;
use crate::{Recording, TracerError};

/// Packed blocks that may wait for compression.
const WAITING_BLOCKS: usize = 32;
/// From this many on, blocks are stored uncompressed.
const TOO_MANY_BLOCKS: usize = 16;
/// Lower priority of that thread than of the command and of packing, which cannot do less work.
const NICENESS: i32 = 5;
/// Oldest unwritten data.
const FLUSH_AFTER: Duration = Duration::from_millis(100);

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// References in the file.
    pub references: u64,
    /// Length of the file in bytes.
    pub size_bytes: u64,
}

impl Recording {
    /// Writes references with numbers in `range` as a trace; the command may still run afterwards.
    /// Fails when the trace cannot be written, or the system refuses something.
    pub fn write(
        &mut self,
        out: File,
        header: &Header,
        range: Range<u64>,
    ) -> Result<Written, TracerError> {
        let mut writer = Writer::new(UncachedFile::new(out), header, QUICK_LEVEL)?;
        let waiting = AtomicUsize::new(0);
        let (full, to_compress) = sync_channel(WAITING_BLOCKS);
        let (empty, used) = channel();
        thread::scope(|scope| {
            let waiting = &waiting;
            let compressing = scope.spawn(move || {
                compress(&mut writer, &to_compress, waiting, &empty)?;
                let references = writer.references();
                let size_bytes = writer.finish()?.written_bytes;
                Ok::<_, TraceError>((references, size_bytes))
            });
            let packed = self.pack(range, &full, waiting, &used);
            drop(full);
            let (references, size_bytes) = match compressing.join() {
                Ok(outcome) => outcome?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            packed.map(|()| Written { references, size_bytes })
        })
    }

    fn pack(
        &mut self,
        range: Range<u64>,
        full: &SyncSender<PackedBlock>,
        waiting: &AtomicUsize,
        used: &Receiver<PackedBlock>,
    ) -> Result<(), TracerError> {
        let begun = Instant::now();
        let mut taker = EncoderTaker::new(self.pages, range);
        while !taker.is_done() && self.fill(&mut taker)? {
            let mut block = used.try_recv().unwrap_or_default();
            taker.finish_into(&mut block);
            block.head.at_ns = u64::try_from(begun.elapsed().as_nanos()).ok();
            waiting.fetch_add(1, Ordering::Relaxed);
            if full.send(block).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Compresses and writes blocks; `waiting` counts those in the queue.
fn compress(
    writer: &mut Writer<UncachedFile>,
    blocks: &Receiver<PackedBlock>,
    waiting: &AtomicUsize,
    empty: &Sender<PackedBlock>,
) -> Result<(), TraceError> {
    let mut flushed = Instant::now();
    // Without the privilege it has normal priority.
    let _ = setpriority_process(Some(gettid()), NICENESS);
    loop {
        let block = match blocks.recv_timeout(FLUSH_AFTER) {
            Ok(block) => Some(block),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if let Some(block) = block {
            // Compressing while others wait would slow down the command.
            let effort = match waiting.fetch_sub(1, Ordering::Relaxed) - 1 {
                0 => Effort::Compress,
                1..TOO_MANY_BLOCKS => Effort::CompressPages,
                _ => Effort::Store,
            };
            writer.add(&block, effort)?;
            // The receiver may have ended.
            let _ = empty.send(block);
        }
        if flushed.elapsed() >= FLUSH_AFTER {
            writer.flush()?;
            flushed = Instant::now();
        }
    }
}
