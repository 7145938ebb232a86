"""Quality of scores as pure functions of true and given ones: correlations, errors, and their intervals (numpy alone).

The base install has all of them: AUC at a threshold too, which is a sum of ranks.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.judging.metrics import BOOTSTRAP_SEED
from limbeck.training.correlation import pearson, ranks, spearman

Floats = npt.NDArray[np.float64]

MEASURES = ("spearman", "pearson", "mae", "rmse")
HIGHER_IS_BETTER = ("spearman", "pearson")
MOST_DRAWN = 2_000_000  # rows × resamples: a second; of many rows fewer resamples are drawn
FEWEST_SAMPLES, AT_ONCE = 200, 2_000_000
MOST_POINTS = 400  # of a scatter plot
MOST_GROUPS, ROWS_PER_GROUP = 8, 5


def measures(true: Floats, given: Floats) -> dict[str, float]:
    """Spearman's and Pearson's correlation, mean absolute error and root mean squared error, of (rows)."""
    errors = given - true
    return {
        "spearman": spearman(given, true),
        "pearson": pearson(given, true),
        "mae": float(np.abs(errors).mean()),
        "rmse": float(np.sqrt((errors**2).mean())),
    }


def intervals(true: Floats, given: Floats, *, samples: int) -> dict[str, list[float]]:
    """95 % bootstrap intervals of the measures, of the mean over seeds; `given` is (seeds, rows).

    Rows are drawn with replacement, the same ones for every seed. Ranks are those among all rows.
    """
    drawn = _resampled(true, [given], samples=samples)[0]
    return {name: _middle_95(values) for name, values in drawn.items()}


def gains(true: Floats, given: Floats, other: Floats, *, samples: int) -> dict[str, Any]:
    """How much better the first is than the other, both (seeds, rows): differences of the means over seeds, with paired
    95 % bootstrap intervals. Positive is better also for errors."""
    one, two = (_means(true, of_one) for of_one in (given, other))
    drawn_one, drawn_two = _resampled(true, [given, other], samples=samples)
    found: dict[str, Any] = {}
    for name in MEASURES:
        sign = 1 if name in HIGHER_IS_BETTER else -1
        found[name] = sign * (one[name] - two[name])
        found[f"{name}_ci95"] = _middle_95(sign * (drawn_one[name] - drawn_two[name]))
    return found


def _means(true: Floats, given: Floats) -> dict[str, float]:
    of_seeds = [measures(true, of_seed) for of_seed in given]
    return {name: float(np.mean([one[name] for one in of_seeds])) for name in MEASURES}


def _resampled(true: Floats, models: Sequence[Floats], *, samples: int) -> list[dict[str, Floats]]:
    """For each model the measures in every resample, from sums over the rows that were drawn."""
    columns = [[_sums_of(true, of_seed) for of_seed in given] for given in models]
    found: list[dict[str, list[Floats]]] = [{name: [] for name in MEASURES} for _ in models]
    for draws in _draws(len(true), samples=samples):
        for of_model, seeds in zip(found, columns, strict=True):
            each = [_from_sums(draws @ column / len(true)) for column in seeds]
            for name in MEASURES:
                of_model[name].append(np.mean([one[name] for one in each], axis=0))
    return [{name: np.concatenate(parts) for name, parts in of_model.items()} for of_model in found]


def _draws(rows: int, *, samples: int) -> Iterator[Floats]:
    """(some samples, rows): how often each row was drawn."""
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    left = max(FEWEST_SAMPLES, min(samples, MOST_DRAWN // rows))
    while left > 0:
        now = min(left, max(1, AT_ONCE // rows))
        yield generator.multinomial(rows, np.full(rows, 1 / rows), size=now).astype(np.float64)
        left -= now


def _sums_of(true: Floats, given: Floats) -> Floats:
    """(rows, 12): what means over rows are needed of."""
    parts = []
    for x, y in ((given, true), (ranks(given), ranks(true))):
        x, y = (x - x.mean()) / (x.std() or 1.0), (y - y.mean()) / (y.std() or 1.0)  # against rounding
        parts += [x, y, x * x, y * y, x * y]
    errors = given - true
    return np.stack([*parts, np.abs(errors), errors**2], axis=1)


def _from_sums(means: Floats) -> dict[str, Floats]:
    """The measures of resamples, from the means over their rows (samples, 12)."""

    def correlation(start: int) -> Floats:
        x, y, xx, yy, xy = (means[:, start + at] for at in range(5))
        spread = np.sqrt(np.maximum((xx - x * x) * (yy - y * y), 0))
        return np.divide(xy - x * y, spread, out=np.zeros_like(xy), where=spread > 0)

    return {
        "pearson": correlation(0),
        "spearman": correlation(5),
        "mae": means[:, 10],
        "rmse": np.sqrt(means[:, 11]),
    }


def _middle_95(values: Floats) -> list[float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return [float(low), float(high)]


def at_threshold(true: Floats, given: Floats, threshold: float) -> dict[str, Any]:
    """Two classes, those of rows with at least the threshold and of the others: AUC of the scores, and precision,
    recall, F1 and accuracy of the answers cut at the same threshold. AUC is None if all rows are of one class.

        AUC = (Σ ranks of the rows above - n (n + 1) / 2) / (n · m),    n rows above, m below
    """
    above, said = true >= threshold, given >= threshold
    n, m = int(above.sum()), int((~above).sum())
    auc = float((ranks(given)[above].sum() - n * (n + 1) / 2) / (n * m)) if n and m else None
    both = int((above & said).sum())
    precision, recall = both / max(1, int(said.sum())), both / max(1, n)
    return {
        "threshold": threshold,
        "rows_above": n,
        "auc": auc,
        "precision": precision,
        "recall": recall,
        "f1": 2 * both / max(1, n + int(said.sum())),
        "accuracy": float((above == said).mean()),
    }


def residuals_by_score(true: Floats, given: Floats) -> list[dict[str, Any]]:
    """Mean residual (given - true) and mean absolute error of rows with similar true scores, from low to high."""
    groups = max(1, min(MOST_GROUPS, len(true) // ROWS_PER_GROUP))
    edges = np.unique(np.quantile(true, np.linspace(0, 1, groups + 1)[1:-1]))
    number, residuals = np.searchsorted(edges, true, side="left"), given - true
    found = []
    for one in np.unique(number):
        inside = number == one
        found.append(
            {
                "from": float(true[inside].min()),
                "to": float(true[inside].max()),
                "rows": int(inside.sum()),
                "mean_residual": float(residuals[inside].mean()),
                "mae": float(np.abs(residuals[inside]).mean()),
            }
        )
    return found


def scatter_points(true: Floats, given: Floats) -> list[list[float]]:
    """[true, given] of at most 400 rows, evenly spread over the order of the true scores."""
    order = np.argsort(true, kind="stable")
    places = order[np.linspace(0, len(order) - 1, num=min(MOST_POINTS, len(order)), dtype=np.int64)]
    return [[float(f"{true[at]:.5g}"), float(f"{given[at]:.5g}")] for at in places.tolist()]
