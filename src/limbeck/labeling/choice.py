"""Chooses the labelled transfer rows that the student is trained on, by the teacher's answers."""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.chosen_rows import ChosenRows, Places, save_chosen_rows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.mapped import Matrix
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import DataError
from limbeck.labeling.summary import chosen as teacher_classes
from limbeck.labeling.summary import entropies, probabilities
from limbeck.progress import Reporter
from limbeck.recipe.transfer import Transfer

UNSURE = 1.5  # times the teacher's mean entropy on dev: above that, the text is probably of another kind


class NothingChosen(DataError):
    """No row of the transfer text has a sufficiently confident answer of the teacher."""

    def __init__(self, *, rows: int, covered: int) -> None:
        super().__init__(
            "no row of the transfer text can be used for training",
            found=f"{rows:,} rows were gathered, {covered:,} of them have an answer of the teacher",
            advice="Lower least_confidence in [transfer], or give other text.",
        )


def choose_rows(
    section: Transfer | None,
    *,
    corpus: Corpus,
    parts: Mapping[str, TransferText],
    labels: TeacherLabels,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> ChosenRows:
    """Choose among the gathered text as `[transfer]` says; copies are kept, except those of rows that were not chosen.

    `parts` are by name, in this order: "transfer" and "augmented". Rows without an answer of the teacher are never
    chosen.
    """
    with written_atomically(out, kind="chosen", key=key) as scratch:
        places: dict[str, Places | None] = {}
        quality: dict[str, Any] = {"teacher_entropy": _corpus_entropy(corpus, labels)}
        for name, text in parts.items():
            labelled = _LabelledPart.of(text.rows, labels, multi_label=corpus.is_multi_label, scale=corpus.scale)
            if name == "transfer":
                places[name] = _chosen(section, labelled, corpus=corpus, labels=labels)
            else:
                gathered = parts.get("transfer")
                places[name] = _copies_of_chosen(text, labelled, gathered=gathered, chosen=places.get("transfer"))
            quality[name] = _quality(text, labelled, places[name], corpus=corpus, labels=labels)
        counts = {name: quality[name]["rows"] for name in parts}
        save_chosen_rows(scratch, places=places, rows=counts, quality=quality)
    _report(quality, reporter)
    return ChosenRows(out)


class _LabelledPart:
    """The rows of one part that the teacher answered, and its logits."""

    def __init__(
        self,
        rows: Rows,
        covered: Places,
        logits: npt.NDArray[np.float32],
        *,
        multi_label: bool,
        scale: ScoreScale | None,
    ) -> None:
        self.rows, self.covered, self.logits, self.multi_label = rows, covered, logits, multi_label
        self.scale = scale  # None: they are logits of classes

    @classmethod
    def of(cls, rows: Rows, labels: TeacherLabels, *, multi_label: bool, scale: ScoreScale | None) -> "_LabelledPart":
        ids = rows.table["id"]
        covered = np.flatnonzero(labels.covers(ids))
        return cls(rows, covered, labels.for_rows(ids.take(covered)), multi_label=multi_label, scale=scale)

    @property
    def confidence(self) -> npt.NDArray[np.float64]:
        """(covered rows): the probability of the most probable class; multi-label: the mean over classes of
        max(p, 1 - p)."""
        found = probabilities(self.logits, multi_label=self.multi_label)
        return np.asarray(np.maximum(found, 1 - found).mean(axis=1) if self.multi_label else found.max(axis=1))


def _chosen(
    section: Transfer | None, labelled: _LabelledPart, *, corpus: Corpus, labels: TeacherLabels
) -> Places | None:
    """Positions of the chosen rows in order; None for all rows of the part."""
    candidates = np.arange(len(labelled.covered))
    if section is not None and section.least_confidence > 0:
        candidates = candidates[labelled.confidence[candidates] >= section.least_confidence]
    if section is not None and section.rows is not None and section.rows < len(candidates):
        candidates = _best(section, labelled, candidates, corpus=corpus, labels=labels)
    if len(labelled.covered) and not len(candidates):
        raise NothingChosen(rows=len(labelled.rows), covered=len(labelled.covered))
    return None if len(candidates) == len(labelled.rows) else labelled.covered[np.sort(candidates)]


def _copies_of_chosen(
    text: TransferText, labelled: _LabelledPart, *, gathered: TransferText | None, chosen: Places | None
) -> Places | None:
    """Positions of the copies, except those of gathered rows that were not chosen; None for all copies."""
    kept = labelled.covered
    if gathered is not None and chosen is not None and text.sources is not None:
        is_dropped = np.ones(len(gathered.rows), dtype=np.bool_)
        is_dropped[chosen] = False
        dropped = gathered.rows.table["id"].filter(is_dropped).combine_chunks()
        is_orphan = pc.is_in(text.sources["source"].take(kept), value_set=dropped).to_numpy()
        kept = kept[~is_orphan]
    return None if len(kept) == len(labelled.rows) else kept


def _best(
    section: Transfer, labelled: _LabelledPart, candidates: Places, *, corpus: Corpus, labels: TeacherLabels
) -> Places:
    """As many of the candidates as the recipe asks for."""
    assert section.rows is not None
    order = _drawn(labelled.rows, labelled.covered[candidates], seed=section.seed)
    match section.choice:
        case "random":
            return candidates[order[: section.rows]]
        case "balanced":
            classes = teacher_classes(labelled.logits[candidates], multi_label=labelled.multi_label)
            return candidates[_in_turn(classes, order, rows=section.rows)]
        case "nearest":
            near = nearness(
                labels, ids=labelled.rows.table["id"].take(labelled.covered[candidates]), corpus=corpus.splits["train"]
            )
            return candidates[np.argsort(-near, kind="stable")[: section.rows]]
        case _:
            assert_never(section.choice)


def _drawn(rows: Rows, places: Places, *, seed: int) -> Places:
    """A random order of these rows that depends only on seed and texts: content keys are random numbers already."""
    mask = np.frombuffer(blake2b(str(seed).encode(), digest_size=8).digest(), dtype="<u8")[0]
    return np.argsort(rows.keys[places, 0] ^ mask, kind="stable")


def _in_turn(classes: npt.NDArray[np.bool_], order: Places, *, rows: int) -> Places:
    """Round robin over the classes, each giving its next row in the order, until there are enough.

    A row of several classes counts for the rarest of them; rows without any class count as a class of their own. If a
    class runs out, the others continue.
    """
    counts = classes.sum(axis=0)
    rarity = np.where(classes, counts[np.newaxis], np.iinfo(np.int64).max)
    own = np.where(classes.any(axis=1), rarity.argmin(axis=1), classes.shape[1])
    rank = np.empty(len(order), dtype=np.int64)
    for number in range(classes.shape[1] + 1):
        members = order[own[order] == number]
        rank[members] = np.arange(len(members))
    place_in_order = np.empty(len(order), dtype=np.int64)
    place_in_order[order] = np.arange(len(order))
    return np.lexsort((place_in_order, rank))[:rows]


def _corpus_entropy(corpus: Corpus, labels: TeacherLabels) -> dict[str, float]:
    """The teacher's mean entropy on each split of the corpus, which transfer text is compared with; of scores none."""
    found: dict[str, float] = {}
    if not corpus.task.has_classes:
        return found
    for split, rows in corpus.splits.items():
        ids = rows.table["id"]
        logits = labels.for_rows(ids.filter(labels.covers(ids)))
        if len(logits):
            found[split] = float(entropies(logits, multi_label=corpus.is_multi_label).mean())
    return found


def _quality(
    text: TransferText, labelled: _LabelledPart, places: Places | None, *, corpus: Corpus, labels: TeacherLabels
) -> dict[str, Any]:
    """Statistics of the chosen rows of one part."""
    taken = np.ones(len(labelled.covered), dtype=bool) if places is None else np.isin(labelled.covered, places)
    logits = labelled.logits[taken]
    if not len(logits):  # a file teacher has no answers for them, and the recipe says to skip such rows
        return {"labelled": 0, "rows": 0}
    if labelled.scale is not None:
        return _score_quality(text, labelled, taken, labels, scale=labelled.scale)
    balance = teacher_classes(logits, multi_label=labelled.multi_label).mean(axis=0)
    numbers: dict[str, Any] = {
        "labelled": len(labelled.covered),
        "rows": len(logits),
        "teacher_entropy": float(entropies(logits, multi_label=labelled.multi_label).mean()),
        "teacher_confidence": float(labelled.confidence[taken].mean()),
        "teacher_balance": {name: float(share) for name, share in zip(corpus.labels, balance, strict=True)},
    }
    return {**numbers, **_copies(text, labelled, labels)} if text.sources is not None else numbers


def _score_quality(
    text: TransferText,
    labelled: _LabelledPart,
    taken: npt.NDArray[np.bool_],
    labels: TeacherLabels,
    *,
    scale: ScoreScale,
) -> dict[str, Any]:
    """The scores that the teacher gives; of copies also how far they are from those of the rows they were made of."""
    scores = scale.scores(labelled.logits[taken, 0], clip=False)
    described = {"mean": float(scores.mean()), "sd": float(scores.std())}
    numbers: dict[str, Any] = {"labelled": len(labelled.covered), "rows": len(scores), "teacher_scores": described}
    if text.sources is None:
        return numbers
    sources = text.sources["source"].take(labelled.covered)
    known = labels.covers(sources)
    shifts = np.abs(labelled.logits[known, 0] - labels.for_rows(sources.filter(known))[:, 0]) * scale.sd
    return {**numbers, "score_shift": _mean(shifts)}


def _copies(text: TransferText, labelled: _LabelledPart, labels: TeacherLabels) -> dict[str, Any]:
    """How often the teacher gives a copy another label than its source row; in total and for each method."""
    assert text.sources is not None
    sources = text.sources["source"].take(labelled.covered)
    known = labels.covers(sources)
    before = teacher_classes(labels.for_rows(sources.filter(known)), multi_label=labelled.multi_label)
    flips = (before != teacher_classes(labelled.logits[known], multi_label=labelled.multi_label)).any(axis=1)
    entropy = entropies(labelled.logits[known], multi_label=labelled.multi_label)
    changed = Matrix(text.sources["changes"], dtype=np.int32).at(labelled.covered[known]) > 0
    by_method = [
        {
            "kind": method["kind"],
            "label_flips": _mean(flips[changed[:, number]]),
            "teacher_entropy": _mean(entropy[changed[:, number]]),
        }
        for number, method in enumerate(text.quality.get("methods", []))
    ]
    return {"label_flips": _mean(flips), "methods": by_method}


def _mean(values: npt.NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def _report(quality: Mapping[str, Any], reporter: Reporter) -> None:
    own = quality["teacher_entropy"].get("dev")
    for name, numbers in quality.items():
        if name == "teacher_entropy" or not numbers["rows"]:
            continue
        if scores := numbers.get("teacher_scores"):
            shift = numbers.get("score_shift")
            moved = "" if shift is None else f", {shift:.3g} from their source's on average"
            reporter.note(
                f"  {name}: {numbers['rows']:,} of {numbers['labelled']:,} labelled rows; the teacher's scores there: "
                f"mean {scores['mean']:.4g}, standard deviation {scores['sd']:.3g}{moved}"
            )
            continue
        flipped = numbers.get("label_flips")
        flips = "" if flipped is None else f", another label than their source's {flipped:.1%}"
        reporter.note(
            f"  {name}: {numbers['rows']:,} of {numbers['labelled']:,} labelled rows; the teacher's entropy there is "
            f"{numbers['teacher_entropy']:.2f}{'' if own is None else f', on dev {own:.2f}'}{flips}"
        )
        if name == "transfer" and own is not None and numbers["teacher_entropy"] > UNSURE * own:
            reporter.note(
                "  the teacher is far less confident on the transfer text than on dev, as on general text; text of the "
                "same kind would teach more, and `limbeck transfer RUN` shows what there is"
            )


MOST_NEIGHBOURS = 2000  # training rows to compare with; evenly spread over train
ROWS_AT_A_TIME = 8192


def nearness(labels: TeacherLabels, *, ids: Any, corpus: Rows) -> npt.NDArray[np.float32]:
    """(ids): cosine similarity of each text's features with those of the most similar training row.

    All features share a common direction without information: the mean over the training rows is subtracted first.
    """
    train = corpus.table["id"].take(np.linspace(0, len(corpus) - 1, min(MOST_NEIGHBOURS, len(corpus))).astype(np.int64))
    known = labels.features_for(train.filter(labels.covers(train))).astype(np.float32)
    mean = known.mean(axis=0)
    directions = unit(known - mean)
    found = np.empty(len(ids), dtype=np.float32)
    for start in range(0, len(ids), ROWS_AT_A_TIME):
        part = labels.features_for(ids.slice(start, ROWS_AT_A_TIME)).astype(np.float32)
        found[start : start + len(part)] = (unit(part - mean) @ directions.T).max(axis=1)
    return found


def unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each row scaled to length one; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
