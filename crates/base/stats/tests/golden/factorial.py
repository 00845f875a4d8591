# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "pandas==3.1.1", "patsy==1.0.3", "scipy==1.17.1", "statsmodels==0.15.0"]
# ///
"""Writes factorial.json: factorial experiments as statsmodels sees them.

Run from anywhere: `uv run factorial.py`, or `python factorial.py` with the dependencies installed.
Each case holds its observations, so the file is its own input.
"""

import itertools
import json
import pathlib
import warnings

import numpy as np
import pandas as pd
import patsy
import statsmodels.formula.api as smf
from scipy import optimize, stats
from statsmodels.stats.anova import anova_lm

HUNT = {
    ("one", "17.11"): [1921, 1849, 1895],
    ("one", "18.9"): [2452, 2443, 2353],
    ("one", "18.11"): [2330, 2353, 2324],
    ("two", "17.11"): [6013, 5903, 6010],
    ("two", "18.9"): [6785, 6577, 6746],
    ("two", "18.11"): [6613, 6530, 6572],
}


def hunt(systems):
    rows = []
    for i, version in enumerate(("one", "two")):
        for j, system in enumerate(systems):
            rows += [((i, j), None, float(v)) for v in HUNT[version, system]]
    return rows


def drawn(generator, counts, replicates, blocks, unbalanced):
    rows = []
    for cell in itertools.product(*(range(c) for c in counts)):
        for r in range(replicates):
            if unbalanced and r > 0 and generator.random() < 0.4:
                continue
            effect = sum(0.3 * (f + 1) * level for f, level in enumerate(cell))
            effect += 0.2 * cell[0] * cell[-1] + 0.1 * (r if blocks else 0)
            value = round(float(100 * np.exp(effect + 0.05 * generator.standard_normal())), 3)
            rows.append((cell, r if blocks else None, value))
    return rows


def case(name, counts, rows, scale, order, confidence):
    names = "abcd"[: len(counts)]
    frame = pd.DataFrame([dict(zip(names, cell)) for cell, _, _ in rows])
    values = np.array([value for _, _, value in rows])
    frame["y"] = np.log(values) if scale == "log" else values
    blocked = rows[0][1] is not None
    frame["block"] = [block for _, block, _ in rows]
    coded = [f"C({n}, Sum)" for n in names]
    formula = f"y ~ ({' + '.join(coded)})**{order}" if order > 1 else f"y ~ {' + '.join(coded)}"
    if blocked:
        formula += " + C(block, Sum)"
    fit = smf.ols(formula, frame).fit()
    table = anova_lm(fit, typ=3)
    undo = np.exp if scale == "log" else float

    # Predicted means of all cells, averaged over blocks: contrasts are sums of these rows.
    cells = list(itertools.product(*(range(c) for c in counts)))
    blocks = sorted(set(frame["block"])) if blocked else [None]
    rows_of = {}
    for cell in cells:
        grid = pd.DataFrame([dict(zip(names, cell)) | {"block": b} for b in blocks])
        rows_of[cell] = exog(fit, grid).mean(axis=0)

    def estimate(weights):
        test = fit.t_test(np.atleast_2d(weights))
        low, high = test.conf_int(alpha=1 - confidence)[0]
        return {
            "value": undo(test.effect[0]), "low": undo(low), "high": undo(high),
            "f": float(test.tvalue.item() ** 2), "p": float(np.asarray(test.pvalue).item()),
        }

    def mean(fixed):
        picked = [rows_of[c] for c in cells if all(c[f] == l for f, l in fixed.items())]
        return np.mean(picked, axis=0)

    main = [
        {"factor": f, "level": l} | estimate(mean({f: l}) - mean({f: 0}))
        for f in range(len(counts)) for l in range(1, counts[f])
    ]
    simple = [
        {"factor": f, "cell": list(c)}
        | estimate(rows_of[c] - rows_of[tuple(0 if g == f else l for g, l in enumerate(c))])
        for f in range(len(counts)) for c in cells if c[f] > 0
    ]
    interactions = [
        {"factors": [f, g], "levels": [i, j]}
        | estimate(mean({f: i, g: j}) - mean({f: i, g: 0}) - mean({f: 0, g: j}) + mean({f: 0, g: 0}))
        for f, g in itertools.combinations(range(len(counts)), 2) if order > 1
        for i in range(1, counts[f]) for j in range(1, counts[g])
    ]
    terms = []
    for label, line in table.iterrows():
        if label in ("Intercept", "Residual"):
            continue
        parts = [] if "block" in label else [names.index(p[2]) for p in label.split(":")]
        terms.append({
            "factors": parts, "df": int(line["df"]), "sum_of_squares": float(line["sum_sq"]),
            "f": float(line["F"]), "p": float(line["PR(>F)"]),
        })
    return {
        "name": name, "levels": list(counts), "scale": scale, "order": order,
        "confidence": confidence,
        "observations": [{"levels": list(c), "block": b, "value": v} for c, b, v in rows],
        "residual_df": int(fit.df_resid), "sigma": float(np.sqrt(fit.scale)),
        "r_squared": float(fit.rsquared), "terms": terms, "main_effects": main,
        "simple_effects": simple, "interactions": interactions,
        "total": estimate(rows_of[cells[-1]] - rows_of[cells[0]]),
        "fitted": [undo(float(rows_of[c] @ fit.params)) for c in cells],
    }


def exog(fit, grid):
    """Rows of the design matrix for a grid of settings."""
    return np.asarray(patsy.dmatrix(fit.model.data.model_spec, grid))


def box_cox(name, rows, lambdas):
    frame = pd.DataFrame([{"a": c[0], "b": c[1], "y": v} for c, _, v in rows])
    values = frame["y"].to_numpy()

    def at(power):
        z = np.log(values) if power == 0 else np.expm1(power * np.log(values)) / power
        fit = smf.ols("z ~ C(a, Sum) * C(b, Sum)", frame.assign(z=z)).fit()
        n = len(values)
        likelihood = -n / 2 * np.log(fit.ssr / n) + (power - 1) * np.log(values).sum()
        f = anova_lm(fit, typ=3).loc["C(a, Sum):C(b, Sum)", "F"]
        return float(f), float(likelihood)

    def smallest(function):
        best = min(np.arange(-1, 2.001, 0.05), key=function)
        bounds = (max(-1, best - 0.06), min(2, best + 0.06))
        return optimize.minimize_scalar(
            function, bounds=bounds, method="bounded", options={"xatol": 1e-9}
        ).x

    likely = smallest(lambda power: -at(power)[1])
    lowest = at(likely)[1] - stats.chi2.ppf(0.95, 1) / 2

    def end(limit):
        below = lambda power: at(power)[1] - lowest
        return optimize.brentq(below, limit, likely, xtol=1e-10) if below(limit) < 0 else None

    return {
        "name": name, "levels": [2, len({c[1] for c, _, _ in rows})],
        "observations": [{"levels": list(c), "block": b, "value": v} for c, b, v in rows],
        "profile": [{"lambda": power, "interaction_f": at(power)[0]} for power in lambdas],
        "additive_lambda": smallest(lambda power: at(power)[0]),
        "likely_lambda": likely, "low": end(-1), "high": end(2),
    }


def main():
    warnings.simplefilter("ignore")
    generator = np.random.default_rng(1973)
    two, three = hunt(["17.11", "18.9"]), hunt(["17.11", "18.9", "18.11"])
    cases = []
    for scale in ("log", "additive"):
        cases += [
            case("17.11 v 18.9", (2, 2), two, scale, 2, 0.95),
            case("17.11 v 18.11", (2, 2), hunt(["17.11", "18.11"]), scale, 2, 0.95),
            case("2x3 from 18.9", (2, 3), hunt(["18.9", "17.11", "18.11"]), scale, 2, 0.95),
            case("unbalanced", (2, 3), drawn(generator, (2, 3), 5, False, True), scale, 2, 0.95),
        ]
    cases += [
        case("2x3", (2, 3), three, "log", 2, 0.95),
        case("18.9 v 18.11", (2, 2), hunt(["18.9", "18.11"]), "log", 2, 0.95),
        case("blocks", (2, 3), drawn(generator, (2, 3), 4, True, False), "additive", 2, 0.9),
        case("three", (2, 2, 3), drawn(generator, (2, 2, 3), 3, True, True), "log", 3, 0.99),
        case("pairs", (2,) * 4, drawn(generator, (2,) * 4, 2, False, True), "log", 2, 0.95),
        case("main", (3, 2), drawn(generator, (3, 2), 2, False, False), "log", 1, 0.95),
    ]
    lambdas = [-1.0, 0.0, 0.5, 0.75, 1.0, 2.0]
    wide = drawn(generator, (2, 3), 8, False, True)
    profiles = [box_cox("2x3", three, lambdas), box_cox("unbalanced", wide, lambdas)]
    path = pathlib.Path(__file__).with_name("factorial.json")
    lines = ",\n".join(json.dumps(each) for each in cases)
    curves = ",\n".join(json.dumps(each) for each in profiles)
    path.write_text(f'{{"fits": [\n{lines}\n], "box_cox": [\n{curves}\n]}}\n')


if __name__ == "__main__":
    main()
