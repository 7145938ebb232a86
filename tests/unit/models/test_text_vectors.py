"""Vectors of whole texts."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.models.checkpoint import CheckpointNotFound
from limbeck.models.text_vectors import text_vectors


def test_vectors_have_the_length_one_and_do_not_depend_on_other_texts(tiny_teacher_folder: Path) -> None:
    texts, seen = ["good film", "a bad film that is much longer than the other one", "good"], list[int]()

    together = text_vectors(str(tiny_teacher_folder), texts, read=seen.append)
    alone = np.concatenate([text_vectors(str(tiny_teacher_folder), [text]) for text in texts])

    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert sum(seen) == len(texts)


def test_an_encoder_that_is_not_there_is_an_error_that_names_it() -> None:
    with pytest.raises(CheckpointNotFound, match="no encoder checkpoint 'not-there'"):
        text_vectors("not-there", ["a text"])
