"""The parts of a drafted recipe about the students and their training."""

from limbeck.drafting.draft_transfer import PIECES_PER_WORD, line, words_of
from limbeck.drafting.inspection import Inspection
from limbeck.recipe.student import Ngrams

# What a draft says, and why: without a GPU, as minutes on a laptop allow, and with one, as what won in
# docs/results.md, for documents as in the recipe imdb-text. None: nothing is said, and the recipe's default holds.
Setting = tuple[object, str]
SETTINGS: dict[str, tuple[Setting | None, Setting | None]] = {
    "hidden_size": (
        (150, "300 is a little more accurate and slower"),
        (300, "150 is smaller and quicker, and a little less accurate"),
    ),
    "hidden_size of the general student": (
        (150, "as the general student; with another one its body is not taken over, only its words"),
        (300, ""),
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
    "tune_vectors of the general student": (
        (False, "the general student's vectors stay as they are, also for words that only appear in use"),
        (False, ""),
    ),
    "embedding_size": (
        (200, "as the general student"),
        None,
    ),
    "epochs": (
        (6, ""),
        (12, "on a GPU they cost minutes"),
    ),
    "epochs of pairs": (
        (6, ""),
        (8, ""),
    ),
    "epochs of documents": (
        (6, ""),
        (6, ""),
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
KEEP_LATEST = 'keep = "latest"  # the last epoch, unless another is clearly better on dev'
MANY_ROWS = 50_000  # of train and unlabelled text together
MANY_WORDS = ["", "[student.vocabulary]", "max_size = 100_000  # rare words and names too", "min_count = 1"]
GENERAL_WORDS = [
    "",
    "[student.vocabulary]",
    "general_words = 20_000  # its most frequent words, which the rows may lack",
]
TEACHERS_WORDS = [
    "",
    "[student.vocabulary]",
    "teacher_words = 20_000  # common words that the rows may lack; the teacher knows them",
]
PAIRING = 'pairing = "attend"  # compares the texts word by word; "siamese" is quicker, and less accurate'
OF_GENERAL = " of the general student"
GENERAL_START = 'start = "general:english"  # knows words and sentences before it sees the task; see docs/general.md'
SECOND_STUDENT = [
    "# A second student, as small as the first. What is best on dev, one of them or both together, is models/best.",
    "[[candidates]]",
    'kind = "ngrams"  # hashed n-grams of words and characters: typos, names, parts of words',
]
SECOND_OF_PAIRS = [
    "# A second and a third student. What is best on dev, one of them or several together, is models/best.",
    "[[candidates]]",
    'kind = "bag"  # compares the words themselves, without their order: as quick as a siamese Bi-LSTM',
    'pairing = "attend"',
    "",
    *SECOND_STUDENT[1:],
]
SHORT_TIMING = ["", "[evaluation]", "throughput_batches = []  # [32, 256] also times batches, in half a minute more"]
TEACHERS_VECTORS = 'word_vectors = "teacher"  # or a word2vec/GloVe file, or "random"'
RANDOM_VECTORS = ['word_vectors = "random"  # or a word2vec/GloVe file, which is better; this teacher has none']
SCORES = ['kind = "logit_mse"  # the student learns the teacher\'s scores; "huber" if some of them are far off']
LOGITS = ['kind = "logit_mse"  # the student learns the teacher\'s logits']
PROBABILITIES = ['kind = "soft_targets"  # the student learns the teacher\'s probabilities', "temperature = 1.0"]
SOME_ROWS = 10_000
HEADLINE = 40  # characters of the median text
SHORTEST_INPUT, LONGEST_INPUT = 32, 512  # tokens
LONGEST_NGRAMS, WITH_PUNCTUATION = 4096, 1.25  # words, of which signs are some
# Without a GPU: a few minutes of two cores, on which the training of a Bi-LSTM reads about 40,000 words a second.
STUDENT_WORDS = 7_000_000
# Few rows are read more often, in smaller batches.
BASELINE_EPOCHS, BASELINE_STEPS = (5, 40, 200), 1_500
STUDENT_EPOCHS, ENOUGH_STEPS, BATCH_SIZES = (4, 12), 8_000, (32, 64, 128)


def student_lines(found: Inspection, *, gpu: bool, has_vectors: bool = True) -> list[str]:
    """The sections of the students; `has_vectors`: whether the teacher has vectors of words."""
    has_vectors = has_vectors and not found.scores
    many_words = gpu and _is_as_headlines(found)
    is_english = found.language == "en" and not found.other_language
    starts_general = is_english and not gpu  # the one that comes with the package has the size of a student for CPUs
    general_words = is_english and found.pair is None and (has_vectors or starts_general)
    of_vectors = " of pairs" if found.pair is not None else OF_GENERAL if starts_general else ""
    more_words = GENERAL_WORDS if starts_general else TEACHERS_WORDS
    return [
        "[student]",
        'kind = "bilstm"',
        *([PAIRING] if found.pair is not None else []),
        *([GENERAL_START] if starts_general else []),
        *_setting("hidden_size" + (OF_GENERAL if starts_general else _of(found)), gpu=gpu),
        *([TEACHERS_VECTORS] if has_vectors else RANDOM_VECTORS),
        *(_setting("tune_vectors" + of_vectors, gpu=gpu) if (gpu and has_vectors) or general_words else []),
        *(_setting("embedding_size", gpu=gpu) if general_words or starts_general else []),
        *(["vector_rank = 128  # narrow vectors pay for the many words below"] if many_words else []),
        f"max_length = {max_length_of(found)}",
        *(MANY_WORDS if many_words else more_words if general_words else []),
        "",
        *(SECOND_STUDENT if found.pair is None else SECOND_OF_PAIRS),
        *_length_of_ngrams(found),
    ]


def _is_as_headlines(found: Inspection) -> bool:
    """Chinese, and as short as the headlines of TNEWS, which tnews-15-words is about. Reviews have fewer names."""
    return found.language == "zh" and found.pair is None and found.median_words <= HEADLINE


def distillation_lines(found: Inspection, *, gpu: bool, rows: int, read: int) -> list[str]:
    """The section of their training.

    `rows` are those of train and of the unlabelled text; with the copies of `read` they are all that it reads.
    """
    return [
        "[distillation]",
        *_steps(found, gpu=gpu, rows=rows, read=read),
        KEEP_LATEST,
        *_setting("seeds", gpu=gpu),
        "baseline = true  # also train the same student alone, so that the gain is visible",
        *_baseline_epochs(found, gpu=gpu),
        "",
        "[[distillation.losses]]",
        *(SCORES if found.is_score else PROBABILITIES if _learns_probabilities(found, rows=rows) else LOGITS),
        *([] if gpu else SHORT_TIMING),
    ]


def _baseline_epochs(found: Inspection, *, gpu: bool) -> list[str]:
    """It has no copies, so it gets more epochs: few rows enough for so many steps. Without a GPU no more than fit
    into a fifth of the student's time; with one never fewer than the student has."""
    fewest, usual, most = BASELINE_EPOCHS
    wanted = min(most, BASELINE_STEPS * BATCH_SIZES[1] // max(1, found.rows))
    if gpu:
        return [line("baseline_epochs", wanted, "it has no copies")] if wanted > STUDENT_EPOCHS[1] else []
    fit = STUDENT_WORDS // 5 // max(1, found.rows * words_of(found))
    return [line("baseline_epochs", max(fewest, min(max(usual, wanted), fit)), "it has no copies")]


def _learns_probabilities(found: Inspection, *, rows: int) -> bool:
    """With many rows in two classes, logits were better (SST-2); else probabilities, and logits may even collapse."""
    if found.pair is not None or found.multi_label or found.is_score:
        return False
    return len(found.labels) > 2 or rows < SOME_ROWS


def _steps(found: Inspection, *, gpu: bool, rows: int, read: int) -> list[str]:
    if not gpu or (found.pair is None and not found.is_mostly_long and rows < SOME_ROWS):
        fewest, most = STUDENT_EPOCHS
        epochs = max(fewest, min(most, STUDENT_WORDS // (read * words_of(found))))
        enough = (size for size in BATCH_SIZES if read * epochs // size <= ENOUGH_STEPS)
        return [
            line("epochs", epochs),
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


def _length_of_ngrams(found: Inspection) -> list[str]:
    """Documents are read whole: TF-IDF reads all of a text too, and for n-grams more words take next to no time."""
    words = found.long_words * WITH_PUNCTUATION
    if words <= Ngrams.model_fields["max_length"].default:
        return []
    return [line("max_length", int(min(LONGEST_NGRAMS, -(-words // 64) * 64)), "words; whole documents")]


def max_length_of(found: Inspection) -> int:
    """Tokens for the 95th percentile, up to the next multiple of 16."""
    tokens = found.long_words * PIECES_PER_WORD[found.language] + 4
    return int(min(LONGEST_INPUT, max(SHORTEST_INPUT, -(-tokens // 16) * 16)))
