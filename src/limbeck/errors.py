"""Errors that a user can fix: the base, the families that callers catch, and those that several rooms raise.

Any other error is defined in the module that raises it. The command line prints the message and exits with 2.

    LimbeckError
    ├── RecipeError    RecipeInvalid
    ├── DataError      FileMissing · FileEmpty · FileUnreadable · BytesUndecodable · ColumnMissing
    │                  RowMalformed · OneClassOnly · TooFewRows · HubUnreachable · NothingToPredict
    ├── ArtifactError  ArtifactMissing · ArtifactDamaged · LabelsDoNotCover
    ├── TeacherError   CheckpointDamaged · LayersUnreadable
    ├── StudentError   TeacherTokensUnsupported
    ├── ServingError
    └── DependencyMissing · DiskFull · PathUnusable · EngineUnusable · NeedsClasses
"""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

MOST_SHOWN, LONGEST_SHOWN, MOST_COMPARED = 20, 500, 1_000  # of problems and names in a message; a file may have 50,000


def did_you_mean(found: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)` if another of the known names is similar to what was found, otherwise an empty text."""
    others = [str(name) for name in known[:MOST_COMPARED] if str(name) != found]
    close = get_close_matches(found[:LONGEST_SHOWN], others, n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def some(names: Sequence[object], *, most: int = 3) -> str:
    """The first few names and the number of the others, for a one-line message."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} … and {len(names) - most:,} more"


def shortened(text: str, *, most: int = LONGEST_SHOWN) -> str:
    """The first characters of a text that may have millions."""
    return text if len(text) <= most else f"{text[:most]}…"


def _lines(problems: Sequence[str]) -> str:
    shown = [shortened(problem) for problem in problems[:MOST_SHOWN]]
    return "\n".join(shown if len(shown) == len(problems) else [*shown, f"… and {len(problems) - len(shown):,} more"])


def in_shell(name: object) -> str:
    """A path or a name as it is written in a command: quoted if it has spaces or other special characters."""
    return shlex.quote(str(name))


class LimbeckError(Exception):
    """An error that the user can fix: what is wrong, what was found, what to do next.

    The message has these three parts in this order; the lines of what was found are indented.
    """

    def __init__(self, what: str, *, found: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.what, self.found, self.advice = what, found, advice

    def __str__(self) -> str:
        """The complete message, as the command line prints it."""
        found = [f"  {line}" for line in self.found.splitlines()]
        return "\n".join(part for part in (self.what, *found, self.advice) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: its facts are in its attributes, so it is rebuilt without calling `__init__` again."""
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[LimbeckError], args: tuple[Any, ...]) -> LimbeckError:
    return kind.__new__(kind, *args)


class RecipeError(LimbeckError):
    """The recipe cannot be used."""


class RecipeInvalid(RecipeError):
    """The recipe has problems; all of them are listed."""

    def __init__(self, *, recipe: str, problems: Sequence[str], advice: str = "") -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"{recipe}: {count} in the recipe",
            found=_lines(problems),
            advice=advice or "Every key is described in docs/recipe.md.",
        )


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
    """A data file has no rows."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"'{path}' has no rows", advice="Give a file with at least one row of data below its header.")


class FileUnreadable(DataError):
    """A data file does not have the format that its name suggests."""

    def __init__(self, *, path: Path, kind: str, reason: str, advice: str = "") -> None:
        advice = advice or "Check the file, or set its `format` in the recipe."
        super().__init__(f"cannot read '{path}' as {kind}", found=reason, advice=advice)


class BytesUndecodable(DataError):
    """A row of a text file is not in the encoding the recipe names."""

    def __init__(self, *, path: Path, row: int, encoding: str, found: bytes, advice: str = "") -> None:
        self.row = row
        super().__init__(
            f"'{path}', row {row:,}: not valid {encoding}",
            found=f"found the bytes {found.hex(' ')}",
            advice=advice or 'Save the file as UTF-8, or set its encoding in the recipe, e.g. encoding = "gb18030".',
        )


class ColumnMissing(DataError):
    """A column that the recipe names is not in the file."""

    def __init__(
        self, *, path: Path, column: str, key: str, columns: Sequence[str], finds_header: bool = False
    ) -> None:
        """`finds_header`: whether there is a header was found out, or said, so that nothing is to be said about it."""
        self.column, self.columns = column, tuple(columns)
        no_header = "add --no-header" if key.startswith("--") else "set header = false"  # an option, or a recipe key
        by_number = f"; for a file without a header {no_header} and give the column's number."
        by_number = ", by its name or its number from 0." if finds_header else by_number
        super().__init__(
            f"'{path}' has no column '{column}'{did_you_mean(column, columns)}",
            found=f"its columns: {some([shortened(name) for name in columns], most=MOST_SHOWN)}",
            advice=f"Set `{key}` to one of them{by_number}",
        )


class RowMalformed(DataError):
    """One row of a data file does not have the form of the others."""

    def __init__(self, *, path: Path, row: int, reason: str, advice: str) -> None:
        self.row = row
        super().__init__(f"'{path}', row {row:,}: {reason}", advice=advice)


class OneClassOnly(DataError):
    """All training rows have the same label."""

    def __init__(self, *, path: str, label: str, rows: int) -> None:
        super().__init__(
            f"all {rows:,} training rows of '{path}' have the label '{label}'",
            advice="A classifier needs at least two classes; check the `label` column of the recipe.",
        )


class TooFewRows(DataError):
    """There are not enough rows for a split."""

    def __init__(self, *, what: str, rows: int, needed: int) -> None:
        super().__init__(
            f"{what}: {rows:,} rows, at least {needed:,} are needed", advice="Give more rows, or a file for dev."
        )


class HubUnreachable(DataError):
    """A data set cannot be downloaded from the hub."""

    def __init__(self, *, name: str, tried: Sequence[str], reason: str) -> None:
        self.name, self.tried = name, tuple(tried)
        super().__init__(
            f"cannot download the data set '{name}' from the Hugging Face hub",
            found=f"there is no local folder of that name; tried on the hub: {', '.join(tried)}; {reason}",
            advice="Check the name and the connection; or download it on a connected machine with "
            'datasets.load_dataset(…).save_to_disk(FOLDER) and set hub = "FOLDER"; or use files instead.',
        )


class NothingToPredict(DataError):
    """Input rows of `predict` do not fit the model."""

    def __init__(self, *, reason: str, advice: str) -> None:
        super().__init__(reason, advice=advice)


class ArtifactError(LimbeckError):
    """An artifact on disk is missing, damaged or of the wrong kind."""


class ArtifactMissing(ArtifactError):
    """A folder does not contain the artifact that it should."""

    def __init__(self, *, folder: Path, kind: str, advice: str, reason: str = "it has no manifest.json") -> None:
        self.reason = reason
        super().__init__(f"'{folder}' is not a {kind}: {reason}", advice=advice)


class ArtifactDamaged(ArtifactError):
    """An artifact's files do not match its manifest."""

    def __init__(self, *, folder: Path, faults: Sequence[str], advice: str = "") -> None:
        self.faults = tuple(faults)
        again = "Run the recipe again (it rebuilds what is damaged), or copy the folder again from an intact one."
        super().__init__(f"'{folder}' is damaged", found=some(faults), advice=advice or again)


class LabelsDoNotCover(ArtifactError):
    """Some rows have no teacher labels."""

    def __init__(self, *, labels: Path | str, missing: Sequence[str], total: int) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"{len(missing):,} of {total:,} rows have no teacher logits in '{labels}'",
            found=f"first missing row ids: {some(missing)}",
            advice="The data changed after it was labelled. Run `limbeck run` again.",
        )


class TeacherError(LimbeckError):
    """The teacher cannot be used."""


class CheckpointDamaged(TeacherError):
    """The weights of a teacher, or of another model, are not the expected ones, or cannot be loaded."""

    def __init__(
        self,
        *,
        path: Path,
        reason: str,
        what: str = "teacher",
        advice: str = "Download or install the checkpoint again.",
    ) -> None:
        super().__init__(f"cannot load the {what} from '{path}'", found=reason, advice=advice)


class LayersUnreadable(TeacherError):
    """A loss reads the inner layers of a model whose family is not supported."""

    def __init__(self, *, family: str, known: Sequence[str]) -> None:
        self.family = family
        super().__init__(
            f"the queries, keys and values of this family of models cannot be read: {family}",
            found=f"known: {', '.join(known)}",
            advice="Use losses on hidden states, features or logits instead of those on attention.",
        )


class StudentError(LimbeckError):
    """The student cannot be built with these settings."""


class TeacherTokensUnsupported(StudentError):
    """A transformer student cannot use the teacher's tokens with these settings."""

    def __init__(self, *, reason: str, other_kind: str) -> None:
        self.reason = reason
        super().__init__(
            f"the student cannot use the teacher's tokens: {reason}",
            advice=f'Set student.vocabulary.kind = "{other_kind}".',
        )


class ServingError(LimbeckError):
    """The server cannot be started."""


class DependencyMissing(LimbeckError):
    """A command needs a package that the installed extras do not include."""

    def __init__(self, *, package: str, purpose: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs the package '{package}'", advice=f"Run: pip install 'limbeck[{extra}]'")


class DiskFull(LimbeckError):
    """No space is left on the disk."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"no space left on the disk while writing '{path}'",
            advice="Free some space, then run the same command again; a run continues where it stopped.",
        )


class PathUnusable(LimbeckError):
    """A file or folder is not of the needed kind, or this user may not use it."""

    def __init__(self, *, path: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot use '{path}': {reason}", advice=advice)


class EngineUnusable(LimbeckError):
    """The requested engine cannot run this model on this machine."""

    def __init__(self, *, engine: str, model: str, reason: str) -> None:
        self.engine = engine
        super().__init__(
            f"the {engine} engine cannot run the model '{model}'",
            found=reason,
            advice="Use the engine `onnx`, which runs every model, or `auto`, which uses the faster one that can.",
        )


class NeedsClasses(LimbeckError):
    """Something that needs classes with probabilities is asked of a model, or a run, of scores."""

    def __init__(self, *, what: str, name: str, advice: str) -> None:
        self.what_needs_them, self.name = what, name
        super().__init__(
            f"{what} needs classes with probabilities, and '{name}' gives a score",
            found='it was trained with corpus.task = "regression"',
            advice=advice,
        )
