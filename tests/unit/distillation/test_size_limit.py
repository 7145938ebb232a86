"""How many tokens fit: as many as can, the frequent ones, and never so few that they are of no use."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest

from limbeck.distillation.size_limit import (
    CARDS,
    PROFILE,
    ROUNDING,
    SHARE,
    SizeBudget,
    SizeLimit,
    SizeLimitTooSmall,
    cut_facts,
    levers_of,
    report_cut,
)
from limbeck.kinds import STUDENT_KINDS
from limbeck.progress import SilentReporter
from limbeck.recipe.student import BiLstm


@dataclass(frozen=True)
class Words:
    """A tokenizer whose file has ten bytes a token, and two more for a token that is not ASCII."""

    count: int
    odd: int = 0

    def __len__(self) -> int:
        return self.count

    def to_json(self) -> str:
        return "x" * (10 * self.count - self.odd) + "词" * self.odd


def budget(most_bytes: int) -> SizeBudget:
    """Of a student with 1,000 bytes without tokens, and 90 for each in the graph: 100 with their names."""
    return SizeBudget(
        most_bytes=most_bytes, without_tokens=1_000, of_token=90, levers=("hidden_size",), precision="int8"
    )


class Notes(SilentReporter):
    """A reporter that keeps every note."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.notes.append(text)


@pytest.mark.parametrize(
    ("most_bytes", "tokens"),
    [(101_000, 1_000), (500_000, 1_000), (100_999, 999), (51_000, 500), (50_999, 499), (11_000, 100)],
)
def test_the_most_tokens_that_fit_are_kept(most_bytes: int, tokens: int) -> None:
    assert budget(most_bytes).most_tokens(Words, most=1_000) == tokens


def test_bytes_are_counted_and_not_letters() -> None:
    assert budget(0).bytes_of(Words(5, odd=2)) == 1_000 + 5 * 90 + 50 + 2 * 2


def test_a_limit_that_is_too_small_for_a_new_kind_of_student_names_what_makes_it_smaller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Newcomer(BiLstm):
        kind: Literal["newcomer"] = "newcomer"  # type: ignore[assignment]

    row = replace(STUDENT_KINDS["bilstm"], kind="newcomer", size_levers=("depth",))
    monkeypatch.setitem(STUDENT_KINDS, "newcomer", row)
    limit = SizeLimit(1e-3, precision="fp32", graph_bytes=lambda tokens: 2_000 + 90 * tokens)

    budget = limit.budget(lambda tokens: tokens, levers=levers_of(Newcomer()), labels=["a", "b"])

    with pytest.raises(SizeLimitTooSmall, match=r"student\.depth"):
        budget.refuse_unless_any(most=1_000)


def test_a_limit_that_leaves_too_few_tokens_is_refused_with_the_numbers() -> None:
    with pytest.raises(SizeLimitTooSmall) as caught:
        budget(10_999).most_tokens(Words, most=1_000)

    assert caught.value.needed_mb == pytest.approx(0.011)
    assert "student.hidden_size" in str(caught.value)
    assert "100 tokens" in str(caught.value)


def test_texts_of_few_words_may_have_few_tokens() -> None:
    assert budget(5_000).most_tokens(Words, most=40) == 40
    with pytest.raises(SizeLimitTooSmall, match="40 tokens"):
        budget(4_999).most_tokens(Words, most=40)


@pytest.mark.parametrize(
    ("most_bytes", "most", "is_refused"), [(10_000, 999, False), (9_999, 999, True), (9_999, 99, False)]
)
def test_before_tokens_are_counted_only_what_can_never_fit_is_refused(
    most_bytes: int, most: int, is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(SizeLimitTooSmall):
            budget(most_bytes).refuse_unless_any(most=most)
    else:
        budget(most_bytes).refuse_unless_any(most=most)


def test_int8_is_advised_where_it_is_not_made_yet() -> None:
    fp32 = SizeBudget(most_bytes=1, without_tokens=1_000, of_token=90, levers=("layers", "width"), precision="fp32")

    with pytest.raises(SizeLimitTooSmall, match=r"student\.layers.*add int8 to export\.precisions"):
        fp32.refuse_unless_any(most=1_000)


def test_a_graph_is_weighed_at_two_sizes_and_the_names_of_classes_count() -> None:
    limit = SizeLimit(0.5, precision="int8", graph_bytes=lambda student: 700 + 33 * int(student))

    def of(labels: list[str]) -> Any:
        return limit.budget(lambda tokens: tokens, levers=(), labels=labels)

    found = of(["no", "yes"])
    assert (found.most_bytes, found.of_token) == (500_000, 33)
    others = ROUNDING + CARDS + PROFILE + 2 * SHARE
    assert 700 + others < found.without_tokens < 800 + others
    assert of(["no", "yes" * 1_000]).without_tokens - found.without_tokens == 2_997


def test_the_run_reports_what_the_limit_cut_and_otherwise_nothing() -> None:
    reporter, limit = Notes(), SizeLimit(4, precision="int8", graph_bytes=lambda _: 0)

    report_cut(None, reporter, what="words", before=9, after=9)
    report_cut(limit, reporter, what="words", before=9, after=9)
    report_cut(limit, reporter, what="words", before=18_204, after=9_871)

    assert reporter.notes == ["  vocabulary cut from 18,204 to 9,871 words to fit into 4 MB"]
    assert cut_facts(limit, before=18_204, after=9_871) == {"max_size_mb": 4, "tokens_without_limit": 18_204}
    assert cut_facts(limit, before=9, after=9) == cut_facts(None, before=9, after=9) == {}
