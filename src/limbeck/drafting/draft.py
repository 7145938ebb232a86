"""A commented recipe for a file that has been looked at; it can be run unchanged."""

import os
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from limbeck.artifacts.corpus import rarest_and_most_frequent
from limbeck.drafting.column_profile import are_stars
from limbeck.drafting.draft_student import distillation_lines, student_lines
from limbeck.drafting.draft_teacher import NO_ENCODER, DraftedTeacher, chosen_teacher, teacher_lines
from limbeck.drafting.draft_transfer import (
    augmentation_lines,
    copied_rows,
    general_rows,
    line,
    place,
    plain,
    transfer_lines,
    value,
)
from limbeck.drafting.inspection import Inspection
from limbeck.drafting.unlabelled import Unlabelled
from limbeck.errors import in_shell, some
from limbeck.recipe.load import parse_recipe

MINUTES, ROWS_PER_MINUTE = (10, 20), 5_000  # without a GPU; from 10,000 rows on, one minute more for so many


def draft_recipe(
    path: Path,
    inspection: Inspection,
    *,
    data_path: str,
    recipe_path: str | None = None,
    folder: Path | None = None,
    transfer: Unlabelled | None = None,
    beside: Unlabelled | None = None,
    teacher: DraftedTeacher | None = None,
    teacher_section: Sequence[str] = (),
) -> str:
    """The recipe's text for the data file `path`, which the recipe is to call `data_path`.

    `recipe_path` is where it will be saved; default: here, under the data file's name. Other files are named by their
    paths from `folder`, or by absolute ones. The student learns from the text `transfer`; text that was found `beside`
    the data is mentioned in a comment. Without a `teacher` one is chosen; `teacher_section` are lines for it that are
    ready.
    """
    gpu = has_gpu()
    rows = inspection.rows + (transfer.rows if transfer else 0)
    recipe = recipe_path or f"{path.name.partition('.')[0]}.toml"
    if transfer is not None:  # no file has answers for other texts than its own
        inspection = replace(inspection, scores={})
    if teacher is None:
        teacher = NO_ENCODER if inspection.scores else chosen_teacher(inspection, gpu=gpu)
    own = _own_text(inspection, gpu=gpu, path=data_path)
    general = 0 if own or not teacher.has_vectors else general_rows(inspection, gpu=gpu, has_text=transfer is not None)
    more_text = [
        transfer_lines(inspection, given=transfer, beside=beside, own=own, folder=folder, general=general),
        augmentation_lines(inspection, gpu=gpu, has_text=transfer is not None, general=general),
    ]
    sections = [
        _heading(recipe, inspection, teacher),
        *([] if gpu or inspection.scores else [_minutes(inspection)]),
        _corpus(inspection, data_path=data_path, folder=folder),
        *([] if inspection.scores else more_text),
        list(teacher_section) or _teacher(inspection, teacher, path=data_path, gpu=gpu),
        student_lines(inspection, gpu=gpu, has_vectors=teacher.has_vectors),
        distillation_lines(
            inspection,
            gpu=gpu,
            rows=rows,
            read=rows + general + copied_rows(inspection, gpu=gpu, has_text=transfer is not None, general=general),
        ),
    ]
    text = "\n\n".join("\n".join(lines) for lines in sections) + "\n"
    parse_recipe(tomllib.loads(text), recipe=recipe)
    return text


def _heading(recipe: str, found: Inspection, teacher: DraftedTeacher) -> list[str]:
    teaching = "a model's answers" if found.scores else "a big teacher" if teacher.has_vectors else "a linear teacher"
    what = "pairs of texts" if found.pair is not None else "texts"
    several = ", several a row" if found.multi_label else ""
    classes = f"{len(found.labels)} classes ({plain(some(list(found.labels), most=4))}{several})"
    if found.is_score:
        low, high = found.score_range
        classes = f"a score from {low:g} to {high:g}"
    joined = "with" if found.is_score else "in"
    return [
        f"# {found.language_name} {what} {joined} {classes}: {teaching}, distilled into a small Bi-LSTM.",
        f"# limbeck run {plain(in_shell(recipe))}",
    ]


def _minutes(found: Inspection) -> list[str]:
    least, most = MINUTES
    minutes = min(most, max(least, least - 2 + found.rows // ROWS_PER_MINUTE))
    return [
        "# The numbers below are for two cores of an ordinary machine. Where a short timing finds that they would take",
        "# longer than this, fewer rows, epochs and copies are used; with more minutes, or without this line, all.",
        f"minutes = {minutes}",
    ]


def _corpus(found: Inspection, *, data_path: str, folder: Path | None) -> list[str]:
    rows = f"{found.rows:,} rows" if found.is_complete else f"the first {found.rows:,} rows"
    beside = data_path.removesuffix(found.path.name)
    held_out = {
        split: place(found.given[split], folder=folder) if split in found.given else beside + file.name
        for split, file in found.held_out.items()
    }
    lines = [
        "[corpus]",
        f"# Looked at {rows}: half have {found.median_words} {found.unit} or fewer, "
        f"95 % have {found.long_words} or fewer.",
        f"train = {value(data_path)}",
        *(f"{split} = {value(path)}" for split, path in held_out.items()),
    ]
    if found.split is not None:
        counts = ", ".join(f"{split} {count:,}" for split, count in found.split_rows.items())
        lines.append(f"split = {value(found.split)}  # says of each row where it belongs: {counts}")
    if "dev" not in held_out and "dev" not in found.split_rows:
        what = "scores" if found.is_score else "every class"
        lines.append(f"dev_fraction = 0.1  # no dev file: a tenth of train is held out, {what} in proportion")
    lines.append(f"text = {value(found.text)}")
    if found.pair is not None:
        lines.append(f"pair = {value(found.pair)}")
    return [*lines, *_label(found), *_label_names(found), *_weights(found), *_form(found)]


def _own_text(found: Inspection, *, gpu: bool, path: str) -> list[str]:
    """The keys that read the documents as text without labels; none where they are not to be learned from."""
    if not gpu or not found.is_mostly_long or found.pair is not None or found.language != "en":
        return []
    *form, _language = _form(found)
    return [f"files = [{value(path)}]", f"text = {value(found.text)}", *form]


def _score(found: Inspection) -> list[str]:
    low, high = found.score_range
    return [
        f"label = {value(found.label)}  # numbers from {low:g} to {high:g}",
        'task = "regression"  # models give a score; without this line every number would be a class',
        f"# score_range = [{low:g}, {high:g}]  # if there can be others than those of the file",
    ]


def _label(found: Inspection) -> list[str]:
    if found.is_score:
        return _score(found)
    counts = some([f"{plain(name)} × {count:,}" for name, count in found.labels.items()], most=6)
    lines = [f"label = {value(found.label)}  # {counts}"]
    if isinstance(found.label, list):
        remark = "all classes with 0.5 or more" if found.multi_label else "the class with the largest value"
        lines = [f"# A column for each class; the label of a row: {remark}.", *lines]
    if found.multi_label:
        lines.append("multi_label = true  # a row may have several of them, or none")
    if not isinstance(found.label, list) and are_stars(found.labels):
        lines.append('# task = "regression"  # if these numbers are points on a scale: models then give a score')
    if found.label_separator is not None:
        undo = "if each cell is one label, take this line and the one above away"
        lines.append(f"label_separator = {value(found.label_separator)}  # {undo}")
    return lines


def _weights(found: Inspection) -> list[str]:
    if (uneven := rarest_and_most_frequent(found.labels)) is None:
        return []
    rarest, most = (f"{plain(name)} × {found.labels[name]:,}" for name in uneven)
    remark = f"there are {most}, but only {rarest}"
    fewer, more = (found.labels[name] for name in uneven)
    if len(found.labels) == 2 and not found.multi_label and 20 * fewer < fewer + more:
        # Without weights a teacher may answer the frequent class for every row. The square root of the ratio found more
        # of the rare class than no weights, and less by mistake than "balanced" (docs/corpus.md#class-weights).
        weights = f"{{ {value(uneven[0])} = {(more / fewer) ** 0.5:.2g} }}"
        return [f'class_weights = {weights}  # {remark}; "balanced" weighs it {more / fewer:.0f} times']
    return [f'# class_weights = "balanced"  # rare classes count more: {remark}']


def _label_names(found: Inspection) -> list[str]:
    if found.label_names:
        names = ", ".join(f"{value(column)} = {value(name)}" for column, name in found.label_names.items())
        undo = "" if isinstance(found.label, list) else "  # other spellings; without this line, classes of their own"
        return [f"label_names = {{ {names} }}{undo}"]
    if not found.labels or not all(name.isdecimal() for name in found.labels) or len(found.labels) > 10:
        return []
    names = ", ".join(f'{value(name)} = "name of {name}"' for name in found.labels)
    return [f"# label_names = {{ {names} }}  # what the numbers mean, for the report"]


def _form(found: Inspection) -> list[str]:
    lines = []
    if found.form.format != "auto":
        lines.append(f"format = {value(found.form.format)}  # its name does not say so")
    if found.delimiter and not found.form.header:
        lines.append("header = false  # the first line is a row; columns go by number, from 0")
    if found.form.quoting != "auto":
        lines.append(f"quoting = {value(found.form.quoting)}")
    elif found.format == "tsv" and found.has_quotes:
        lines.append('quoting = false  # " is a plain character in the texts')
    if found.form.encoding != "utf-8":
        lines.append(line("encoding", found.form.encoding, "a guess" if found.guesses_encoding else ""))
    return [*lines, f"language = {value(found.code)}"]


def _teacher(found: Inspection, teacher: DraftedTeacher, *, path: str, gpu: bool) -> list[str]:
    return _answers(found, path=path) if found.scores else teacher_lines(teacher, found, gpu=gpu)


def _answers(found: Inspection, *, path: str) -> list[str]:
    """The teacher whose answers are in columns of the file."""
    columns = ", ".join(f"{value(name)} = {value(column)}" for name, column in found.scores.items())
    *form, _language = _form(found)
    return [
        "# The file has the answers of a model, which is the teacher then. It has none for other texts: with",
        "# --transfer, or without these columns, an encoder is fine-tuned instead, which labels text and copies.",
        "[teacher]",
        'kind = "file"',
        f"path = {value(path)}",
        f"text = {value(found.text)}",
        *([] if found.pair is None else [f"pair = {value(found.pair)}"]),
        f"columns = {{ {columns} }}",
        *form,
        'uncovered = "skip"  # rows of dev and test need no answers',
    ]


DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder for each GPU, where NVIDIA's driver runs on Linux
HIDDEN = {"", "-1"}  # what CUDA_VISIBLE_DEVICES says when no GPU is to be seen


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU that this process may use, and a torch that is built for it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in HIDDEN or not _torch_can():
        return False
    if DRIVER.is_dir():
        return any(DRIVER.iterdir())
    return shutil.which("nvidia-smi") is not None  # WSL has the driver, but no such folder


def _torch_can() -> bool:
    try:
        return not version("torch").endswith("+cpu")
    except PackageNotFoundError:  # the one that will be installed may
        return True
