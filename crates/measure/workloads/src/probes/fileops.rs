//! `fileops`: file operations of a small command: create, write, fsync, stat, read cold, unlink.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::{Advice, fadvise};
use sys::clock::monotonic_ns;

use crate::{
    Interaction, Parts, Plan, Probe, ProbeResult, Rhythm, Setting, Work, Workload, WorkloadError,
    at, emptied,
};

const WRITE_BYTES: usize = 64 << 10;
const COLD_BYTES: usize = 256 << 10;

pub(crate) const PROBE: Workload = Workload {
    name: "fileops",
    about: "create, write 64 KiB, fsync, stat, read 256 KiB cold, unlink",
    measures: &["create_ns", "write_ns", "fsync_ns", "stat_ns", "cold_read_ns", "unlink_ns"],
    ..Workload::new(Work::Probe(Probe { rhythm: Rhythm::Interval, plan, make }))
};

fn plan(_: &Setting) -> Plan {
    let plan =
        Plan::new(0, [("write_bytes", WRITE_BYTES as u64), ("cold_bytes", COLD_BYTES as u64)]);
    Plan { disk_bytes: (WRITE_BYTES + COLD_BYTES) as u64, ..plan }
}

struct FileOps {
    path: PathBuf,
    cold: File,
    buffer: Vec<u8>,
}

fn make(setting: &Setting, _: &Plan) -> ProbeResult {
    let mut buffer = vec![0; COLD_BYTES];
    Pcg64Mcg::seed_from_u64(setting.seed).fill_bytes(&mut buffer);
    let mut cold =
        emptied(&setting.work_dir.join("cold.dat")).map_err(at("create the cold file"))?;
    cold.write_all(&buffer).map_err(at("write the cold file"))?;
    cold.sync_data().map_err(at("sync the cold file"))?;
    let mut probe = FileOps { path: setting.work_dir.join("probe.dat"), cold, buffer };
    probe.settle();
    Ok(Box::new(probe))
}

impl Interaction for FileOps {
    fn interact(&mut self, parts: &mut Parts) -> Result<(), WorkloadError> {
        let mut lap_ns = monotonic_ns();
        let mut lap = |part: &mut u64| {
            let now_ns = monotonic_ns();
            *part = now_ns - lap_ns;
            lap_ns = now_ns;
        };
        let mut file = File::create(&self.path).map_err(at("create"))?;
        lap(&mut parts[0]);
        file.write_all(&self.buffer[..WRITE_BYTES]).map_err(at("write"))?;
        lap(&mut parts[1]);
        file.sync_all().map_err(at("fsync"))?;
        lap(&mut parts[2]);
        std::fs::metadata(&self.path).map_err(at("stat"))?;
        lap(&mut parts[3]);
        self.cold.rewind().map_err(at("rewind the cold file"))?;
        self.cold.read_exact(&mut self.buffer).map_err(at("read the cold file"))?;
        lap(&mut parts[4]);
        std::fs::remove_file(&self.path).map_err(at("unlink"))?;
        lap(&mut parts[5]);
        Ok(())
    }

    /// Drops the cold file from the cache; the counters show whether the kernel did.
    fn settle(&mut self) {
        let _ = fadvise(&self.cold, 0, None, Advice::DontNeed);
    }
}
