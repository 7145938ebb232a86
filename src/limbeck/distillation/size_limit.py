"""How many tokens a student may have so that its exported folder is at most `student.max_size_mb`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from limbeck.errors import StudentError
from limbeck.kinds import STUDENT_KINDS
from limbeck.progress import Reporter
from limbeck.recipe.student import AnyStudent

MIN_TOKENS = 100  # with fewer, a student is useless: the recipe is refused
FEW = 8  # tokens of the student whose graph is measured
CARDS = 4_096  # bytes of model.json and manifest.json, without the names of the classes
PROFILE, SHARE = 10_752, 20  # bytes of profile.json, without examples; and of a class in it
ROUNDING = 64  # larger numbers take a few more bytes in a graph's file


class SizeLimitTooSmall(StudentError):
    """The exported student is larger than it may be, even with a tiny vocabulary."""

    def __init__(
        self,
        *,
        max_size_mb: float,
        precision: str,
        tokens: int,
        needed_mb: float,
        without_tokens_mb: float,
        to_lower: Sequence[str],
    ) -> None:
        self.needed_mb = needed_mb
        keys = ", ".join(f"student.{key}" for key in to_lower)
        int8 = "" if precision == "int8" else ", or add int8 to export.precisions"
        super().__init__(
            f"the student does not fit into student.max_size_mb = {max_size_mb:g}",
            found=f"as {precision} with {tokens:,} tokens: {needed_mb:.3g} MB; "
            f"without any token: {without_tokens_mb:.3g} MB",
            advice=f"Raise student.max_size_mb, or lower one of {keys}{int8}.",
        )


class CountingTokenizer(Protocol):
    """What this module needs of a tokenizer."""

    def __len__(self) -> int:
        """The number of its tokens."""

    def to_json(self) -> str:
        """Its tokenizer.json."""


@dataclass(frozen=True)
class SizeBudget:
    """The size of a student's folder as a function of its tokens, and the most that it may be."""

    most_bytes: int
    without_tokens: int
    of_token: int
    levers: tuple[str, ...]  # keys of [student], in addition to the vocabulary, that make it smaller
    precision: str

    def bytes_of(self, tokenizer: CountingTokenizer) -> int:
        """The size of the folder with this tokenizer in it."""
        return self.without_tokens + len(tokenizer) * self.of_token + len(tokenizer.to_json().encode())

    def refuse_unless_any(self, *, most: int) -> None:
        """Raises SizeLimitTooSmall if even a small vocabulary of very short tokens does not fit."""
        few = min(MIN_TOKENS, most)
        self._refuse_above(self.without_tokens + few * self.of_token, tokens=few)

    def most_tokens(self, of_size: Callable[[int], CountingTokenizer], *, most: int) -> int:
        """The largest size up to `most` whose tokenizer fits; raises SizeLimitTooSmall if a small one does not."""
        if self.bytes_of(of_size(most)) <= self.most_bytes:
            return most
        fits = min(MIN_TOKENS, most)
        self._refuse_above(self.bytes_of(of_size(fits)), tokens=fits)
        too_large = min(most, (self.most_bytes - self.without_tokens) // self.of_token + 1)
        while too_large - fits > 1:
            middle = (fits + too_large) // 2
            if self.bytes_of(of_size(middle)) <= self.most_bytes:
                fits = middle
            else:
                too_large = middle
        return fits

    def _refuse_above(self, needed: int, *, tokens: int) -> None:
        if needed > self.most_bytes:
            raise SizeLimitTooSmall(
                max_size_mb=self.most_bytes / 1e6,
                precision=self.precision,
                tokens=tokens,
                needed_mb=needed / 1e6,
                without_tokens_mb=self.without_tokens / 1e6,
                to_lower=self.levers,
            )


@dataclass(frozen=True)
class SizeLimit:
    """The size that an exported folder may have, and how to measure a student's graph."""

    max_size_mb: float
    precision: str  # of the folder that counts
    graph_bytes: Callable[[Any], int]

    def budget(self, student: Callable[[int], Any], *, levers: tuple[str, ...], labels: Sequence[str]) -> SizeBudget:
        """The budget for students that this function makes for a given number of tokens."""
        few, one_more = (self.graph_bytes(student(tokens)) for tokens in (FEW, FEW + 1))
        of_token = one_more - few
        cards = (
            CARDS + PROFILE + SHARE * len(labels) + len(json.dumps(list(labels), ensure_ascii=False, indent=1).encode())
        )
        return SizeBudget(
            most_bytes=int(self.max_size_mb * 1e6),
            without_tokens=few - FEW * of_token + ROUNDING + cards,
            of_token=of_token,
            levers=levers,
            precision=self.precision,
        )


def levers_of(section: AnyStudent) -> tuple[str, ...]:
    """The keys, in addition to its vocabulary, that make such a student smaller."""
    return tuple(key for key in STUDENT_KINDS[section.kind].size_levers if key not in section.fields_without_effect)


def cut_facts(limit: SizeLimit | None, *, before: int, after: int) -> dict[str, Any]:
    """For vocabulary.json, if the limit cut the vocabulary: the limit, and the number of tokens without it."""
    is_cut = limit is not None and after < before
    return {"max_size_mb": limit.max_size_mb, "tokens_without_limit": before} if limit and is_cut else {}


def report_cut(limit: SizeLimit | None, reporter: Reporter, *, what: str, before: int, after: int) -> None:
    """Report how much the limit cut the vocabulary, if it did."""
    if limit is not None and after < before:
        reporter.note(f"  vocabulary cut from {before:,} to {after:,} {what} to fit into {limit.max_size_mb:g} MB")
