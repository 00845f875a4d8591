# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "scipy==1.17.1"]
# ///
"""Writes golden.json: reference numbers for the stats crate, from SciPy and brute force.

Run from anywhere: `uv run make.py`, or `python make.py` with the dependencies installed.
The data are drawn from a fixed seed and stored with the results, so the file is its own input.
"""

import itertools
import json
import math
import pathlib

import numpy as np
from scipy import stats

PROBABILITIES = [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0]
CONFIDENCES = [0.8, 0.9, 0.95, 0.99]


def sample(generator, kind, n):
    """Delays in ms, three decimals, as a list."""
    if kind == "lognormal":
        values = 100 * np.exp(0.7 * generator.standard_normal(n))
    elif kind == "stalls":
        tight = 200 + 5 * generator.standard_normal(n)
        values = tight * np.where(generator.random(n) < 0.2, generator.uniform(10, 20, n), 1.0)
    else:  # "coarse": many ties
        values = generator.integers(1, 6, n) * 10.0
    return [float(f"{value:.3f}") for value in values]


def describe(values):
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    median = float(np.median(values))
    kept = [v for v in values if spread is None or abs(v - median) <= spread]
    return {
        "values": values,
        "mean": float(np.mean(values)),
        "median": median,
        "standard_deviation": spread,
        "one_sd_mean": float(np.mean(kept)),
        "probabilities": PROBABILITIES,
        "quantiles": [float(np.quantile(values, p, method="linear")) for p in PROBABILITIES],
    }


def null_by_enumeration(n, m):
    """P(U = u) by listing every choice of ranks: shares nothing with the crate's method."""
    counts = np.zeros(n * m + 1)
    for chosen in itertools.combinations(range(1, n + m + 1), n):
        counts[sum(chosen) - n * (n + 1) // 2] += 1
    return counts / counts.sum()


def null_by_recursion(n, m):
    """P(U = u) by Mann and Whitney's own recursion, for sizes too large to enumerate."""
    table = {}
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 or j == 0:
                table[i, j] = np.array([1.0])
                continue
            p = np.zeros(i * j + 1)
            p[j:] += i / (i + j) * table[i - 1, j]
            p[: i * (j - 1) + 1] += j / (i + j) * table[i, j - 1]
            table[i, j] = p
    return table[n, m]


def hodges_lehmann(baseline, treated, confidence):
    n, m = len(baseline), len(treated)
    ratios = sorted(y / x for x in baseline for y in treated)
    small = math.comb(n + m, n) <= 200_000
    null = null_by_enumeration(n, m) if small else null_by_recursion(n, m)
    cumulative = np.cumsum(null)
    rank, attained = 1, 1 - 2 * cumulative[0]
    while rank < n * m / 2 and 1 - 2 * cumulative[rank] >= confidence:
        attained = 1 - 2 * cumulative[rank]
        rank += 1
    return {
        "baseline": baseline,
        "treated": treated,
        "confidence": confidence,
        "ratio": math.exp(float(np.median(np.log(ratios)))),
        "low": ratios[rank - 1],
        "high": ratios[-rank],
        "confidence_attained": float(attained),
    }


def mann_whitney(a, b):
    tied = len(set(a + b)) < len(a + b)
    if not tied:
        p = stats.mannwhitneyu(a, b, method="exact").pvalue
        method = "mannwhitneyu, exact"
    elif math.comb(len(a) + len(b), len(a)) <= 100_000:
        ranks = stats.rankdata(a + b)
        observed = ranks[: len(a)].sum()
        sums = [sum(c) for c in itertools.combinations(ranks, len(a))]
        below = sum(s <= observed + 1e-9 for s in sums)
        above = sum(s >= observed - 1e-9 for s in sums)
        p = min(1.0, 2 * min(below, above) / len(sums))
        method = "enumeration of midranks"
    else:
        p = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True).pvalue
        method = "mannwhitneyu, asymptotic"
    return {"a": a, "b": b, "p": float(p), "method": method}


def clopper_pearson(successes, trials, confidence):
    interval = stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    return {
        "successes": successes,
        "trials": trials,
        "confidence": confidence,
        "low": float(interval.low),
        "high": float(interval.high),
    }


def main():
    generator = np.random.default_rng(1987)
    kinds = ["lognormal", "stalls", "coarse"]
    golden = {
        "describe": [
            describe(sample(generator, kind, n)) for kind in kinds for n in [1, 2, 5, 6, 31]
        ],
        "hodges_lehmann": [
            hodges_lehmann(
                sample(generator, kind, n),
                [float(f"{1.5 * v:.3f}") for v in sample(generator, kind, m)],
                confidence,
            )
            for kind in kinds
            for n, m in [(1, 1), (2, 3), (3, 4), (5, 5), (7, 10), (10, 6), (20, 20), (45, 55)]
            for confidence in CONFIDENCES
        ],
        "mann_whitney": [
            mann_whitney(sample(generator, kind, n), sample(generator, kind, m))
            for kind in kinds
            for n, m in [(1, 2), (3, 4), (4, 3), (5, 5), (8, 7), (10, 4), (30, 25), (60, 55)]
            if not (kind == "coarse" and n == 30)  # too many to enumerate, too few to be normal
        ],
        "clopper_pearson": [
            clopper_pearson(k, n, confidence)
            for k, n in [(0, 1), (1, 1), (0, 5), (2, 5), (5, 5), (1, 20), (13, 97), (500, 1000),
                         (3, 100_000), (99_999, 100_000), (250_000, 1_000_000)]
            for confidence in CONFIDENCES
        ],
    }
    here = pathlib.Path(__file__).parent
    lines = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]"
        for name, cases in golden.items()
    )
    (here / "golden.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
