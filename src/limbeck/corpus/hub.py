"""Data sets of the Hugging Face hub, and folders that `save_to_disk` or parquet files make of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.corpus.readers.raw_table import RawTable, find_column
from limbeck.corpus.readers.table import plain_text
from limbeck.errors import DependencyMissing, FileUnreadable, HubUnreachable, some
from limbeck.recipe.corpus import Column, Corpus
from limbeck.recipe.hub import why_no_hub

SPLIT_NAMES = {  # ours: theirs, in order of preference
    "train": ("train",),
    "dev": ("validation", "dev", "valid", "validation_matched"),
    "test": ("test",),
}
# Collections whose name before the slash is a data set and after it a configuration.
COLLECTIONS = frozenset({"glue", "super_glue", "clue", "tweet_eval", "xglue", "xtreme"})


@dataclass(frozen=True)
class HubData:
    """Rows of (text, label) or (text, pair, label) for each split, and the class names if the data set has them."""

    splits: dict[str, list[tuple[str, ...]]]
    class_names: list[str]
    unlabelled: int  # rows left out because they carry no label (-1 or null)


def read_hub(section: Corpus) -> HubData:
    """All labelled rows of a data set. A test split without labels (GLUE's are -1) is left out."""
    assert section.hub is not None, "the caller has looked"
    loaded = _load(section.hub)
    wanted = {key: getattr(section, key) for key in ("text", "pair", "label") if getattr(section, key) is not None}
    splits: dict[str, list[tuple[str, ...]]] = {}
    unlabelled = 0
    class_names: list[str] = []
    for ours, theirs in _present(loaded, name=section.hub).items():
        split = loaded[theirs]
        rows = list(_rows(split, wanted, path=Path(section.hub)))
        class_names = class_names or _class_names(split, wanted["label"])
        labelled = _labelled(rows)
        unlabelled += len(rows) - len(labelled)
        if labelled:
            splits[ours] = labelled
    return HubData(splits=splits, class_names=class_names, unlabelled=unlabelled)


def _labelled(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows that carry a label; a split where every label is -1 has none."""
    labelled = [row for row in rows if row[-1]]
    return [] if {row[-1] for row in labelled} == {"-1"} else labelled


def candidates(name: str) -> list[tuple[str, str | None]]:
    """The data set and configuration that a name may stand for, likeliest first.

    "imdb" → imdb. "glue/sst2" → configuration sst2 of glue, since glue is a known collection. "user/reviews" →
    the data set user/reviews, then configuration reviews of user. "user/set/part" → configuration part.
    """
    steps = name.split("/")
    if len(steps) == 1:
        return [(name, None)]
    if len(steps) > 2:
        return [("/".join(steps[:2]), "/".join(steps[2:]))]
    whole, cut = (name, None), (steps[0], steps[1])
    return [cut, whole] if steps[0] in COLLECTIONS else [whole, cut]


def _load(name: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise DependencyMissing(package="datasets", purpose="reading a hub data set", extra="train") from None
    folder = Path(name)
    if folder.is_dir():
        return _load_folder(folder)
    tried = []
    for path, configuration in candidates(name):
        tried.append(path if configuration is None else f"configuration {configuration} of {path}")
        try:
            with _from_cache_alone(datasets.config, why=why_no_hub()):
                return datasets.load_dataset(path, configuration)
        except (ConnectionError, TimeoutError) as error:
            raise HubUnreachable(name=name, tried=tried, reason=_first_line(error)) from None
        except (OSError, ValueError, RuntimeError) as error:  # no such data set, no such configuration, needs code
            reason = _first_line(error)
    raise HubUnreachable(name=name, tried=tried, reason=reason)


@contextmanager
def _from_cache_alone(config: Any, *, why: str | None) -> Iterator[None]:
    """Without a hub in reach, let `datasets` look at what was fetched before: else it retries for long, and aloud."""
    before = config.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = before or why is not None
    try:
        yield
    except ConnectionError as error:
        raise ConnectionError(f"{why or error}, and nothing of that name was fetched before") from None
    finally:
        config.HF_HUB_OFFLINE = before


def _load_folder(folder: Path) -> Any:
    import datasets

    if (folder / "dataset_dict.json").is_file():
        return datasets.load_from_disk(str(folder))
    if (folder / "state.json").is_file():
        return {"train": datasets.load_from_disk(str(folder))}
    try:
        return datasets.load_dataset(str(folder))
    except (OSError, ValueError, RuntimeError) as error:
        raise FileUnreadable(path=folder, kind="a data set", reason=_first_line(error)) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _present(loaded: Any, *, name: str) -> dict[str, str]:
    """Which of its splits become ours."""
    present = {
        ours: found[0]
        for ours, theirs in SPLIT_NAMES.items()
        if (found := [split for split in theirs if split in loaded])
    }
    if "train" not in present:
        reason = f"it has no split 'train'; its splits: {some(list(loaded), most=6)}"
        raise FileUnreadable(path=Path(name), kind="a data set to train on", reason=reason)
    return present


def _rows(split: Any, wanted: dict[str, Column], *, path: Path) -> Iterator[tuple[str, ...]]:
    columns: Sequence[str] = split.column_names
    table = RawTable(path=path, columns=columns, is_named=True, rows=lambda _: iter(()))
    names = {key: columns[find_column(table, column, key=key)] for key, column in wanted.items()}
    class_names = _class_names(split, names["label"])
    for number, row in enumerate(split.select_columns(list(names.values())), start=1):
        texts = [
            plain_text(row[name], key=key, path=path, number=number) for key, name in names.items() if key != "label"
        ]
        yield (*texts, _label(row[names["label"]], class_names, path=path, number=number))


def _label(cell: object, class_names: Sequence[str], *, path: Path, number: int) -> str:
    """The label's name; empty where there is none."""
    if cell is None:
        return ""
    if class_names and isinstance(cell, int):
        return "" if cell < 0 else class_names[cell]
    return plain_text(cell, key="label", path=path, number=number).strip()


def _class_names(split: Any, column: Column) -> list[str]:
    name = split.column_names[column] if isinstance(column, int) else column
    return list(getattr(split.features.get(name), "names", None) or [])
