"""docs/arena.md and its picture, from benchmarks/results/arena.json."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.page_parts import machine_name, table
from limbeck.report.plots.drawing import COLOURS, PALETTE, canvas, drawing, legend

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "arena.md", ROOT / "docs" / "results" / "arena.svg"
OURS, TFIDF = "limbeck", "tfidf"
FAST = 1_000.0  # µs: the speed class of small models
SIGNIFICANT = 0.05
Row = Mapping[str, Any]
Model = Mapping[str, Any]

INTRODUCTION = """# The arena

`limbeck run train.csv` on ten files that no setting was chosen for, each complete and cut to 300 and 1,000 rows, next
to what else a user could take. Every model of a line learned from the same training rows; test rows were read last. The
command:

```
LIMBECK_DATA=path/to/data python benchmarks/arena.py
python benchmarks/arena.py --write-page
```

`limbeck` is the model under `models/best`, as the draft chose it by dev, without any setting changed. `tfidf` is TF-IDF
of words (1–2) and characters (2–5) with a linear SVC; fastText has word pairs and character n-grams;
model2vec is distilled from the draft's own encoder, with its own classifier; "frozen encoder" is that encoder with
logistic regression, and not in the speed class of the others. Times are for one text, one thread.
"""


def write_page(found: Mapping[str, Any]) -> None:
    """Write the page and the picture."""
    rows = sorted(found["rows"], key=_order)
    parts = [
        INTRODUCTION,
        f"Measured on: {machine_name(found['machine'])}.\n",
        _means(rows),
        "![](results/arena.svg)\n",
    ]
    for cut, of_cut in groupby(rows, key=lambda row: row["cut"]):
        title = "All rows" if cut == "all" else f"{int(cut):,} rows"
        parts.append(f"## {title}\n\n{_accuracies(list(of_cut))}\n")
    parts.append(f"## Lost\n\n{_lost(rows)}\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    _draw(rows)


def _order(row: Row) -> tuple[int, str, int]:
    return (10**9 if row["cut"] == "all" else int(row["cut"]), row["set"], row["seed"])


def _models(rows: Sequence[Row]) -> list[str]:
    """The models that answered every one of these rows' sets, ours first."""
    names = [model["name"] for model in rows[0]["models"]]
    return [name for name in names if all(_of(row, name) for row in rows)]


def _of(row: Row, name: str) -> Model | None:
    return next((model for model in row["models"] if model["name"] == name), None)


def _values(rows: Sequence[Row], name: str, key: str) -> list[float]:
    models = [_of(row, name) for row in rows]
    return [model[key] for model in models if model is not None and model[key] is not None]


def _means(rows: Sequence[Row]) -> str:
    lines = []
    for cut, of_cut in groupby(rows, key=lambda row: row["cut"]):
        here = list(of_cut)
        for name in _models(here):
            sizes = _values(here, name, "megabytes")
            lines.append(
                [
                    "all rows" if cut == "all" else f"{int(cut):,} rows",
                    f"{len({row['set'] for row in here})}",
                    name,
                    f"{100 * mean(_values(here, name, 'accuracy')):.1f}",
                    f"{100 * mean(_values(here, name, 'macro_f1')):.1f}",
                    f"{mean(_values(here, name, 'microseconds')):,.0f}",
                    f"{mean(sizes):.1f}" if sizes else "–",
                    f"{mean(_values(here, name, 'minutes')):.1f}",
                ]
            )
    headings = ["training rows", "sets", "model", "accuracy", "macro F1", "µs a text", "MB", "minutes to train"]
    return table(headings, lines, words=["model"]) + "\n"


def _accuracies(rows: Sequence[Row]) -> str:
    names = [model["name"] for model in rows[0]["models"]]
    lines = []
    for _, of_set in groupby(rows, key=lambda row: row["set"]):
        seeds = list(of_set)
        accuracies = [_values(seeds, name, "accuracy") for name in names]
        teachers = [
            entry["accuracy"] for row in seeds for entry in row["report"].values() if entry["role"] == "teacher"
        ]
        lines.append(
            [
                seeds[0]["set"],
                f"{seeds[0]['train_rows']:,}",
                f"{len(seeds)}",
                ", ".join(dict.fromkeys(str(row["best"]) for row in seeds)),
                *(f"{100 * mean(found):.1f}" if found else "–" for found in accuracies),
                f"{100 * mean(teachers):.1f}" if teachers else "–",
            ]
        )
    headings = ["set", "rows", "seeds", "shipped", *names, "the teacher"]
    return table(headings, lines, words=["shipped"])


def _lost(rows: Sequence[Row]) -> str:
    """Where a rival of the same speed class is significantly better than what was shipped."""
    lost = [
        f"- {row['set']}, {row['train_rows']:,} rows, seed {row['seed']}: "
        f"{model['name']} {100 * model['accuracy']:.1f}, limbeck {100 * ours['accuracy']:.1f} "
        f"(McNemar p = {model['mcnemar_p']:.3f})"
        for row in rows
        if (ours := _of(row, OURS)) is not None
        for model in row["models"]
        if model["name"] != OURS
        and model["microseconds"] < FAST
        and model["accuracy"] > ours["accuracy"]
        and model["mcnemar_p"] < SIGNIFICANT
    ]
    said = "Rivals below a millisecond that are significantly better (McNemar, 5 %) than the shipped model:"
    return "\n".join([f"{said}\n", *(lost or ["none."])])


def _draw(rows: Sequence[Row]) -> None:
    """Mean accuracy against the number of training rows, a line for each model."""
    cuts = [(cut, list(of_cut)) for cut, of_cut in groupby(rows, key=lambda row: row["cut"])]
    names = _models(rows)
    with drawing():
        figure, axes = canvas(xlabel="training rows", ylabel="mean accuracy on test (%)", width=7.2, height=4.2)
        for name, colour in zip(names, [COLOURS["student"], *PALETTE], strict=False):
            heights = [100 * mean(_values(here, name, "accuracy")) for _, here in cuts]
            axes.plot(range(len(cuts)), heights, marker="o", color=colour, label=name)
        axes.set_xticks(range(len(cuts)), ["all" if cut == "all" else f"{int(cut):,}" for cut, _ in cuts])
        legend(axes)
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(PICTURE, format="svg")
