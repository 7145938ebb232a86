"""The best model by dev: what is noise counts as equal, then the log-loss decides, and int8 wins over its fp32."""

from typing import Any

import numpy as np

from limbeck.judging.choice import Choice, Contender, choose, is_equal

ROWS = 400


def contender(name: str, right: int, *, log_loss: float = 0.5, size_mb: float = 10.0, **more: Any) -> Contender:
    """Right on the first `right` of the rows."""
    is_int8 = name.endswith("-int8")
    facts: dict[str, Any] = {"student": name.removesuffix("-int8"), "is_int8": is_int8, "score": right / ROWS}
    facts |= {"correct": (np.arange(ROWS) < right).astype(float), "log_loss": log_loss, "size_mb": size_mb}
    return Contender(name, **{**facts, **more})


def best_of(*contenders: Contender, **options: Any) -> str:
    found = choose(contenders, **options)
    assert found is not None
    return found.best


def test_a_clear_lead_wins_whatever_the_log_loss_is() -> None:
    assert best_of(contender("bag", 300, log_loss=0.1), contender("bilstm", 340, log_loss=0.9)) == "bilstm"


def test_of_equals_the_lower_log_loss_wins() -> None:
    """One row of 400 more: a difference of 0.25 points with a standard error of 0.25 points."""
    assert best_of(contender("bag", 300, log_loss=0.3), contender("bilstm", 301, log_loss=0.5)) == "bag"


def test_of_equals_a_blend_wins_whatever_its_log_loss_is() -> None:
    one, blend = contender("a", 80, log_loss=0.4), contender("blend", 80, log_loss=0.5, is_blend=True)

    assert best_of(one, blend) == "blend"
    assert best_of(contender("a", 90, log_loss=0.4), contender("blend", 60, is_blend=True)) == "a"


def test_a_baseline_can_win() -> None:
    assert best_of(contender("bilstm-alone", 350), contender("bilstm", 300), contender("bilstm-int8", 300)) == (
        "bilstm-alone"
    )


def test_one_standard_error_is_that_of_the_paired_difference() -> None:
    first = contender("a", 300)
    noisy = np.roll(first.correct, 40)  # as many right, other rows: 80 rows differ
    other = contender("b", 300, correct=noisy, score=0.74)

    error = (first.correct.astype(float) - noisy).std(ddof=1) / np.sqrt(ROWS)

    assert 0.01 < error < 0.03
    assert is_equal(first, other)
    assert not is_equal(first, contender("b", 300, correct=noisy, score=0.75 - 2 * error))


def test_the_same_answers_are_equal_and_no_answer_in_common_is_not_needed() -> None:
    assert is_equal(contender("a", 300), contender("b", 300))
    assert not is_equal(contender("a", 400), contender("b", 0))


def test_an_int8_file_wins_over_its_fp32_file_if_equal() -> None:
    fp32, int8 = contender("bilstm", 301, log_loss=0.3), contender("bilstm-int8", 300, log_loss=0.4)

    assert choose([fp32, int8]) == Choice("bilstm-int8", ("bilstm", "bilstm-int8"))


def test_an_int8_file_that_is_worse_does_not_win() -> None:
    assert best_of(contender("bilstm", 320, log_loss=0.3), contender("bilstm-int8", 300, log_loss=0.2)) == "bilstm"


def test_the_int8_file_of_another_student_is_not_preferred() -> None:
    assert best_of(contender("bag", 300, log_loss=0.3), contender("cnn-int8", 300, log_loss=0.4)) == "bag"


def test_only_files_within_the_limit_may_win() -> None:
    large, small = contender("bilstm", 350, size_mb=12.0), contender("bilstm-int8", 300, size_mb=3.0)

    assert best_of(large, small, max_size_mb=5.0) == "bilstm-int8"
    assert choose([large], max_size_mb=5.0) is None
    assert choose([]) is None


def test_the_choice_is_told() -> None:
    told = Choice("a", ("a", "b")).as_json(by="macro F1", rows=ROWS, teacher_share=0.2)

    assert told == {"by": "macro F1", "rows": 400, "teacher_share": 0.2, "equal": ["a", "b"]}


def test_a_baseline_does_not_win_among_equals() -> None:
    alone = contender("bilstm-alone", 301, log_loss=0.1, is_baseline=True)

    assert best_of(alone, contender("bilstm", 300, log_loss=0.5)) == "bilstm"


def test_a_baseline_needs_a_clear_lead() -> None:
    """Three rows of 400 more are 0.75 points, with a standard error of 0.43; 14 are 3.5 points, with one of 0.9."""
    alone, close = contender("bilstm-alone", 303, is_baseline=True), contender("bilstm", 300)

    assert not is_equal(alone, close)
    assert is_equal(alone, close, errors=2.0)
    assert best_of(alone, close) == "bilstm"
    assert best_of(contender("bilstm-alone", 314, is_baseline=True), close) == "bilstm-alone"
    assert best_of(contender("bag", 303), contender("bilstm", 300, log_loss=0.1)) == "bag", (
        "between students one is enough"
    )


def test_rows_of_rare_classes_weigh_more() -> None:
    """The other has a rare class of two rows wrong: that is little in all rows, and a lot in the mean over classes."""
    weights = np.full(ROWS, 0.5)
    weights[:2] = ROWS / 2 / 2
    first, wrong = contender("a", ROWS, weights=weights), np.arange(ROWS) >= 2
    other = contender("b", ROWS, correct=wrong, score=0.5, weights=weights)

    error = (weights * (first.correct.astype(float) - wrong)).std(ddof=1) / np.sqrt(ROWS)

    assert error > 0.3
    assert not is_equal(first, other)
    assert is_equal(first, contender("b", ROWS, correct=wrong, score=1 - 0.9 * error, weights=weights))
