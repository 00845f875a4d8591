//! Any bytes are a file of `perf record` or none; the shares of a profile that was read sum to its time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use profile::{CallStacks, Part, sampled_firefox, sampled_schedule};
use sampler::read_perf_data;

fuzz_target!(|bytes: &[u8]| {
    let Ok(found) = read_perf_data(bytes, true) else {
        return;
    };
    for part in Part::ALL {
        let counts = found.profile.counts(part);
        let own: u64 = found.profile.functions(counts).iter().map(|function| function.own).sum();
        assert_eq!(own, counts.total);
    }
    sampled_firefox(&found.profile, "fuzz", found.frequency_hz).unwrap();
    sampled_schedule(&found.profile, "fuzz").unwrap();
});
