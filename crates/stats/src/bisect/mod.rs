//! The step at which something changed, along an ordered axis: commits, releases, sizes.

mod evidence;
mod exact;
mod noisy;

pub use exact::{ExactBisect, Outcome};
pub use noisy::{Conclusion, NoisyBisect, NoisySettings, Posterior};
