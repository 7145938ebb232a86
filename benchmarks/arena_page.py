"""docs/arena.md and its picture, from benchmarks/results/arena.json."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.page_parts import machine_name, table
from limbeck.report.plots.drawing import COLOURS, PALETTE, canvas, drawing, legend

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "arena.md", ROOT / "docs" / "results" / "arena.svg"
OURS = {"cpu": "Limbeck, draft without a GPU", "gpu": "Limbeck, draft with a GPU"}
FAST = 1_000.0  # µs: the speed class of small models
SIGNIFICANT = 0.05
Entry = Mapping[str, Any]
Case = tuple[str, str, int]  # set, cut, seed

INTRODUCTION = """# The arena

`limbeck run train.csv` on ten files, complete and cut to few rows, next to what else a user could take. Every model of
a line learned from the same training rows; test rows were read last, and no setting was chosen by them. Some settings
of drafts (general text, the share of the teacher in the choice of the best model) were chosen by training rows of five
of the files: hwu64, mpqa, tweet_emotion, tweet_irony and tweet_offensive. Only what was run is shown: the tables name
sets, rows and seeds. The commands:

```
LIMBECK_DATA=path/to/data python benchmarks/arena.py --models tfidf,fastText,model2vec
LIMBECK_DATA=path/to/data python benchmarks/arena.py --models cpu,gpu --workers 15     # with a GPU
python benchmarks/arena.py --collect
python benchmarks/arena.py --write-page
```

Both drafts were trained on a GPU, many runs at a time, so they have no minutes and no times of a text here; what a
draft for machines without a GPU plans was not cut. Its teacher is all-MiniLM-L6-v2, that of the other
all-mpnet-base-v2. No encoder for German was at hand: germeval2018 has a linear teacher, and its runs are older than the
parts into which German words are cut today. Those were adopted by test rows of germeval2018
([text](text.md#the-language)): of runs from then on, that set says less. The weights of all-mpnet-base-v2 were rounded
to half precision on their way. All runs are older than the
[several fine-tunings](teacher.md#several-fine-tunings) and the longer fine-tuning that drafts without a GPU have now.

Limbeck's model is `models/best`, as the draft chose it by dev; only the seeds are set, and there is one student of each
kind, also where a draft has three seeds. `tfidf` is TF-IDF of words
(1–2) and characters (2–5) with a linear SVC; fastText has word pairs and character n-grams; model2vec is distilled from
the draft's own encoder, with its own classifier; "frozen encoder" is that encoder with logistic regression, and not in
the speed class of the others. Times, where there are any, are for one text and one thread.
"""


def write_page(found: Mapping[str, Any]) -> None:
    """Write the page and the picture."""
    ours = {_case(entry) for entry in found["results"] if entry["model"] in OURS}
    entries = [entry for entry in found["results"] if _case(entry) in ours]  # others have nothing to be compared with
    cuts = sorted({entry["cut"] for entry in entries}, key=_size)
    machines = "; ".join(machine_name(machine) for machine in found["machines"])
    parts = [INTRODUCTION, f"Measured on: {machines}.\n", _means(entries, cuts), "![](results/arena.svg)\n"]
    for cut in cuts:
        parts.append(f"## {_title(cut)}\n\n{_accuracies([entry for entry in entries if entry['cut'] == cut])}\n")
    parts.append(f"## Lost\n\n{lost(entries)}\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    _draw(entries, cuts)


def _size(cut: str) -> int:
    return 10**9 if cut == "all" else int(cut)


def _title(cut: str) -> str:
    return "All rows" if cut == "all" else f"{int(cut):,} rows"


def _case(entry: Entry) -> Case:
    return entry["name"], entry["cut"], entry["seed"]


def _of(entries: Sequence[Entry], model: str) -> dict[Case, Entry]:
    return {_case(entry): entry for entry in entries if entry["model"] == model}


def _models(entries: Sequence[Entry]) -> list[str]:
    """Ours first, then the rivals."""
    names = dict.fromkeys(entry["model"] for entry in entries)
    return [*(name for name in OURS if name in names), *(name for name in names if name not in OURS)]


def _mean(entries: Sequence[Entry], key: str, *, scale: float = 1.0, digits: int = 1) -> str:
    values = [entry[key] for entry in entries if entry.get(key) is not None]
    return f"{scale * mean(values):,.{digits}f}" if values else "–"


def _means(entries: Sequence[Entry], cuts: Sequence[str]) -> str:
    """Over the cases that all models of a cut have: others would compare different files."""
    lines = []
    for cut in cuts:
        here = [entry for entry in entries if entry["cut"] == cut]
        models = _models(here)
        shared = set.intersection(*(set(_of(here, model)) for model in models))
        for model in models:
            own = [entry for case, entry in _of(here, model).items() if case in shared]
            alone = [entry for entry in own if _has_minutes(entry)]
            lines.append(
                [
                    _title(cut),
                    f"{len(shared)}",
                    OURS.get(model, model),
                    _mean(own, "accuracy", scale=100),
                    _mean(own, "macro_f1", scale=100),
                    _mean(own, "microseconds", digits=0),
                    _mean(own, "megabytes"),
                    _mean(alone, "minutes"),
                ]
            )
    headings = ["training rows", "files", "model", "accuracy", "macro F1", "µs a text", "MB", "minutes to train"]
    return table(headings, lines, words=["training rows", "model"]) + "\n"


def _has_minutes(entry: Entry) -> bool:
    """Whether its minutes say something: it ran alone, from start to end, on the machine that its draft is for."""
    on_its_machine = entry["model"] != "cpu" or entry.get("trained_on") != "GPU"
    return on_its_machine and entry.get("workers", 1) == 1 and not entry.get("continued")


def _accuracies(entries: Sequence[Entry]) -> str:
    models = _models(entries)
    lines = []
    for name in sorted({entry["name"] for entry in entries}):
        here = [entry for entry in entries if entry["name"] == name]
        ours = [entry for entry in here if entry["model"] in OURS]
        lines.append(
            [
                name,
                f"{here[0]['train_rows']:,}",
                f"{len({entry['seed'] for entry in here})}",
                ", ".join(dict.fromkeys(str(entry["best"]) for entry in ours)) or "–",
                *(_mean(list(_of(here, model).values()), "accuracy", scale=100) for model in models),
                *(_mean(list(_of(ours, draft).values()), "teacher", scale=100) for draft in models if draft in OURS),
            ]
        )
    teachers = [f"teacher of {draft}" for draft in models if draft in OURS]
    headings = ["set", "rows", "seeds", "shipped", *models, *teachers]
    return table(headings, lines, words=["set", "shipped"])


def lost(entries: Sequence[Entry]) -> str:
    """Where a rival of the same speed class is significantly better than what was shipped."""
    ours = {model: _of(entries, model) for model in OURS}
    found = [
        f"- {entry['name']}, {entry['train_rows']:,} rows, seed {entry['seed']}: {entry['model']} "
        f"{100 * entry['accuracy']:.1f}, {OURS[draft]} {100 * own['accuracy']:.1f} (McNemar p = {p:.3f})"
        for entry in entries
        for draft, p in entry.get("mcnemar_p", {}).items()
        if (own := ours[draft].get(_case(entry))) is not None
        and (entry["microseconds"] is None or entry["microseconds"] < FAST)
        and entry["accuracy"] > own["accuracy"]
        and p < SIGNIFICANT
    ]
    said = "Rivals below a millisecond, or without a measured time, that are significantly better (McNemar, 5 %)"
    return "\n".join([f"{said} than the shipped model:\n", *(found or ["none."])])


def _draw(entries: Sequence[Entry], cuts: Sequence[str]) -> None:
    """Mean accuracy against the number of training rows, a line for each model that all cuts have."""
    models = [
        model for model in _models(entries) if {entry["cut"] for entry in _of(entries, model).values()} == {*cuts}
    ]
    with drawing():
        figure, axes = canvas(xlabel="training rows", ylabel="mean accuracy on test (%)", width=7.2, height=4.2)
        for model, colour in zip(models, [COLOURS["student"], *PALETTE], strict=False):
            own = _of(entries, model).values()
            heights = [100 * mean(entry["accuracy"] for entry in own if entry["cut"] == cut) for cut in cuts]
            axes.plot(range(len(cuts)), heights, marker="o", color=colour, label=OURS.get(model, model))
        axes.set_xticks(range(len(cuts)), ["all" if cut == "all" else f"{int(cut):,}" for cut in cuts])
        legend(axes)
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(PICTURE, format="svg", metadata={"Date": None})  # the same file on every day
