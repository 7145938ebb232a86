"""What was found while reading the corpus: the contents of corpus.json, and the lines that are printed."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from limbeck.corpus.balance import LARGEST_WEIGHT, balance_lines, weigh_classes
from limbeck.corpus.labelled import Classes, LabelledRows, find_other_separator
from limbeck.corpus.scores import score_lines
from limbeck.corpus.source import CorpusSource
from limbeck.errors import some
from limbeck.progress import Reporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.text.language import language_code


@dataclass(frozen=True)
class SplitOverlap:
    """How many rows of a held-out split appear in train."""

    rows: int  # of the split
    found: int  # rows with the same folded text as a training row
    verbatim: int  # rows with exactly the same text as a training row


@dataclass(frozen=True)
class Overlap:
    """The overlap of the held-out splits with train, and the positions of the training rows that overlap."""

    splits: dict[str, SplitOverlap]
    train_positions: list[int]


def find_overlap(train: LabelledRows, held_out: Mapping[str, LabelledRows]) -> Overlap:
    """Compare dev and test with train, ignoring case, white space and width."""
    exact, folded = set(train.exact_keys), set(train.folded_keys)
    splits = {
        name: SplitOverlap(
            rows=len(rows),
            found=sum(key in folded for key in rows.folded_keys),
            verbatim=sum(key in exact for key in rows.exact_keys),
        )
        for name, rows in held_out.items()
    }
    unwanted = {key for rows in held_out.values() for key in rows.folded_keys}
    return Overlap(splits, [at for at, key in enumerate(train.folded_keys) if key in unwanted])


@dataclass(frozen=True)
class Repeats:
    """Repeated texts within train."""

    duplicates: int  # rows whose folded text an earlier row has
    conflicts: int  # folded texts that appear with two or more labels


def find_repeats(train: LabelledRows) -> Repeats:
    """Count training rows that repeat a text, and texts whose labels contradict each other."""
    labels_of = defaultdict(set)
    for key, label in zip(train.folded_keys, train.labels, strict=True):
        labels_of[key].add(label)
    conflicts = sum(len(labels) > 1 for labels in labels_of.values())
    return Repeats(duplicates=len(train) - len(labels_of), conflicts=conflicts)


WARNING = "  warning:"


@dataclass(frozen=True)
class Findings:
    """The splits as they will be used, where dev and test come from, and their overlap with train."""

    splits: Mapping[str, LabelledRows]
    origins: Mapping[str, str]
    overlap: Overlap
    removed: int  # training rows removed because they appear in dev or test
    cut: int  # training rows beyond max_rows
    repeats: Repeats


def facts_of(
    section: CorpusSection, *, source: CorpusSource, classes: Classes, findings: Findings, name: str
) -> dict[str, Any]:
    """The contents of corpus.json."""
    splits = findings.splits
    rows_per_label = {split: _rows_per_label(rows, classes) for split, rows in splits.items()}
    return {
        "name": name,
        "labels": classes.names,
        "labels_from": "columns" if isinstance(section.label, list) else None,
        "multi_label": section.multi_label,
        "likelier_separator": _likelier_separator(section, source),
        **_weights(section, rows_per_class=rows_per_label["train"], rows=len(splits["train"])),
        "language": language_code(splits["train"].texts) if section.language == "auto" else section.language,
        "pair": section.pair is not None,
        "rows": {split: len(rows) for split, rows in splits.items()},
        "rows_per_label": rows_per_label,
        "rows_without_label": {split: sum(not labels for labels in rows.labels) for split, rows in splits.items()},
        "rows_with_equal_values": source.ties,
        "sources": dict(source.names),
        "dev_from": findings.origins["dev"],
        "test_from": findings.origins.get("test"),
        "overlap": {
            "mode": section.overlap,
            "splits": {split: asdict(found) for split, found in findings.overlap.splits.items()},
            "train_rows_found": len(findings.overlap.train_positions),
            "train_rows_removed": findings.removed,
        },
        "duplicates_in_train": findings.repeats.duplicates,
        "conflicting_texts_in_train": findings.repeats.conflicts,
        "empty_texts": {split: rows.empty_count for split, rows in splits.items()},
        "without_text_dropped": {split: found.without_text for split, found in source.dropped.items()},
        "without_label_dropped": {split: found.without_label for split, found in source.dropped.items()},
        "unknown_in_dev": dict(source.unknown.get("dev", {})),
        "unknown_in_test": dict(source.unknown.get("test", {})),
        "unlabelled_left_out": source.unlabelled,
        "of_other_labels_left_out": source.of_other_labels,
        **({"beyond_max_rows_left_out": findings.cut} if findings.cut else {}),
        "label_names_unused": classes.unused_names,
        **({"out_of_scope": _out_of_scope(section.out_of_scope, source)} if section.out_of_scope else {}),
    }


def _out_of_scope(label: str, source: CorpusSource) -> dict[str, Any]:
    return {"label": label, "rows": {split: len(rows) for split, rows in source.foreign.items()}}


def _likelier_separator(section: CorpusSection, source: CorpusSource) -> str | None:
    """What seems to separate the labels in a column of several labels, if it is not the recipe's separator."""
    if not section.multi_label or isinstance(section.label, list):
        return None
    return find_other_separator(source.splits["train"].labels)


def _weights(section: CorpusSection, *, rows_per_class: Mapping[str, int], rows: int) -> dict[str, Any]:
    weights = weigh_classes(
        section.class_weights, rows_per_class=rows_per_class, rows=rows, is_multi_label=section.multi_label
    )
    may_be_capped = section.multi_label and section.class_weights == "balanced"
    capped = [name for name, count in rows_per_class.items() if 0 < count * LARGEST_WEIGHT < rows - count]
    return {"class_weights": weights, "class_weights_capped": capped if may_be_capped else []}


def _rows_per_label(rows: LabelledRows, classes: Classes) -> dict[str, int]:
    counts: Counter[int] = Counter()
    for labels, times in Counter(rows.labels).items():  # raw labels of the same class count once in a row
        known = {classes.class_of[label] for label in labels if label in classes.class_of}
        counts.update(dict.fromkeys(known, times))
    return {name: counts[number] for number, name in enumerate(classes.names)}


def report_findings(facts: Mapping[str, Any], classes: Classes, *, reporter: Reporter) -> None:
    """Print a summary of the corpus in a few lines; what is suspicious as a warning."""
    sizes = " · ".join(f"{split} {count:,}" for split, count in facts["rows"].items())
    is_score = "scale" in facts
    kind = f"{', pairs' if facts['pair'] else ''}{', several labels a row' if facts['multi_label'] else ''}"
    cut = f"; dev {facts['dev_from']}" if facts["dev_from"].startswith("cut") else ""
    what = "a score each" if is_score else f"classes: {some(classes.names, most=6)}"
    reporter.note(f"  {sizes} rows; {what}; {facts['language']}{kind}{cut}")
    if facts["duplicates_in_train"] or facts["conflicting_texts_in_train"]:
        reporter.note(
            f"  {facts['duplicates_in_train']:,} rows of train repeat the text of an earlier one; "
            f"{facts['conflicting_texts_in_train']:,} texts appear there with different "
            f"{'scores' if is_score else 'labels'}"
        )
    _report_overlap(facts["overlap"], reporter)
    _report_names(classes, reporter)
    for line in score_lines(facts) if is_score else balance_lines(facts):
        reporter.note(line, style="warning" if line.startswith(WARNING) else "")
    if separator := facts["likelier_separator"]:
        reporter.note(
            f"{WARNING} almost no row has several labels, but '{separator}' would split them into recurring names; "
            f'if it separates labels, set label_separator = "{separator}" in [corpus]',
            style="warning",
        )
    if empty := sum(facts["empty_texts"].values()):
        reporter.note(f"{WARNING} {empty:,} rows have an empty text", style="warning")
    _report_unknown(facts, reporter)
    _report_dropped(facts, reporter)
    if outside := facts.get("out_of_scope"):
        fitting, judged = outside["rows"]["dev"], outside["rows"]["test"]
        reporter.note(
            f"  {fitting + judged:,} rows are out of scope ({outside['label']}): {fitting:,} to fit a threshold, "
            f"{judged:,} to judge it"
        )


def _report_dropped(facts: Mapping[str, Any], reporter: Reporter) -> None:
    for what in ("text", "label"):
        counts = [f"{count:,} of {split}" for split, count in facts[f"without_{what}_dropped"].items() if count]
        if counts:
            reporter.note(f"  rows without {what} dropped: {', '.join(counts)}")
    if facts["unlabelled_left_out"]:
        reporter.note(f"  {facts['unlabelled_left_out']:,} rows without a label dropped")
    if facts["of_other_labels_left_out"]:
        reporter.note(f"  {facts['of_other_labels_left_out']:,} rows with labels not in only_labels dropped")


def _report_overlap(overlap: Mapping[str, Any], reporter: Reporter) -> None:
    for split, found in overlap["splits"].items():
        counts = (
            f"{found['found']:,} of {found['rows']:,} {split} rows appear in train ({found['verbatim']:,} verbatim)"
        )
        if found["found"] and overlap["mode"] == "remove":
            reporter.note(f"  {counts}; {overlap['train_rows_removed']:,} rows removed from train")
        elif found["found"]:
            reporter.note(
                f'{WARNING} {counts}; overlap = "remove" in [corpus] removes them from train', style="warning"
            )


def _report_unknown(facts: Mapping[str, Any], reporter: Reporter) -> None:
    for split in ("dev", "test"):
        if not (unknown := facts[f"unknown_in_{split}"]):
            continue
        names = some([f"{name} × {count:,}" for name, count in unknown.items()], most=6)
        result = "these rows are dropped" if split == "dev" else "these rows are judged as wrong"
        if facts["multi_label"]:
            result = "they are ignored, and the rows judged by their other labels"
        reporter.note(f"{WARNING} labels of {split} that train does not have: {names}; {result}", style="warning")


def _report_names(classes: Classes, reporter: Reporter) -> None:
    if classes.unused_names:
        unused = some(classes.unused_names)
        reporter.note(f"{WARNING} label_names has {unused}, which no training row has", style="warning")
    if classes.unnamed:
        reporter.note(f"{WARNING} label_names has no name for {some(classes.unnamed)}", style="warning")
