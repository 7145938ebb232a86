"""Finding flipped labels: the ranking of `limbeck review` beside cleanlab's, on the same out-of-fold probabilities.

    pip install --target FOLDER --no-deps cleanlab
    LIMBECK_DATA=path/to/data PYTHONPATH=FOLDER python benchmarks/review_labels.py [--rows 10000] [--out FILE]
    python benchmarks/review_labels.py --write-page

A sample of SST-2's train; 5 % of its labels are flipped, another 5 % with each seed. The rows are judged as the command
judges them: five parts, TF-IDF with a linear classifier and a linear head on the vectors of the frozen encoder
all-MiniLM-L6-v2 (from the extra `demo`). Average precision is that of the flipped rows in the ranking of all rows.
cleanlab ranks the same probabilities: its label quality scores, and its list of label issues with all other rows behind
it in the order of their scores. SST-2 has wrong labels of its own, which count as right here: for no ranking is it 100.
--write-page puts the table into docs/review.md.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import numpy.typing as npt

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import table  # noqa: E402
from limbeck.artifacts.corpus import Corpus, save_corpus  # noqa: E402
from limbeck.artifacts.rows import Rows  # noqa: E402
from limbeck.progress import TerminalReporter  # noqa: E402
from limbeck.recipe.teacher import EncoderTeacher  # noqa: E402
from limbeck.review.confident import doubts  # noqa: E402
from limbeck.review.folds import Logits, combined, out_of_fold, parts_of  # noqa: E402
from limbeck.review.views import Vectors, frozen_vectors, vectors_view, words_view  # noqa: E402
from limbeck.runtime.probabilities import probabilities_of  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT, PAGE = ROOT / "benchmarks" / "results" / "review_labels.json", ROOT / "docs" / "review.md"
MARKED = re.compile(r"<!-- flipped -->.*?<!-- /flipped -->", re.DOTALL)
ENCODER, LABELS, FLIPPED, PARTS = "all-MiniLM-L6-v2", ["negative", "positive"], 0.05, 5
OURS, PLAIN = "limbeck review", "plain self-confidence"
SCORES, ISSUES = "cleanlab, label quality scores", "cleanlab, find_label_issues first"
VIEWS = {"words": "words (--no-vectors)", "vectors": "vectors alone", "all": "words and vectors"}

Labels = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--out", type=Path, default=RESULT)
    options.add_argument("--write-page", action="store_true")
    chosen = options.parse_args()
    if chosen.write_page:
        page = PAGE.read_text(encoding="utf-8")
        lines = page_table(json.loads(RESULT.read_text(encoding="utf-8")))
        PAGE.write_text(
            MARKED.sub(lambda _: f"<!-- flipped -->\n\n{lines}\n\n<!-- /flipped -->", page), encoding="utf-8"
        )
        return
    if not os.environ.get("LIMBECK_DATA"):
        sys.exit("LIMBECK_DATA names no folder: LIMBECK_DATA=path/to/data python benchmarks/review_labels.py")
    found = measured(rows=chosen.rows, seeds=chosen.seeds)
    chosen.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(*, rows: int, seeds: int) -> dict[str, Any]:
    """Everything that is in the file of results."""
    import cleanlab

    with tempfile.TemporaryDirectory() as scratch:
        corpus = sample(Path(scratch), rows=rows)
        train = corpus.splits["train"]
        section, started = EncoderTeacher(checkpoint=ENCODER), time.monotonic()
        with TerminalReporter().bar("vectors", total=len(train), unit="rows") as bar:
            vectors = frozen_vectors(section, corpus, train, work=Path(scratch), bar=bar)
        seconds = time.monotonic() - started
        runs = [one_seed(corpus, vectors, seed=seed, work=Path(scratch) / str(seed)) for seed in range(seeds)]
    return {
        "data": f"SST-2 train, {len(train):,} rows drawn with seed 0",
        "flipped": FLIPPED,
        "parts": PARTS,
        "encoder": ENCODER,
        "cleanlab": cleanlab.__version__,
        "machine": machine_facts(threads=1),
        "seconds_for_vectors": round(seconds, 1),
        "runs": runs,
    }


def sample(folder: Path, *, rows: int) -> Corpus:
    """The same rows for all seeds, with the labels that SST-2 gives them."""
    lines = (Path(os.environ["LIMBECK_DATA"]) / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]
    drawn = np.random.default_rng(0).permutation(len(lines))[:rows].tolist()
    cells = [lines[at].split("\t") for at in drawn]
    train = Rows.of(
        ids=[f"train-{at}" for at in drawn],
        texts=[text.strip() for text, _ in cells],
        labels=[int(label) for _, label in cells],
    )
    save_corpus(folder, splits={"train": train, "dev": train.select([0, 1])}, facts={**FACTS})
    return Corpus(folder)


FACTS: Mapping[str, Any] = {"labels": LABELS, "pair": False, "language": "en", "class_weights": None}


def one_seed(corpus: Corpus, vectors: Vectors, *, seed: int, work: Path) -> dict[str, Any]:
    """Flip labels, judge all rows, and rank them in every way."""
    clean = corpus.splits["train"]
    is_flipped = np.zeros(len(clean), dtype=np.bool_)
    is_flipped[np.random.default_rng(seed + 1).permutation(len(clean))[: round(FLIPPED * len(clean))]] = True
    given: Labels = np.where(is_flipped, 1 - clean.labels, clean.labels)
    rows = Rows.of(ids=clean.ids, texts=clean.texts, labels=given)
    part, started = parts_of(rows, parts=PARTS), time.monotonic()
    views = {"words": words_view(rows, corpus), "vectors": vectors_view(vectors, given, classes=2)}
    with TerminalReporter().bar(f"seed {seed}", total=2 * PARTS, unit="models") as bar:
        logits = {name: out_of_fold(view, part, name=name, work=work, bar=bar) for name, view in views.items()}
    everywhere = np.ones(len(rows), dtype=np.bool_)
    together = {name: combined({name: one}, given, is_train=everywhere) for name, one in logits.items()}
    together["all"] = combined(logits, given, is_train=everywhere)
    return {
        "seed": seed,
        "seconds": round(time.monotonic() - started, 1),
        "views": {name: judged(one, given, clean.labels, is_flipped) for name, one in together.items()},
    }


def judged(logits: Logits, given: Labels, true: Labels, is_flipped: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Average precision of each ranking of the same probabilities, and what the list of the command holds."""
    probabilities = probabilities_of(logits, multi_label=False).astype(np.float64)
    found = doubts(probabilities, given)
    flagged = found.is_flagged
    return {
        "accuracy": float((probabilities.argmax(axis=1) == true).mean()),
        "average_precision": {
            name: average_precision(order, is_flipped) for name, order in rankings(probabilities, given).items()
        },
        "listed": int(flagged.sum()),
        "precision_of_list": float(is_flipped[flagged].mean()),
        "recall_of_list": float(is_flipped[flagged].sum() / is_flipped.sum()),
        "precision_of_first_100": float(is_flipped[found.order[:100]].mean()),
    }


def rankings(probabilities: Floats, given: Labels) -> dict[str, Labels]:
    """All rows by every method, those whose label looks wrong first."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    scores = get_label_quality_scores(given, probabilities)
    is_issue = find_label_issues(given, probabilities, n_jobs=1)
    return {
        OURS: doubts(probabilities, given).order,
        SCORES: np.argsort(scores, kind="stable"),
        ISSUES: np.lexsort((scores, ~is_issue)),
        PLAIN: np.argsort(probabilities[np.arange(len(given)), given], kind="stable"),
    }


def average_precision(order: Labels, is_wanted: npt.NDArray[np.bool_]) -> float:
    """The mean, over the wanted rows, of the precision of the ranking down to each."""
    hits = is_wanted[order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def page_table(found: Mapping[str, Any]) -> str:
    """Mean and standard deviation over the seeds, in per cent."""
    names = [OURS, SCORES, ISSUES, PLAIN]
    lines = [
        [
            VIEWS[view],
            *(_spread([run["views"][view]["average_precision"][name] for run in found["runs"]]) for name in names),
        ]
        for view in VIEWS
    ]
    return table(["probabilities", *names], lines)


def _spread(values: list[float]) -> str:
    return f"{100 * mean(values):.1f} ± {100 * stdev(values):.1f}"


if __name__ == "__main__":
    main()
