"""What a recipe of scores may ask for, and what it may not."""

from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.load import parse_recipe


def recipe(**tables: Any) -> Any:
    corpus = {"train": "rows.csv", "task": "regression", **tables.pop("corpus", {})}
    return parse_recipe({"corpus": corpus, **tables}, recipe="toy")


def of_losses(*kinds: Any) -> dict[str, Any]:
    return {"distillation": {"losses": list(kinds)}}


def test_losses_on_scores_are_taken() -> None:
    losses = [{"kind": "huber", "delta": 0.5}, {"kind": "ranking", "weight": 0.1}, {"kind": "hard_labels"}]

    found = recipe(**of_losses(*losses))

    assert found.corpus.is_score
    assert [loss.kind for loss in found.distillation.losses] == ["huber", "ranking", "hard_labels"]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (of_losses({"kind": "soft_targets"}), "soft_targets: compares probabilities of classes"),
        (of_losses({"kind": "dkd"}), "dkd: compares probabilities of classes"),
        (of_losses({"kind": "ranking"}), "ranking alone does not say where scores lie"),
        (of_losses({"kind": "hard_labels", "smoothing": 0.1}), "smoothing"),
        ({"corpus": {"multi_label": True}}, "multi_label: only for classes"),
        ({"corpus": {"label": ["a", "b"]}}, "needs one column of numbers"),
        ({"corpus": {"class_weights": "balanced"}}, "class_weights: only for classes"),
        ({"corpus": {"score_range": [5, 0]}}, "the lowest score and then the highest"),
        ({"transfer": {"files": ["a.txt"], "choice": "balanced", "rows": 5}}, 'choice = "balanced" needs classes'),
        ({"transfer": {"files": ["a.txt"], "least_confidence": 0.5}}, "least_confidence needs classes"),
        ({"teacher": {"kind": "file", "path": "a.csv", "values": "logits"}}, "teacher.values is about classes"),
    ],
)
def test_what_needs_classes_is_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeInvalid) as refused:
        recipe(**tables)

    assert message in str(refused.value)


def test_what_is_for_scores_is_refused_for_classes() -> None:
    with pytest.raises(RecipeInvalid, match="huber: for scores only"):
        parse_recipe({"corpus": {"train": "a.csv"}, **of_losses({"kind": "huber"})}, recipe="toy")
    with pytest.raises(RecipeInvalid, match="score_range is for scores"):
        parse_recipe({"corpus": {"train": "a.csv", "score_range": [0, 5]}}, recipe="toy")
