"""Errors about data files and the rows in them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from limbeck.errors.message import LimbeckError, did_you_mean, in_shell, some


class DataError(LimbeckError):
    """A data file cannot be used."""


class FileMissing(DataError):
    """A file that the recipe or the command line names does not exist."""

    def __init__(self, *, path: str, looked_in: Sequence[Path], beside: Sequence[str] = ()) -> None:
        self.path = path
        super().__init__(
            f"no file '{path}'{did_you_mean(Path(path).name, beside)}",
            found="\n".join(["looked in:", *(f"  {folder}" for folder in looked_in)]),
            advice="Correct the path, or put the file there.",
        )


class FileEmpty(DataError):
    """A data file holds no rows."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(
            f"'{path}' holds no rows", advice="Give a file with at least one row of data below its header."
        )


class FileUnreadable(DataError):
    """A data file is not what its name says."""

    def __init__(self, *, path: Path, kind: str, reason: str, advice: str = "") -> None:
        advice = advice or "Check the file, or name its kind with `format` in the recipe."
        super().__init__(f"cannot read '{path}' as {kind}", found=reason, advice=advice)


class BytesUndecodable(DataError):
    """A row of a text file is not in the encoding the recipe names."""

    def __init__(self, *, path: Path, row: int, encoding: str, found: bytes, advice: str = "") -> None:
        self.row = row
        super().__init__(
            f"'{path}', row {row:,}: not valid {encoding}",
            found=f"found the bytes {found.hex(' ')}",
            advice=advice or 'Save the file as UTF-8, or name its encoding in the recipe, e.g. encoding = "gb18030".',
        )


class ColumnMissing(DataError):
    """A column that the recipe names is not in the file."""

    def __init__(
        self, *, path: Path, column: str, key: str, columns: Sequence[str], finds_header: bool = False
    ) -> None:
        self.column, self.columns = column, tuple(columns)
        no_header = "add --no-header" if key.startswith("--") else "set header = false"  # an option, or a recipe's key
        by_number = f"; for a file without a header {no_header} and give the column's number."
        by_number = ", by its name or its number from 0." if finds_header else by_number
        super().__init__(
            f"'{path}' has no column '{column}'{did_you_mean(column, columns)}",
            found=f"its columns: {', '.join(columns)}",
            advice=f"Set `{key}` to one of them{by_number}",
        )


class RowMalformed(DataError):
    """One row of a data file does not have the form of the others."""

    def __init__(self, *, path: Path, row: int, reason: str, advice: str) -> None:
        self.row = row
        super().__init__(f"'{path}', row {row:,}: {reason}", advice=advice)


class OneClassOnly(DataError):
    """The training rows all carry the same label."""

    def __init__(self, *, path: str, label: str, rows: int) -> None:
        super().__init__(
            f"all {rows:,} training rows of '{path}' carry the label '{label}'",
            advice="A classifier needs at least two classes; check the `label` column of the recipe.",
        )


class LabelsAllEmpty(DataError):
    """A row may have several labels, and no training row has any."""

    def __init__(self, *, path: str, rows: int) -> None:
        super().__init__(
            f"none of the {rows:,} training rows of '{path}' has a label",
            advice="With multi_label, some rows may have no label, but not every row; check the `label` column of the "
            "recipe.",
        )


class LabelUnknown(DataError):
    """Rows of dev or test carry labels that no training row has."""

    def __init__(self, *, split: str, unknown: Sequence[str], known: Sequence[str], row: str) -> None:
        self.unknown = tuple(unknown)
        labels = some([repr(name) for name in known], most=12)
        super().__init__(
            f"{split} has labels that train lacks: {some([repr(name) for name in unknown])}",
            found=f"train's labels: {labels}; first such row: {row}",
            advice="Correct the labels, or give training rows for them.",
        )


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


class WeightedClassUnknown(DataError):
    """`class_weights` gives a weight to a class that the corpus does not have."""

    def __init__(self, *, unknown: Sequence[str], classes: Sequence[str]) -> None:
        self.unknown, self.classes = tuple(unknown), tuple(classes)
        names = some([repr(name) for name in unknown])
        super().__init__(
            f"class_weights names classes that the corpus does not have: {names}{did_you_mean(unknown[0], classes)}",
            found=f"the classes: {some([repr(name) for name in classes], most=12)}",
            advice="Use the names of the classes; where label_names gives a name, that one.",
        )


class TooFewRows(DataError):
    """There are not enough rows to cut a split off."""

    def __init__(self, *, what: str, rows: int, needed: int) -> None:
        super().__init__(
            f"{what}: {rows:,} rows, at least {needed:,} are needed", advice="Give more rows, or a file for dev."
        )


class HubUnreachable(DataError):
    """A data set cannot be fetched from the hub."""

    def __init__(self, *, name: str, tried: Sequence[str], reason: str) -> None:
        self.name, self.tried = name, tuple(tried)
        super().__init__(
            f"cannot get the data set '{name}' from the Hugging Face hub",
            found=f"no folder of that name here; tried on the hub: {', '.join(tried)}; {reason}",
            advice="Check the name and the connection; or fetch it on a connected machine with "
            'datasets.load_dataset(…).save_to_disk(FOLDER) and set hub = "FOLDER"; or give files instead.',
        )


class NothingGathered(DataError):
    """No transfer text is left after cutting, filtering and removing duplicates."""

    def __init__(self, *, files: Sequence[str], counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        super().__init__(
            f"no transfer text is left of {some(files)}",
            found=", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()),
            advice="Loosen min_words, max_words or where in [transfer], check its `text` column, or give other files.",
        )


class NothingAugmented(DataError):
    """No copy of a training row is left once those that repeat a row or a copy are dropped."""

    def __init__(self, *, methods: Sequence[str], counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        super().__init__(
            f"no copy is left of those that {some(methods)} made",
            found=", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()),
            advice="Raise `fraction` or `probability`, add a method, or remove [augmentation].",
        )


class ColumnGivenTwice(DataError):
    """`limbeck init` was given one column for two purposes."""

    def __init__(self, *, path: Path, column: str, keys: Sequence[str], columns: Sequence[str]) -> None:
        self.column, self.keys = column, tuple(keys)
        super().__init__(
            f"{' and '.join(f'--{key}' for key in keys)} name the same column of '{path}', '{column}'",
            found=f"its columns: {some(columns)}",
            advice="Give each a column of its own, or omit one: it is then guessed.",
        )


class LabelUnclear(DataError):
    """`limbeck init` cannot tell which column holds the label, or the text."""

    def __init__(self, *, path: Path, what: str, columns: Mapping[str, str]) -> None:
        self.role, self.columns = what, dict(columns)
        examples = [f"  {name}: {example}" for name, example in columns.items()]
        super().__init__(
            f"cannot tell which column of '{path}' is the {what}",
            found="\n".join(["its columns, with an example of each:", *examples]),
            advice=f"Name them: limbeck init {in_shell(path.name)} --text COLUMN --label COLUMN [--pair COLUMN]",
        )


class TransferTextUnclear(DataError):
    """A file of unlabelled text has no column that is recognisably the text, or the two texts of a pair."""

    def __init__(self, *, path: Path, wanted: Sequence[str], columns: Mapping[str, str]) -> None:
        self.wanted, self.columns = tuple(wanted), dict(columns)
        which, what = ("columns", "are the two texts") if len(wanted) > 1 else ("column", "is the text")
        examples = [f"  {name}: {example}" for name, example in columns.items()]
        names = " and ".join(f"'{name}'" for name in wanted)
        super().__init__(
            f"cannot tell which {which} of '{path}' {what}",
            found="\n".join(["its columns, with an example of each:", *examples]),
            advice=f"Name and place them as the corpus does ({names}), or write [transfer] yourself: docs/transfer.md",
        )


class TransferIsCorpus(DataError):
    """What was given as unlabelled text is a file of the corpus."""

    def __init__(self, *, path: Path, split: str) -> None:
        self.split = split
        trained_on = split == "train"
        super().__init__(
            f"'{path}' cannot be the unlabelled text: it is the corpus's own {split} file",
            found="the student learns from its rows anyway" if trained_on else "its rows are kept out of other text",
            advice="Give text that is not in the corpus, or omit --transfer.",
        )


class TransferFilesDiffer(DataError):
    """Several files of unlabelled text cannot be read by one section of the recipe."""

    def __init__(self, *, settings: Mapping[str, str]) -> None:
        self.settings = dict(settings)
        sections = [f"  {path}: {keys}" for path, keys in settings.items()]
        super().__init__(
            f"{len(settings)} files of unlabelled text have different layouts",
            found="\n".join(["[transfer] would be:", *sections]),
            advice="Convert them to one layout, e.g. .txt with a text a line, or give only those that share one.",
        )


class TransferForRecipe(DataError):
    """Unlabelled text was given to a command beside a recipe, which has a place for it."""

    def __init__(self, *, recipe: str, files: Sequence[str]) -> None:
        names = ", ".join(json.dumps(file, ensure_ascii=False) for file in files)
        super().__init__(
            f"--transfer goes with a file of labelled rows, and '{recipe}' is not one",
            found=f"a recipe names its text itself, under [transfer]: files = [{names}]",
            advice=f"Write it there, or for one run: --set 'transfer.files=[{names}]'",
        )


class RecipeInTheWay(DataError):
    """Another file is already where the recipe of a data file would be written."""

    def __init__(self, *, recipe: str, data: str, reason: str, transfer: Sequence[str] = ()) -> None:
        self.reason = reason
        options = "".join(f" --transfer {in_shell(file)}" for file in transfer)
        super().__init__(
            f"'{recipe}' already exists, and is not the recipe of this run",
            found=reason,
            advice=f"Run it as it is: limbeck run {in_shell(recipe)}; or move it away;\n"
            f"or keep both: limbeck init {in_shell(data)}{options} --out NAME.toml, then limbeck run NAME.toml",
        )


class NothingToPredict(DataError):
    """Input rows of `predict` are not what the model takes."""

    def __init__(self, *, reason: str, advice: str) -> None:
        super().__init__(reason, advice=advice)


class NothingChosen(DataError):
    """No row of the transfer text has a teacher's answer of enough confidence."""

    def __init__(self, *, rows: int, covered: int) -> None:
        super().__init__(
            "no row of the transfer text is left to learn from",
            found=f"{rows:,} rows were gathered, {covered:,} of them have an answer of the teacher",
            advice="Lower least_confidence in [transfer], or give other text.",
        )
