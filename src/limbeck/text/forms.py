"""The form of texts (case, width, spaces around punctuation), and the steps that convert texts to another form."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from tokenizers import Regex
from tokenizers.normalizers import Lowercase, Normalizer, Replace
from tokenizers.normalizers import Sequence as Normalizers

from limbeck.text.spacing import PLACE, spaced

FormStep = Literal["narrow", "narrow_marks", "lowercase", "spaced"]  # in the order in which they are taken

# Chinese punctuation; the other characters of the full-width block (＃, ％, ＋ …) are mostly typing errors.
CHINESE_MARKS = dict(zip("。，、！？；：（）～", ".,,!?;:()~", strict=True))
WIDE = {chr(narrow + 0xFEE0): chr(narrow) for narrow in range(0x21, 0x7F)} | {"\u3000": " "}
NARROW = {wide: narrow for wide, narrow in WIDE.items() if wide not in CHINESE_MARKS}
WIDE_LETTERS = frozenset(wide for wide, narrow in WIDE.items() if narrow.isalnum())
ASCII_MARKS = frozenset('.,!?;:()"')

SAMPLE_TEXTS, SAMPLE_CHARACTERS = 2_000, 500
# The form of a corpus is known only if it has at least this many letters, marks and texts.
FEWEST_LETTERS, FEWEST_MARKS, FEWEST_TEXTS = 200, 50, 50
HARDLY_ANY, SOME = 0.002, 0.01  # shares
APART, NOT_APART = 0.9, 0.5


@dataclass(frozen=True)
class Form:
    """The form of a sample of texts; a share is 0 if there was nothing to count."""

    texts: int
    letters: int  # that have an upper and a lower case
    marks: int  # ASCII marks before, after or between words
    upper_case: float  # of the letters
    marks_apart: float  # of the marks: with white space on both sides
    full_width: float  # of the texts: with full-width letters or digits
    chinese_marks: float  # of the texts: with Chinese marks

    def shares(self) -> dict[str, float]:
        """Only the shares, rounded for a report."""
        return {name: round(share, 4) for name, share in asdict(self).items() if isinstance(share, float)}


def form_of(texts: Sequence[str]) -> Form:
    """The form of the first characters of up to 2,000 texts, evenly spaced."""
    step = max(1, -(-len(texts) // SAMPLE_TEXTS))
    sample = [text[:SAMPLE_CHARACTERS] for text in texts[::step]]
    letters = upper = marks = apart = 0
    for text in sample:
        in_upper = sum(map(str.isupper, text))
        upper += in_upper
        letters += in_upper + sum(map(str.islower, text))
        for word in text.split():
            is_mark = ASCII_MARKS.issuperset(word)
            apart += is_mark
            marks += is_mark or word[0] in ASCII_MARKS or word[-1] in ASCII_MARKS
    return Form(
        texts=len(sample),
        letters=letters,
        marks=marks,
        upper_case=_share(upper, letters),
        marks_apart=_share(apart, marks),
        full_width=_share(sum(not WIDE_LETTERS.isdisjoint(text) for text in sample), len(sample)),
        chinese_marks=_share(sum(not CHINESE_MARKS.keys().isdisjoint(text) for text in sample), len(sample)),
    )


def chosen_steps(asked: str | Sequence[str], *, text: Form, corpus: Form) -> list[FormStep]:
    """The steps that `form` in the recipe means for text and a corpus of these forms.

    "auto": those that convert the text to the corpus's form, and no others. A list: those it names, but Chinese marks
    stay wide if the corpus has them.
    """
    if asked == "auto":
        return _steps_between(text, corpus)
    wanted = set() if asked == "as_is" else set(asked)
    if "narrow" in wanted and corpus.chinese_marks < HARDLY_ANY:
        wanted.add("narrow_marks")
    return [step for step in _STEPS if step in wanted]


def in_form(steps: Sequence[FormStep]) -> Callable[[str], str]:
    """A function that applies the steps to a text. Applying them a second time changes nothing."""
    functions = [_STEPS[step][0] for step in _STEPS if step in steps]

    def formed(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return formed


def as_normalizer(steps: Sequence[FormStep]) -> Normalizer:
    """The steps as part of a tokenizer.json; equivalent to `in_form`."""
    return Normalizers([part for step in _STEPS if step in steps for part in _STEPS[step][1]()])


def _steps_between(text: Form, corpus: Form) -> list[FormStep]:
    is_lower = corpus.letters >= FEWEST_LETTERS and corpus.upper_case < HARDLY_ANY
    is_apart = corpus.marks >= FEWEST_MARKS and corpus.marks_apart >= APART
    is_known = corpus.texts >= FEWEST_TEXTS
    has_own_marks = is_known and corpus.marks >= FEWEST_MARKS
    needed: dict[FormStep, bool] = {
        "narrow": is_known and corpus.full_width < HARDLY_ANY and text.full_width >= SOME,
        "narrow_marks": has_own_marks and corpus.chinese_marks < HARDLY_ANY and text.chinese_marks >= SOME,
        "lowercase": is_lower and text.upper_case >= SOME,
        "spaced": is_apart and text.marks > 0 and text.marks_apart < NOT_APART,
    }
    return [step for step, is_needed in needed.items() if is_needed]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _lowercase(text: str) -> str:
    # Letter by letter: Python, unlike the tokenizers library, lowers a sigma at the end of a word to another letter.
    return text.lower() if "Σ" not in text else "".join(map(str.lower, text))


def _mapped(table: dict[str, str]) -> tuple[Callable[[str], str], Callable[[], list[Normalizer]]]:
    numbers = str.maketrans(table)

    def mapped(text: str) -> str:
        return text if text.isascii() else text.translate(numbers)

    return mapped, lambda: [Replace(wide, narrow) for wide, narrow in table.items()]


_STEPS: dict[FormStep, tuple[Callable[[str], str], Callable[[], list[Normalizer]]]] = {
    "narrow": _mapped(NARROW),
    "narrow_marks": _mapped(CHINESE_MARKS),
    "lowercase": (_lowercase, lambda: [Lowercase()]),
    "spaced": (spaced, lambda: [Replace(Regex(PLACE), " ")]),
}
