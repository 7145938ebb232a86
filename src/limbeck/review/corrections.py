"""`--apply`: a corrected copy of a run's corpus from the csv files that a person edited, and a recipe that uses it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.report import Report, read_right_rows
from limbeck.artifacts.rows import Rows
from limbeck.corpus.labelled import name_classes
from limbeck.errors import DataError, PathUnusable, did_you_mean, in_shell, some
from limbeck.pipeline.labels import LabelledRun, labelled_run
from limbeck.recipe.load import load_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.toml import to_toml
from limbeck.review.run import label_separator
from limbeck.review.sheets import ID, LABEL, NEW_LABEL, PAIR, TEXT, read_sheet, write_sheet
from limbeck.review.wrong_labels import NO_LABELS, LabelNames

DROP = "(drop)"
OLD_LABEL = "old_label"
NOTHING_TO_DO = "Fill the column `new_label` of labels.csv, or `label` of next.csv, and give that file."


class CorrectionUnusable(DataError):
    """A row of a reviewed csv cannot be applied."""

    def __init__(self, *, path: Path, problems: Sequence[str], advice: str) -> None:
        self.problems = tuple(problems)
        super().__init__(f"'{path}' cannot be applied", found=some(problems, most=6), advice=advice)


@dataclass(frozen=True)
class Corrections:
    """What the reviewed files ask for."""

    labels: Mapping[str, str]  # row id → new label, or DROP
    added: Mapping[str, str]  # id of a row of the transfer text → its label


@dataclass(frozen=True)
class Applied:
    """What `--apply` has written."""

    recipe: Path
    files: dict[str, Path]
    counts: dict[str, int]  # changed, dropped, added


def apply_corrections(folder: Path, sheets: Sequence[Path], *, force: bool = False) -> Applied:
    """Write NAME-reviewed.toml beside the run, and the csv files of its splits, with every row's old label.

    All splits are written as they are in the run, so that dev and test stay the same rows.
    """
    run = labelled_run(folder)
    recipe = load_recipe(folder, locate=False).recipe
    corpus = run.corpus
    naming = LabelNames(corpus.labels, label_separator(recipe.corpus), corpus.unknown_labels, corpus.is_multi_label)
    asked = _asked(sheets, run, naming)
    name = f"{folder.resolve().name}-reviewed"
    beside = folder.resolve().parent if folder.name in ("", "..") else folder.parent
    places = {split: beside / f"{name}-{split}.csv" for split in corpus.splits}
    facts_path, recipe_path = (beside / f"{name}{end}" for end in ("-corrections.json", ".toml"))
    _refuse_taken([*places.values(), facts_path, recipe_path], force=force)
    written = {split: list(_rows(split, run, asked, naming)) for split in corpus.splits}
    _refuse_lost_classes(corpus, naming, written["train"], sheets[0])
    columns = [ID, TEXT, *([PAIR] if corpus.is_pair else []), LABEL, OLD_LABEL]
    numbers = _class_numbers(corpus.labels)
    for split, rows in written.items():
        write_sheet(places[split], columns, (_numbered(row, numbers, naming) for row in rows))
    counts = _counts(written, asked)
    facts = {"of": folder.resolve().name, **counts, "splits": _by_split(written), "before": _before(folder)}
    facts_path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    changed = _recipe(recipe, name, places, facts_path, separator=naming.separator, numbers=numbers)
    recipe_path.write_text(to_toml(changed), encoding="utf-8")
    return Applied(recipe_path, places, counts)


def _refuse_taken(paths: Sequence[Path], *, force: bool) -> None:
    for path in paths:
        if path.exists() and not force:
            advice = "Overwrite the files of the earlier correction with --force, or move them to another place."
            raise PathUnusable(path=str(path), reason="it already exists", advice=advice)


def _asked(sheets: Sequence[Path], run: LabelledRun, naming: LabelNames) -> Corrections:
    labels: dict[str, str] = {}
    added: dict[str, str] = {}
    known = {row_id for rows in run.corpus.splits.values() for row_id in rows.ids}
    for path in sheets:
        column = NEW_LABEL if NEW_LABEL in (rows := read_sheet(path) or [{}])[0] else LABEL
        filled = {row.get(ID, ""): value for row in rows if (value := row.get(column, "").strip())}
        target = labels if column == NEW_LABEL else added
        others = run.splits["transfer"].ids if column == LABEL and "transfer" in run.splits else []
        wanted = known if column == NEW_LABEL else set(others)
        if strangers := [row_id for row_id in filled if row_id not in wanted]:
            advice = f"Give a file of the review of this run: limbeck review {in_shell(run.folder)}"
            problems = [f"the run has no row '{row_id}'" for row_id in strangers]
            raise CorrectionUnusable(path=path, problems=problems, advice=advice)
        target.update({row_id: _label(value, naming) for row_id, value in filled.items()})
        _refuse_unknown(path, filled, naming)
    if not labels and not added:
        raise CorrectionUnusable(path=sheets[0], problems=["no row has a new label"], advice=NOTHING_TO_DO)
    return Corrections(labels, added)


def _label(value: str, naming: LabelNames) -> str:
    """As it is written into the corpus: several labels each once, in the order of the classes."""
    if value.casefold() == DROP or not naming.is_multi_label:
        return DROP if value.casefold() == DROP else value
    given = {part.strip() for part in value.split(naming.separator)}
    return naming.separator.join(name for name in naming.names if name in given)


def _refuse_unknown(path: Path, filled: Mapping[str, str], naming: LabelNames) -> None:
    problems = []
    for row_id, value in filled.items():
        if value.casefold() == DROP or (naming.is_multi_label and value == NO_LABELS):
            continue
        for part in value.split(naming.separator) if naming.is_multi_label else [value]:
            if part.strip() not in naming.names:
                problems.append(f"row '{row_id}': no class '{part.strip()}'{did_you_mean(part.strip(), naming.names)}")
    if problems:
        also = f" or {NO_LABELS} for a row without labels" if naming.is_multi_label else ""
        advice = f"Use a class of the run ({some(naming.names, most=8)}), {DROP} to leave a row out{also}."
        raise CorrectionUnusable(path=path, problems=problems, advice=advice)


def _rows(split: str, run: LabelledRun, asked: Corrections, naming: LabelNames) -> Iterator[dict[str, str]]:
    """The rows of a split after the corrections; train also has the rows that were labelled."""
    rows = run.corpus.splits[split]
    known = rows.is_labelled
    for at, row_id in enumerate(rows.ids):
        old = naming.of(rows.labels[at]) if known[at] else ""
        new = asked.labels.get(row_id, old)
        if known[at] and new != DROP:
            yield _row(rows, at, new, old)
    if split == "train" and asked.added:
        extra = run.splits["transfer"]
        for at, row_id in enumerate(extra.ids):
            if asked.added.get(row_id, DROP) != DROP:
                yield _row(extra, at, asked.added[row_id], "")


def _row(rows: Rows, at: int, label: str, old: str) -> dict[str, str]:
    pair = {PAIR: rows.pairs[at]} if rows.pairs is not None else {}
    plain = {LABEL: label, OLD_LABEL: old}
    return {ID: rows.ids[at], TEXT: rows.texts[at], **pair, **{k: _cell(v) for k, v in plain.items()}}


def _cell(label: str) -> str:
    return "" if label == NO_LABELS else label


def _refuse_lost_classes(corpus: Corpus, naming: LabelNames, train: Sequence[dict[str, str]], path: Path) -> None:
    separator = naming.separator if naming.is_multi_label else None
    left = {part for row in train for part in (row[LABEL].split(separator) if separator else [row[LABEL]])}
    labels = corpus.splits["train"].labels
    had = np.isin(np.arange(len(corpus.labels)), np.nonzero(labels)[1] if labels.ndim == 2 else labels)
    lost = [name for name, has_rows in zip(corpus.labels, had.tolist(), strict=True) if has_rows and name not in left]
    if lost:
        problems = [f"no row of train is left with the label '{name}'" for name in lost]
        advice = "Keep a row of each class; to give up a class, remove it with only_labels in [corpus]."
        raise CorrectionUnusable(path=path, problems=problems, advice=advice)


def _class_numbers(names: Sequence[str]) -> dict[str, str] | None:
    """The number of each class by its name; None where the names alone give the same order of classes."""
    order = name_classes(names, label_names={}).names
    return None if order == list(names) else {name: str(number) for number, name in enumerate(names)}


def _numbered(row: dict[str, str], numbers: Mapping[str, str] | None, naming: LabelNames) -> dict[str, str]:
    """With numbers in place of names of classes: the order of the classes stays that of the run."""
    if numbers is None:
        return row
    found = dict(row)
    for key in (LABEL, OLD_LABEL):
        parts = row[key].split(naming.separator) if naming.is_multi_label else [row[key]]
        found[key] = naming.separator.join(numbers.get(part, part) for part in parts)
    return found


def _counts(written: Mapping[str, Sequence[Mapping[str, str]]], asked: Corrections) -> dict[str, int]:
    return {
        "changed": sum(_is_changed(row) for rows in written.values() for row in rows),
        "dropped": sum(label == DROP for label in asked.labels.values()),
        "added": sum(label != DROP for label in asked.added.values()),
    }


def _is_changed(row: Mapping[str, str]) -> bool:
    return row[LABEL] != row[OLD_LABEL] and not row[ID].startswith("transfer")


def _by_split(written: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, int]:
    return {split: sum(_is_changed(row) for row in rows) for split, rows in written.items()}


def _before(folder: Path) -> dict[str, Any] | None:
    """The accuracy of the teacher and of the best model on the judged rows, and a digest of these rows and labels; None
    if the run has no report yet."""
    report, right = Report(folder / "report"), read_right_rows(folder / "report")
    if right is None or not (folder / "report" / "report.json").is_file():
        return None
    data = report.data
    return {
        "split": data["judged_split"],
        "rows": data["judged_rows"],
        "digest": right.digest,
        "best": data.get("best"),
        "accuracy": {entry["name"]: entry["accuracy"] for entry in data["models"]},
        "teacher": next((entry["name"] for entry in data["models"] if entry["role"] == "teacher"), None),
    }


def _recipe(
    recipe: Recipe,
    name: str,
    places: Mapping[str, Path],
    facts: Path,
    *,
    separator: str,
    numbers: Mapping[str, str] | None,
) -> Recipe:
    """The recipe of the run with the corrected files as its corpus; file names, as they are beside the recipe."""
    multi_label = recipe.corpus.multi_label
    section = recipe.corpus.model_copy(
        update={
            "hub": None,
            "split": None,
            **{split: places[split].name if split in places else None for split in ("train", "dev", "test")},
            "corrections": facts.name,
            "text": TEXT,
            "pair": PAIR if recipe.corpus.pair is not None else None,
            "label": LABEL,
            "label_separator": separator if multi_label else recipe.corpus.label_separator,
            "label_names": {number: one for one, number in (numbers or {}).items()},
            "only_labels": [],
            "format": "csv",
            "header": True,
            "quoting": "auto",
            "encoding": "utf-8",
            "test_fraction": 0.0,
            "max_rows": None,
        }
    )
    return recipe.model_copy(update={"name": name, "corpus": section})
