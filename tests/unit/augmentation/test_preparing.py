from pathlib import Path
from typing import Any

import pytest

from limbeck.augmentation.run import prepared
from limbeck.recipe.augmentation import WORD_METHODS, Augmentation


@pytest.mark.parametrize("kind", ["masking", "pos_swap", "ngram", "word_vectors", "masked_lm", "delete", "swap"])
def test_a_method_of_the_recipe_becomes_one_that_changes_texts(
    kind: str, tmp_path: Path, make_context: Any, make_rows: Any, make_copies: Any, make_language_model: Any
) -> None:
    (tmp_path / "vectors.txt").write_text("good 1 0\nfine 1 1\nbad 0 1\n")
    options = {"path": str(tmp_path / "vectors.txt")} if kind == "word_vectors" else {}
    if kind == "masked_lm":
        options = {"checkpoint": str(make_language_model(["good", "bad", "fine", "a"]))}
    options |= {} if kind == "ngram" else {"fraction": 0.5}  # type: ignore[dict-item]
    [section] = Augmentation.model_validate({"methods": [{"kind": kind, **options}]}).methods

    method = prepared(section, make_rows(["good bad fine", "bad good fine"]), make_context())

    copies = make_copies([method], "good bad fine", copies=100)
    assert method.kind == kind
    assert hasattr(method, "fraction") or kind not in WORD_METHODS
    assert any(copy.sides != ["good bad fine"] for copy in copies)
