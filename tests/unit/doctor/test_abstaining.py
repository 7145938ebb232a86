"""What the doctor says about giving no label."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.doctor.abstaining import abstaining
from limbeck.doctor.known import NotThere

Make = Callable[..., Any]
FOREIGN = {"source": "labelled", "rows": 40, "auroc": 0.9, "withheld": 0.9}
ON_DEV = {"wanted": {"error": 0.02}, "is_reached": True, "coverage": 0.8, "error": 0.015}


def tables(teach: int = 0, **abstain: Any) -> dict[str, Any]:
    return {"distillation": {"teach_foreign": teach}, "export": {"abstain": abstain}}


def report(*, on_dev: Any = ON_DEV, foreign: Any = FOREIGN, taught: Any = None) -> dict[str, Any]:
    return {"abstaining": {"on_dev": on_dev, "foreign": foreign}, "taught_foreign": taught}


def test_without_the_table_there_is_nothing_to_check(make_known: Make) -> None:
    with pytest.raises(NotThere, match=r"no \[export.abstain\]"):
        abstaining(make_known({}))


def test_a_threshold_that_does_what_was_asked_for_raises_nothing(make_known: Make) -> None:
    assert abstaining(make_known(tables(error=0.02), report=report())) == []
    assert abstaining(make_known(tables(10, error=0.02), report=report(taught={"labelled": 10}))) == []


def test_an_error_that_is_not_reached_is_a_warning(make_known: Make) -> None:
    missed = {**ON_DEV, "is_reached": False, "error": 0.05}

    (found,) = abstaining(make_known(tables(error=0.02), report=report(on_dev=missed)))

    assert (found.level, found.what) == ("warning", "the wanted error of 2.0% is not reached on dev")
    assert found.evidence == "the lowest error is 5.0%, of 80.0% of the rows"


@pytest.mark.parametrize(
    ("teach", "source", "advice"),
    [(0, "labelled", "teach_foreign"), (10, "labelled", "class of their own"), (10, "general", "out_of_scope")],
)
def test_foreign_rows_that_get_a_label_are_noted(make_known: Make, teach: int, source: str, advice: str) -> None:
    foreign = {**FOREIGN, "withheld": 0.2, "source": source}

    (found,) = abstaining(make_known(tables(teach), report=report(foreign=foreign, taught={source: teach})))

    assert found.evidence == "80% of 40; AUROC of the score 90.0%"
    assert advice in found.advice


def test_foreign_text_that_is_to_be_taught_and_is_not_there(
    make_known: Make, make_corpus_of: Make, hundred: Any
) -> None:
    corpus = make_corpus_of(train=hundred[:50], dev=hundred[50:])

    (before,) = abstaining(make_known(tables(10, general=False), corpus=corpus))
    named = abstaining(make_known(tables(10, general=False, foreign=["other.txt"]), corpus=corpus))
    (after,) = abstaining(make_known(tables(10), report=report(taught={"files": 4})))

    assert (before.level, before.what) == ("warning", "there is no foreign text to teach")
    assert named == []
    assert (after.level, after.what.partition(",")[0]) == ("note", "4 foreign rows are taught")
