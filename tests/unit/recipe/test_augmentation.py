"""`[augmentation]`: what may be copied."""

from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.augmentation import Augmentation, WordVectors
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe

TEXT = {"files": ["reviews.txt"]}


def recipe(*, transfer: dict[str, Any] | None = None, **augmentation: Any) -> Recipe:
    """A recipe with copies by masking."""
    raw = {
        "corpus": {"train": "rows.csv"},
        "augmentation": {"methods": [{"kind": "masking"}], **augmentation},
        **({"transfer": transfer} if transfer else {}),
    }
    return parse_recipe(raw, recipe="r.toml")


def refusal(**keys: Any) -> str:
    with pytest.raises(RecipeInvalid) as raised:
        recipe(**keys)
    (problem,) = raised.value.problems
    return problem


def test_transfer_text_is_not_copied_unless_asked_for() -> None:
    section = recipe(transfer=TEXT).augmentation

    assert section is not None
    assert (section.copies, section.transfer_copies) == (20, 0)


def test_either_or_both_may_be_copied() -> None:
    assert recipe(transfer=TEXT, transfer_copies=2).augmentation
    assert recipe(transfer=TEXT, copies=0, transfer_copies=1).augmentation
    assert refusal(transfer=TEXT, copies=0).endswith("copies and transfer_copies are both 0: remove [augmentation]")


def test_text_that_is_not_there_cannot_be_copied() -> None:
    assert refusal(transfer_copies=1).endswith("copies transfer text, but the recipe has no [transfer]: add it")


def test_a_general_student_in_place_of_a_file_of_vectors_keeps_its_name_and_others_are_suggested() -> None:
    def located(path: str) -> str:
        section = Augmentation.model_validate({"methods": [{"kind": "word_vectors", "path": path}]})
        method = section.located(lambda path, required=True, instead="", **_: f"missing{instead}" if required else path)
        assert isinstance(method.methods[0], WordVectors)
        return method.methods[0].path

    assert located("general:english") == "general:english"
    assert "english" in located("general:englsh")
    assert located("vectors.txt") == "missing"
