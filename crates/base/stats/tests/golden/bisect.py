# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6"]
# ///
"""Prints the posterior of a small noisy bisection, integrated on a grid.

The model is that of `NoisyBisect` without drift: log value = m + d [step >= c] + noise, with flat m
and ln(sigma), d normal with standard deviation 4 sigma, and 0.4 for "no change".
"""

import numpy as np

STEPS = np.array([0, 4, 4, 0, 2, 3])
LOGS = np.array([0.0, 1.2, 0.7, 0.3, 0.4, 1.0])

log_sigma = np.linspace(-5, 6, 1101)


def evidence(changed):
    """Integral over m (by completing the square), the shift and ln(sigma)."""
    sigma = np.exp(log_sigma)[:, None]
    after = (STEPS >= changed).astype(float) if changed is not None else np.zeros(len(STEPS))
    grid = np.linspace(-8, 8, 4001)[None, :]  # the shift in units of 4 sigma
    rest = LOGS[:, None, None] - (4 * sigma * grid)[None] * after[:, None, None]
    squares = ((rest - rest.mean(axis=0)) ** 2).sum(axis=0)
    n = len(STEPS)
    likelihood = sigma ** (1 - n) * np.exp(-squares / 2 / sigma**2)
    prior = np.exp(-(grid**2) / 2)
    return (likelihood * prior).sum() / prior.sum()


weights = [0.4 * evidence(None)] + [0.6 / 4 * evidence(c) for c in range(1, 5)]
print([round(float(w / sum(weights)), 9) for w in weights])
