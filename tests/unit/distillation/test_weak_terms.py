"""A term that hardly counts next to another is reported."""

from typing import Any

from limbeck.distillation.objective import weak_terms


def epochs(*losses: dict[str, float], stage: int | None = None) -> list[dict[str, Any]]:
    return [{"losses": terms, **({} if stage is None else {"stage": stage})} for terms in losses]


def test_a_term_below_a_hundredth_of_the_sum_is_reported_with_the_largest_one() -> None:
    (note,) = weak_terms(epochs({"logit_mse": 9.95, "spkd": 0.05}))

    assert note == (
        "spkd is 0.50% of the loss and logit_mse is 99%: raise the weight of spkd, or lower that of logit_mse"
    )


def test_a_term_of_a_hundredth_is_not() -> None:
    assert weak_terms(epochs({"logit_mse": 9.9, "spkd": 0.1})) == []


def test_it_is_the_mean_over_epochs_that_counts() -> None:
    """A weight that warms up is small at first."""
    assert weak_terms(epochs({"logit_mse": 5.0, "hint": 0.0}, {"logit_mse": 1.0, "hint": 1.0})) == []


def test_a_negative_term_counts_by_its_size() -> None:
    """VID is a log-likelihood and may be below zero."""
    assert weak_terms(epochs({"logit_mse": 1.0, "vid": -2.0})) == []
    assert len(weak_terms(epochs({"logit_mse": 0.001, "vid": -2.0}))) == 1


def test_a_single_term_is_never_weak() -> None:
    assert weak_terms(epochs({"logit_mse": 0.0})) == []
    assert weak_terms(epochs({"logit_mse": 3.0})) == []


def test_terms_that_are_all_zero_are_not_reported() -> None:
    assert weak_terms(epochs({"logit_mse": 0.0, "spkd": 0.0})) == []


def test_stages_are_looked_at_one_by_one() -> None:
    history = [
        *epochs({"hidden_mse": 1.0, "attention_mse": 0.001}, stage=1),
        *epochs({"soft_targets": 1e-4}, stage=2),
    ]

    (note,) = weak_terms(history)

    assert note.startswith("attention_mse is 0.10% of the loss and hidden_mse is 100%")
