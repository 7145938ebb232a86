"""The splits as the recipe's files or data set give them, before anything is cut, chosen or removed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from limbeck.artifacts.corpus import SPLITS
from limbeck.corpus.hub import read_hub
from limbeck.corpus.labelled import LabelledRows, labelled_rows
from limbeck.corpus.readers import TableForm, read_table
from limbeck.errors import FileEmpty
from limbeck.progress import Reporter
from limbeck.recipe.corpus import Corpus


@dataclass(frozen=True)
class Source:
    """What was read, and from where: file names without folders, or the data set's name."""

    splits: Mapping[str, LabelledRows]
    names: Mapping[str, str]
    class_order: list[str]  # empty unless a hub data set names its classes
    unlabelled: int


def read_source(section: Corpus, *, reporter: Reporter) -> Source:
    """Every split that the section names."""
    return _from_files(section, reporter=reporter) if section.hub is None else _from_hub(section)


def _from_files(section: Corpus, *, reporter: Reporter) -> Source:
    paths = {split: Path(path) for split in SPLITS if (path := getattr(section, split))}
    columns = {key: getattr(section, key) for key in ("text", "pair", "label") if getattr(section, key) is not None}
    total = sum(path.stat().st_size for path in paths.values() if path.is_file())
    splits = {}
    with reporter.bar("reading rows", total=total, unit="bytes") as bar:
        for split, path in paths.items():
            records = read_table(path, form=TableForm.of(section), columns=columns, watch=bar.advance)
            values = (record.values for record in records)
            splits[split] = labelled_rows(values, split=split, is_pair=section.pair is not None)
    return Source(splits, {split: path.name for split, path in paths.items()}, class_order=[], unlabelled=0)


def _from_hub(section: Corpus) -> Source:
    data = read_hub(section)
    name = Path(str(section.hub)).name if Path(str(section.hub)).is_dir() else str(section.hub)
    if not data.splits.get("train"):
        raise FileEmpty(path=Path(name))
    splits = {
        split: labelled_rows(rows, split=split, is_pair=section.pair is not None) for split, rows in data.splits.items()
    }
    return Source(splits, dict.fromkeys(splits, name), class_order=data.class_names, unlabelled=data.unlabelled)
