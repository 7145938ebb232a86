"""The part of a drafted recipe about changed copies, which are cheap where there is a GPU."""

from importlib.util import find_spec

from limbeck.drafting.draft_values import line
from limbeck.drafting.inspection import Inspection

# As in the recipes of docs/results.md: Tang's copies where rows are all there is, fewer beside unlabelled text; and as
# in the recipe imdb-text, passages in place of long documents.
MOST_COPIES, COPIES_BESIDE_TEXT, COPIES_OF_DOCUMENTS = 20, 5, 8
ENOUGH_COPIES = 1_400_000  # of all rows together
PASSAGES = {"en": (20, 200), "zh": (12, 120)}  # words; a Chinese one has about 1.6 characters
TAGGERS = {"en": "HanTa", "zh": "jieba"}
WHY = "# Changed copies of the rows are more questions to the teacher, and its answers more lessons to the student"


def augmentation_lines(found: Inspection, *, gpu: bool, has_text: bool) -> list[str]:
    """The section; behind comment signs where a CPU would have to answer for the teacher."""
    lines = [
        "[augmentation]",
        f"copies = {_copies(found, has_text=has_text)}  # of each row; the same one is kept once",
    ]
    for kind in _kinds(found, has_text=has_text):
        lines += ["[[augmentation.methods]]", line("kind", kind)]
    if found.is_mostly_long and found.pair is None:
        shortest, longest = PASSAGES[found.language]
        lines += [
            "probability = 1.0",
            f"shortest = {shortest}  # a passage in place of a document",
            f"longest = {longest}",
        ]
    if gpu:
        return [f"{WHY}.", *lines]
    return [
        f"{WHY};",
        "# without a GPU it is long in answering. If you have the time, take the # away:",
        *(f"# {one}" for one in lines),
    ]


def _copies(found: Inspection, *, has_text: bool) -> int:
    if not found.is_complete:  # hundreds of thousands of rows, and nobody knows how many more
        return 1
    most = COPIES_OF_DOCUMENTS if found.is_mostly_long else COPIES_BESIDE_TEXT if has_text else MOST_COPIES
    return max(1, min(most, ENOUGH_COPIES // max(found.rows, 1)))


def _kinds(found: Inspection, *, has_text: bool) -> list[str]:
    """Methods that need nothing which is not installed."""
    if found.pair is not None:
        return ["pairing", "masking", *_swap(found)]
    if found.is_mostly_long:
        return ["ngram"]
    return ["masking", "ngram"] if has_text else ["masking", *_swap(found), "ngram"]


def _swap(found: Inspection) -> list[str]:
    return ["pos_swap"] if find_spec(TAGGERS[found.language]) is not None else []
