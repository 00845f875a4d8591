# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "scipy==1.17.1"]
# ///
"""Writes comparison.json: reference numbers for what `compare` needs, from SciPy and brute force.

Run from anywhere: `uv run comparison.py`, or `python comparison.py` with the dependencies
installed. The data are drawn from a fixed seed and stored with the results.
"""

import itertools
import json
import math
import pathlib

import numpy as np
from scipy import optimize, stats

from make import sample

KINDS = ["lognormal", "stalls", "coarse"]
CONFIDENCES = [0.8, 0.95, 0.99]


def log_ratio(first, second, confidence, paired):
    a, b = np.log(first), np.log(second)
    test = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
    interval = test.confidence_interval(confidence)
    return {
        "first": first,
        "second": second,
        "confidence": confidence,
        "paired": paired,
        "ratio": math.exp(b.mean() - a.mean()),
        "low": math.exp(interval.low),
        "high": math.exp(interval.high),
        "df": float(test.df),
        "p": float(test.pvalue),
    }


def signs(n):
    return itertools.product([False, True], repeat=n)


def paired_hodges_lehmann(first, second, confidence):
    logs = np.log(np.array(second) / np.array(first))
    n = len(logs)
    walsh = np.sort([(logs[i] + logs[j]) / 2 for i in range(n) for j in range(i, n)])
    counts = np.zeros(n * (n + 1) // 2 + 1)
    for chosen in signs(n):
        counts[sum(rank for rank, s in enumerate(chosen, 1) if s)] += 1
    cumulative = np.cumsum(counts) / counts.sum()
    rank, attained = 1, 1 - 2 * cumulative[0]
    while rank < len(walsh) / 2 and 1 - 2 * cumulative[rank] >= confidence:
        attained = 1 - 2 * cumulative[rank]
        rank += 1
    return {
        "first": first,
        "second": second,
        "confidence": confidence,
        "ratio": math.exp(float(np.median(walsh))),
        "low": math.exp(walsh[rank - 1]),
        "high": math.exp(walsh[-rank]),
        "confidence_attained": float(attained),
    }


def permutation(a, b):
    test = stats.permutation_test(
        (a, b), lambda x, y, axis: abs(x.mean(axis) - y.mean(axis)), alternative="greater",
        vectorized=True, n_resamples=np.inf,
    )
    return {"a": a, "b": b, "p": float(test.pvalue)}


def sign_flip(differences):
    test = stats.permutation_test(
        (differences,), lambda x, axis: abs(x.mean(axis)), alternative="greater",
        permutation_type="samples", vectorized=True, n_resamples=np.inf,
    )
    return {"differences": differences, "p": float(test.pvalue)}


def fisher(hits, trials, other_hits, other_trials):
    table = [[hits, trials - hits], [other_hits, other_trials - other_hits]]
    return {"first": [hits, trials], "second": [other_hits, other_trials],
            "p": float(stats.fisher_exact(table).pvalue)}


def multiple(p_values):
    order = np.argsort(p_values)
    holm = np.empty(len(p_values))
    m = len(p_values)
    steps = [p_values[i] * (m - rank) for rank, i in enumerate(order)]
    holm[order] = np.minimum(1, np.maximum.accumulate(steps))
    return {"p": p_values, "holm": holm.tolist()}


def detectable(spread, sizes, alpha, power):
    paired = len(sizes) == 1
    df = sizes[0] - 1 if paired else sum(sizes) - 2
    error = math.sqrt(sum(1 / n for n in sizes))
    critical = stats.t.isf(alpha / 2, df)
    distance = optimize.brentq(
        lambda d: stats.nct.sf(critical, df, d) - power, 0.1, 400, xtol=1e-12, rtol=1e-12
    )
    return {"spread": spread, "sizes": sizes, "alpha": alpha, "power": power,
            "ratio": math.exp(distance * spread * error)}


def dropped(draws):
    list(draws)
    return {}


def main():
    generator = np.random.default_rng(1973)

    def draw(kind, n):
        return sample(generator, kind, n)

    sizes = [(2, 2), (3, 4), (5, 5), (10, 6), (20, 20)]
    golden = {
        "log_ratio": [
            log_ratio(draw(kind, n), draw(kind, m), confidence, False)
            for kind in KINDS[:2] for n, m in sizes for confidence in CONFIDENCES
        ] + [
            log_ratio(draw(kind, n), draw(kind, n), confidence, True)
            for kind in KINDS[:2] for n in [2, 3, 6, 20] for confidence in CONFIDENCES
        ],
        # Cases of a test that is gone; those below depend on their draws.
        **dropped(
            (draw(kind, n), draw(kind, n))
            for kind in KINDS for n in [1, 4, 7, 12, 15, 30, 60, 125, 300]
            if kind != "coarse" or n not in (30, 60, 125)
        ),
        "paired_hodges_lehmann": [
            paired_hodges_lehmann(draw(kind, n), draw(kind, n), confidence)
            for kind in KINDS for n in [1, 2, 5, 8, 13] for confidence in CONFIDENCES
        ],
        "permutation": [
            permutation(draw(kind, n), draw(kind, m))
            for kind in KINDS for n, m in [(2, 2), (4, 3), (4, 4), (5, 3), (7, 8)]
        ],
        "sign_flip": [
            sign_flip([round(y - x, 3) for x, y in zip(draw(kind, n), draw(kind, n))])
            for kind in KINDS for n in [2, 3, 4, 9]
        ],
        "fisher": [
            fisher(*table)
            for table in [(3, 4, 1, 4), (0, 5, 5, 5), (2, 10, 7, 9), (8, 14, 1, 6), (0, 20, 0, 9),
                          (13, 97, 4, 120), (40, 1000, 61, 1000), (5, 50_000, 19, 60_000),
                          (1, 3, 900, 1000), (50_000, 100_000, 50_700, 100_000)]
        ],
        "multiple": [
            multiple([float(f"{p:.4f}") for p in generator.random(n) ** 3])
            for n in [1, 2, 3, 4, 5, 8, 13, 24, 60]
        ],
        "detectable": [
            detectable(spread, sizes, alpha, power)
            for spread in [0.02, 0.3]
            for sizes in [[2], [3], [10], [60], [2, 2], [4, 3], [10, 10], [5, 300]]
            for alpha, power in [(0.05, 0.8), (0.05 / 24, 0.8), (0.2, 0.95)]
            if len(sizes) > 1 or sizes[0] > 2 or alpha == 0.2  # SciPy loses digits there
        ],
    }
    here = pathlib.Path(__file__).parent
    lines = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]"
        for name, cases in golden.items()
    )
    (here / "comparison.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
