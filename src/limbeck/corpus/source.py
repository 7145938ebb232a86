"""Reads the splits from the recipe's files or data set, before anything is cut, chosen or removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from limbeck.artifacts.corpus import SPLITS
from limbeck.corpus.file_rows import Dropped, read_file, refuse_mostly_empty
from limbeck.corpus.hub import read_hub
from limbeck.corpus.labelled import LabelledRows, labelled_rows
from limbeck.corpus.splits import split_named
from limbeck.errors import DataError, FileEmpty, TooFewRows, did_you_mean, some
from limbeck.progress import Reporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables import TableForm, read_table


class OnlyLabelsUnknown(DataError):
    """`only_labels` names classes that no training row has."""

    def __init__(self, *, unknown: Sequence[str], known: Sequence[str]) -> None:
        self.unknown, self.known = tuple(unknown), tuple(known)
        names = some([repr(name) for name in unknown])
        super().__init__(
            f"only_labels names classes that train does not have: {names}{did_you_mean(unknown[0], known)}",
            found=f"train's classes: {some([repr(name) for name in known], most=12)}",
            advice="Use the names of the classes; where label_names gives a name, that one.",
        )


class OutOfScopeUnknown(DataError):
    """`out_of_scope` names a label that no row has."""

    def __init__(self, *, label: str, known: Sequence[str]) -> None:
        self.label = label
        super().__init__(
            f"out_of_scope names a label that no row has: {label!r}{did_you_mean(label, known)}",
            found=f"train's labels: {some([repr(name) for name in known], most=12)}",
            advice="Write it as the file does, or remove out_of_scope from [corpus].",
        )


class SplitUnknown(DataError):
    """The column of splits has values that name no split."""

    def __init__(self, *, path: Path, column: str, unknown: Mapping[str, int]) -> None:
        self.unknown = dict(unknown)
        first = some([f"{value!r} in row {number:,}" for value, number in unknown.items()])
        super().__init__(
            f"the column '{column}' of '{path}' has values that name no split",
            found=first,
            advice="A row belongs to train, dev or test; validation, valid, val, training and testing are known, too.",
        )


@dataclass(frozen=True)
class CorpusSource:
    """The rows that were read, and their source: file names without folders, or the data set's name."""

    splits: Mapping[str, LabelledRows]
    names: Mapping[str, str]
    class_order: list[str]  # empty unless a hub data set names its classes, or each has a column
    unlabelled: int
    ties: int  # rows in which several label columns have the same largest value
    of_other_labels: int = 0  # rows that `only_labels` drops
    dropped: Mapping[str, Dropped] = field(default_factory=dict)  # by split, rows without text or label
    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by split, labels that train lacks
    foreign: Mapping[str, LabelledRows] = field(default_factory=dict)  # out of scope: for "dev" and "test"


def read_source(section: CorpusSection, *, reporter: Reporter) -> CorpusSource:
    """Every split that the section names, with only the rows that `only_labels` asks for."""
    source = _from_files(section, reporter=reporter) if section.hub is None else _from_hub(section)
    if section.out_of_scope is not None:
        source = _without_foreign(section.out_of_scope, source)
    return _only_labels(section, source) if section.only_labels else source


def _without_foreign(label: str, source: CorpusSource) -> CorpusSource:
    """The splits without the rows of this label, which are kept by themselves. The rows keep their ids.

    Those of train and dev fit a threshold, those of test are judged by it; without any in test, every second one.
    """
    inside, foreign = {}, {}
    for split, rows in source.splits.items():
        is_foreign = [labels == (label,) for labels in rows.labels]
        inside[split] = rows.select(at for at, outside in enumerate(is_foreign) if not outside)
        foreign[split] = rows.select(at for at, outside in enumerate(is_foreign) if outside)
        if not len(inside[split]):
            raise TooFewRows(what=f"{split} without the rows labelled {label!r}", rows=0, needed=1)
    if not any(map(len, foreign.values())):
        raise OutOfScopeUnknown(label=label, known=list(source.splits["train"].label_counts))
    fitting = LabelledRows.joined([foreign[split] for split in ("train", "dev") if split in foreign])
    judged = foreign.get("test")
    if judged is None or not len(judged):
        judged, fitting = fitting.select(range(1, len(fitting), 2)), fitting.select(range(0, len(fitting), 2))
    return replace(source, splits=inside, foreign={"dev": fitting, "test": judged})


def _only_labels(section: CorpusSection, source: CorpusSource) -> CorpusSource:
    """The rows keep their ids, so dropping others does not change them."""
    wanted = set(section.only_labels)
    names = {label: section.label_names.get(label, label) for label in source.splits["train"].label_counts}
    if missing := [name for name in section.only_labels if name not in names.values()]:
        raise OnlyLabelsUnknown(unknown=missing, known=list(dict.fromkeys(names.values())))
    splits = {}
    for split, rows in source.splits.items():
        kept = [at for at, labels in enumerate(rows.labels) if names.get(labels[0], labels[0]) in wanted]
        if not kept:
            raise TooFewRows(what=f"{split} with the labels of only_labels", rows=0, needed=1)
        splits[split] = rows.select(kept)
    dropped = sum(len(rows) - len(splits[split]) for split, rows in source.splits.items())
    return replace(source, splits=splits, of_other_labels=dropped)


def _from_files(section: CorpusSection, *, reporter: Reporter) -> CorpusSource:
    paths = {split: Path(path) for split in SPLITS if (path := getattr(section, split))}
    total = sum(path.stat().st_size for path in paths.values() if path.is_file())
    with reporter.bar("reading rows", total=total, unit="bytes") as bar:
        read = {split: read_file(section, path, split=split, watch=bar.advance) for split, path in paths.items()}
    splits = {split: rows for split, (rows, _, _) in read.items()}
    if section.split is not None:
        splits = _by_column(section, splits["train"], path=paths["train"])
    return CorpusSource(
        splits=splits,
        names={split: paths.get(split, paths["train"]).name for split in splits},
        class_order=read["train"][1].columns if isinstance(section.label, list) else [],
        unlabelled=0,
        ties=sum(reader.ties for _, reader, _ in read.values()),
        dropped={split: dropped for split, (_, _, dropped) in read.items() if dropped.rows},
    )


def _by_column(section: CorpusSection, rows: LabelledRows, *, path: Path) -> dict[str, LabelledRows]:
    """The rows of a file by the column that names their splits. Their ids hold their places in the file."""
    assert section.split is not None
    found = [
        (number, split_named(values[0]), values[0])
        for number, values in read_table(path, form=TableForm.of(section), columns={"split": section.split})
    ]
    if unknown := {written: number for number, split, written in reversed(found) if split is None}:
        raise SplitUnknown(path=path, column=str(section.split), unknown=unknown)
    split_of = [split for _, split, _ in found]
    places = [int(row_id.rpartition("-")[2]) for row_id in rows.ids]
    parts = {split: [at for at, place in enumerate(places) if split_of[place] == split] for split in SPLITS}
    if not parts["train"]:
        raise TooFewRows(what=f"train, by the column '{section.split}' of '{path.name}'", rows=0, needed=1)
    return {split: rows.select(part) for split, part in parts.items() if part}


def _from_hub(section: CorpusSection) -> CorpusSource:
    data = read_hub(section)
    name = Path(str(section.hub)).name if Path(str(section.hub)).is_dir() else str(section.hub)
    if not data.splits.get("train"):
        raise FileEmpty(path=Path(name))
    for split, dropped in data.dropped.items():
        refuse_mostly_empty(dropped, kept=sum(row is not None for row in data.splits[split]), path=Path(name))
    is_pair = section.pair is not None
    return CorpusSource(
        splits={split: labelled_rows(rows, split=split, is_pair=is_pair) for split, rows in data.splits.items()},
        names=dict.fromkeys(data.splits, name),
        class_order=data.class_names,
        unlabelled=data.unlabelled,
        ties=data.ties,
        dropped=data.dropped,
    )
