"""Checks of the labelled rows: overlap between splits, texts with several labels, classes with few rows."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.artifacts.corpus import UNEVEN, Corpus, rarest_and_most_frequent
from limbeck.artifacts.rows import FIRST_UNKNOWN, Rows, folded_key
from limbeck.doctor.finding import Finding, Level
from limbeck.doctor.known import Known, NotThere
from limbeck.errors import some

SEVERE_OVERLAP = 0.01  # share of a held-out split from which its numbers are worthless
MANY_CONTRADICTIONS = 0.005  # share of all rows whose text also appears with other labels
MIN_ROWS = 10  # per class, in train
MAX_QUOTE = 60


def overlap(known: Known) -> list[Finding]:
    """Rows of dev and test that appear in train, and rows of test that appear in dev."""
    facts = known.corpus.facts["overlap"]
    findings = [
        _in_train(split, found, mode=facts["mode"], removed=facts["train_rows_removed"])
        for split, found in facts["splits"].items()
        if found["found"]
    ]
    return [*findings, *_in_both(known.corpus)]


def _in_train(split: str, found: Mapping[str, int], *, mode: str, removed: int) -> Finding:
    rows = f"{found['found']:,} of {found['rows']:,} {split} rows"
    evidence = match_counts(found)
    if mode == "remove":
        evidence += f"; {removed:,} training rows were removed"
        return Finding("overlap", "note", f"{rows} were in train", evidence, "Nothing to do: they were removed.")
    return Finding(
        "overlap",
        level_of_leak(found["found"] / found["rows"]),
        f"{rows} appear in train",
        evidence,
        'Results look better than they are: set overlap = "remove" in [corpus].',
    )


def match_counts(found: Mapping[str, int]) -> str:
    """How many rows match exactly, and how many except for some difference."""
    counts = {
        "verbatim": found["verbatim"],
        "except for case, width and spaces": found["found"] - found["verbatim"],
        "more nearly the same": found.get("near", 0),
    }
    return ", ".join(f"{count:,} {how}" for how, count in counts.items() if count)


def level_of_leak(share: float) -> Level:
    """An error from 1 % of the rows on, a warning below."""
    return "error" if share >= SEVERE_OVERLAP else "warning"


def _in_both(corpus: Corpus) -> Iterator[Finding]:
    """Dev chooses the epoch, so test rows that appear there are no longer unseen."""
    if "test" not in corpus.splits:
        return
    dev, test = (list(_keys(corpus.splits[split])) for split in ("dev", "test"))
    shared = sum(map(set(dev).__contains__, test))
    if shared:
        yield Finding(
            "overlap",
            "warning",
            f"{shared:,} of {len(test):,} test rows appear in dev",
            "the same except for case, width and spaces; dev chooses the epoch that is evaluated on test",
            "Remove them from one of the two files.",
        )


def contradictions(known: Known) -> list[Finding]:
    """Texts that appear in the corpus with different labels."""
    corpus = known.corpus
    labels_of: dict[bytes, dict[tuple[int, ...], int]] = defaultdict(lambda: defaultdict(int))
    for rows in corpus.splits.values():
        for key, label in zip(_keys(rows), _labels(rows), strict=True):
            labels_of[key][label] += 1
    contradictory = {key: counts for key, counts in labels_of.items() if len(counts) > 1}
    if not contradictory:
        return []
    rows_affected, rows_in_all = (sum(map(_total, group.values())) for group in (contradictory, labels_of))
    share = rows_affected / rows_in_all
    what = "labels" if corpus.task.has_classes else "scores"
    return [
        Finding(
            "contradictions",
            "warning" if share >= MANY_CONTRADICTIONS else "note",
            f"{len(contradictory):,} texts appear in the corpus with different {what}",
            f"{rows_affected:,} of {rows_in_all:,} rows ({share:.1%}); {_example(corpus, contradictory)}",
            "Choose one for each, or drop these rows: no model can be right on both.",
        )
    ]


def _total(counts: Mapping[tuple[int, ...], int]) -> int:
    return sum(counts.values())


def _example(corpus: Corpus, contradictory: Mapping[bytes, Mapping[tuple[int, ...], int]]) -> str:
    """One of the texts, with its labels."""
    for rows in corpus.splits.values():
        for text, key in zip(rows.texts, _keys(rows), strict=True):
            if key in contradictory:
                names = [" + ".join(_names(label, corpus)) or "none" for label in sorted(contradictory[key])]
                return f"such as “{quoted(text)}”: {some(names)}"
    return ""


def quoted(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTE else line[: MAX_QUOTE - 1] + "…"


def _names(label: tuple[int, ...], corpus: Corpus) -> list[str]:
    if corpus.scale is not None:
        return [f"{corpus.scale.mean + corpus.scale.sd * label[0]:.4g}"]
    if corpus.is_multi_label:
        return [name for name, mark in zip(corpus.labels, label, strict=True) if mark]
    return [corpus.labels[label[0]] if label[0] >= 0 else corpus.unknown_labels[FIRST_UNKNOWN - label[0]]]


def balance(known: Known) -> list[Finding]:
    """Classes with few rows, classes that are much larger than others, and classes missing from the judged split."""
    corpus = known.corpus
    if not corpus.task.has_classes:
        raise NotThere("rows have scores, not classes")
    counts: Mapping[str, int] = corpus.facts["rows_per_label"]["train"]
    return [*_rare(counts), *_uneven(counts, weighted=corpus.class_weights is not None), *_unjudged(known)]


def _rare(counts: Mapping[str, int]) -> Iterator[Finding]:
    if rare := [f"{name} {count:,}" for name, count in counts.items() if count < MIN_ROWS]:
        yield Finding(
            "balance",
            "warning",
            f"{len(rare):,} of {len(counts):,} classes have fewer than {MIN_ROWS} training rows",
            some(rare, most=6),
            "Label more rows of them, or merge them with another class (label_names in [corpus]).",
        )


def _uneven(counts: Mapping[str, int], *, weighted: bool) -> Iterator[Finding]:
    if (uneven := rarest_and_most_frequent(counts)) is None:
        return
    rarest, most = uneven
    yield Finding(
        "balance",
        "note" if weighted else "warning",
        f"the largest class has more than {UNEVEN} times the rows of the smallest",
        f"{most} {counts[most]:,}, {rarest} {counts[rarest]:,} training rows",
        "Nothing to do: class_weights compensates for it."
        if weighted
        else 'Set class_weights = "balanced" in [corpus], and judge by macro F1 rather than by accuracy.',
    )


def _unjudged(known: Known) -> Iterator[Finding]:
    """Classes without a row in the judged split."""
    corpus, section = known.corpus, known.recipe.corpus
    is_given = section.dev or section.test
    place = corpus.judged_split if is_given else "a dev of your own (corpus.dev)"
    instead = f"omit {corpus.judged_split}: a part of train is used then" if is_given else "label more of them"
    counts: Mapping[str, int] = corpus.facts["rows_per_label"][corpus.judged_split]
    if missing := [name for name, count in counts.items() if not count]:
        yield Finding(
            "balance",
            "warning",
            f"no {corpus.judged_split} row has {some(missing)}",
            f"{len(missing):,} of {len(counts):,} classes; the report cannot show how well they are learned",
            f"Put rows of every class into {place}, or {instead}.",
        )


def _keys(rows: Rows) -> Iterator[bytes]:
    """The content key of every row, which ignores case, width and spaces."""
    for part in rows.slices(1 << 14):
        pairs: Any = part.pairs or [None] * len(part)
        yield from (folded_key(text, pair) for text, pair in zip(part.texts, pairs, strict=True))


def _labels(rows: Rows) -> Iterator[tuple[int, ...]]:
    """The label of every row, or its set of labels, as numbers that can be compared."""
    labels = rows.labels
    return (tuple(label) if labels.ndim == 2 else (label,) for label in labels.tolist())
