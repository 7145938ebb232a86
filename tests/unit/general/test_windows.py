"""Documents as windows: every token is in one, in order, and short documents share one."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from limbeck.general.processes import pieces_of, words_of
from limbeck.general.windows import frame_of, packed, windows_of
from limbeck.progress import SilentReporter
from limbeck.recipe.general_layers import GeneralLayers
from limbeck.recipe.transfer import Transfer
from limbeck.text.student_tokenizer import UNK_ID
from limbeck.text.word_tokenizer import build_word_tokenizer

BETWEEN = 9


def block(*documents: list[int]) -> tuple[np.ndarray, np.ndarray]:
    flat = [number for document in documents for number in document]
    return np.array(flat, dtype=np.int32), np.array([len(one) for one in documents], dtype=np.int64)


def test_a_long_document_goes_on_in_the_next_window_and_short_ones_share_one() -> None:
    blocks = [block([1, 2, 3, 4, 5], [6]), block([7, 8], [], [1] * 9)]

    found = [window.tolist() for window in packed(blocks, size=4, between=BETWEEN)]

    assert found == [[1, 2, 3, 4], [5, 9, 6, 9], [7, 8, 9, 1], [1] * 4, [1] * 4]


def test_no_token_is_lost_whatever_the_blocks() -> None:
    dice = random.Random(1)
    documents = [[dice.randint(10, 99) for _ in range(dice.randint(1, 40))] for _ in range(50)]

    for cut in (1, 7, 50):
        blocks = [block(*documents[start : start + cut]) for start in range(0, 50, cut)]
        stream = np.concatenate(list(packed(blocks, size=16, between=BETWEEN))).tolist()
        whole = [number for document in documents for number in (*document, BETWEEN)]
        assert stream == whole[: len(stream)]
        assert len(whole) - len(stream) <= 8


def test_a_little_text_is_one_window() -> None:
    assert [window.tolist() for window in packed([block([1, 2])], size=16, between=BETWEEN)] == [[1, 2]]


class Texts:
    """A source of these texts."""

    name, size = "texts", 1

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def texts(self, watch: Callable[[int], None]) -> Iterable[tuple[str, str | None]]:
        watch(1)
        return ((text, None) for text in self._texts)


@pytest.fixture
def tokenizer_file(tiny_teacher_folder: Path, tmp_path: Path) -> Path:
    AutoTokenizer.from_pretrained(tiny_teacher_folder).backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_windows_have_the_frame_of_the_teacher_and_each_document_once(tokenizer_file: Path) -> None:
    texts = ["film story scene actor " * 9, "garden letter road", "garden letter road", "", "blue green " * 20]
    losses = [{"kind": "hidden_mse"}]
    section = GeneralLayers.model_validate({"name": "x", "window": 16, "losses": losses})
    before, after = frame_of(tokenizer_file)

    with SilentReporter().bar("", total=1, unit="") as bar:
        windows, counts, beginning = windows_of(
            section, Transfer(files=["x"]), [Texts(texts)], tokenizer=tokenizer_file, bar=bar
        )

    assert {(window[0], window[-1]) for window in windows} == {(before[0], after[0])}
    assert sorted(map(len, windows)) == [13, 16, 16, 16, 16, 16]
    assert (counts["texts"], counts["different"], counts["windows"]) == (5, 3, 6)
    assert beginning == [texts[0], texts[1], texts[4]]
    words = AutoTokenizer.from_pretrained(tokenizer_file.parent).convert_tokens_to_ids(["garden", "letter", "road"])
    flat = [number for window in windows for number in window.tolist()]
    assert all(flat.count(number) == 1 for number in words)


def test_rows_of_processes_are_those_of_the_tokenizers(tokenizer_file: Path, tmp_path: Path) -> None:
    texts, path = ["film story", "", "zebra film"], tmp_path / "words.json"
    words = build_word_tokenizer(["film story film story"], language="en", max_size=50, min_count=1, lowercase=True)
    words.save(path)

    ids, lengths = words_of(path, 5, texts)
    pieces, of_pieces = pieces_of(tokenizer_file, texts)

    expected = [row or [UNK_ID] for row in words.encode(texts, max_length=5)]
    assert (ids.tolist(), lengths.tolist()) == ([n for row in expected for n in row], [len(row) for row in expected])
    assert of_pieces.tolist()[:2] == [2, 0]
    assert len(pieces) == of_pieces.sum()
