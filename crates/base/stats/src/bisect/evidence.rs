//! The likelihood of noisy measurements for each place of a change (docs/bisecting.md).

/// Prior standard deviation of the shift, in units of the noise.
const SHIFT_SCALE: f64 = 4.0;
/// Resolution of measurements: without it two equal values would prove anything.
const RESOLUTION: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub step: usize,
    /// Logarithm of its value.
    pub log: f64,
}

/// Sums of products of the logarithms and of all step functions, after regression.
pub(super) struct Evidence {
    free: f64,
    syy: f64,
    /// Sxx and Sxy of the function "step ≥ c" for each step c.
    by_step: Vec<(f64, f64)>,
}

impl Evidence {
    /// From all measurements so far, in time order.
    pub(super) fn new(measured: &[Measured], steps: usize, drift: bool) -> Evidence {
        let n = measured.len() as f64;
        let mean_index = (n - 1.0) / 2.0;
        let mean_log = measured.iter().map(|each| each.log).sum::<f64>() / n.max(1.0);
        let (mut syy, mut sty, mut stt) = (0.0, 0.0, 0.0);
        // Per step: measurements, their deviations and their timestamps.
        let mut at = vec![(0.0, 0.0, 0.0); steps];
        for (index, each) in measured.iter().enumerate() {
            let (log, time) = (each.log - mean_log, index as f64 - mean_index);
            syy += log * log;
            sty += time * log;
            stt += time * time;
            let sums = &mut at[each.step];
            *sums = (sums.0 + 1.0, sums.1 + log, sums.2 + time);
        }
        let drift = drift && stt > 0.0;
        let slope = if drift { sty / stt } else { 0.0 };
        let (mut count, mut logs, mut times) = (0.0, 0.0, 0.0);
        let mut by_step: Vec<(f64, f64)> = at
            .iter()
            .rev()
            .map(|sums| {
                (count, logs, times) = (count + sums.0, logs + sums.1, times + sums.2);
                let along = if drift { times * times / stt } else { 0.0 };
                let sxx = count - count * count / n.max(1.0) - along;
                (sxx.max(0.0), logs - slope * times)
            })
            .collect();
        by_step.reverse();
        let free = (n - if drift { 2.0 } else { 1.0 }).max(0.0);
        Evidence { free, syy: (syy - slope * sty).max(0.0), by_step }
    }

    /// Log-likelihood of a first changed step or of none, up to a constant.
    pub(super) fn log_likelihood(&self, changed: Option<usize>) -> f64 {
        let (sxx, sxy) = changed.map_or((0.0, 0.0), |step| self.by_step[step]);
        let precision = SHIFT_SCALE.powi(-2);
        let residual = (self.syy - sxy * sxy / (sxx + precision)).max(0.0);
        let floor = self.free * RESOLUTION * RESOLUTION;
        let spread = if self.free > 0.0 { (residual + floor).ln() } else { 0.0 };
        -0.5 * (1.0 + sxx / precision).ln() - self.free / 2.0 * spread
    }
}
