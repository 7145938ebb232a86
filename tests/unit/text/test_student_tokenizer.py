import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import Unigram, WordLevel
from tokenizers.pre_tokenizers import Whitespace

from limbeck.text.student_tokenizer import MASK_ID, PAD_ID, UNK_ID, StudentTokenizer, padded

WORDS = ["[PAD]", "[UNK]", "[MASK]", "good", "film", "电影"]


@pytest.fixture
def tokenizer() -> StudentTokenizer:
    plain = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    plain.pre_tokenizer = Whitespace()
    plain.add_special_tokens(["[MASK]"])
    return StudentTokenizer.from_json(plain.to_str())


def test_vocabulary_is_in_the_order_of_the_ids(tokenizer: StudentTokenizer) -> None:
    assert tokenizer.vocabulary == WORDS
    assert len(tokenizer) == len(WORDS)


def test_texts_become_ids(tokenizer: StudentTokenizer) -> None:
    assert tokenizer.encode(["good film", "bad film [MASK]", "电影"], max_length=9) == [[3, 4], [1, 4, MASK_ID], [5]]


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_a_token_is_one_unknown(tokenizer: StudentTokenizer, text: str) -> None:
    assert tokenizer.encode([text], max_length=9) == [[UNK_ID]]


def test_long_texts_are_cut(tokenizer: StudentTokenizer) -> None:
    assert tokenizer.encode(["good film " * 100], max_length=3) == [[3, 4, 3]]


@pytest.mark.parametrize(
    "text", ["\ud800 good", "\x00 good", "🎬🏽 good", "x" * 1_000_000 + " good", " " * 1_000_000 + "good"]
)
def test_strange_texts_are_read(tokenizer: StudentTokenizer, text: str) -> None:
    (row,) = tokenizer.encode([text], max_length=8)

    assert 1 <= len(row) <= 8
    assert set(row) <= {UNK_ID, 3}


def test_no_text_produces_padding() -> None:
    pieces = [("[PAD]", -1.0), ("[UNK]", -1.0), ("[MASK]", -1.0), ("good", -1.0)]
    tokenizer = StudentTokenizer.from_json(Tokenizer(Unigram(pieces, unk_id=1)).to_str())

    assert PAD_ID not in tokenizer.encode(["good[PAD]good"], max_length=9)[0]


def test_saved_and_loaded_it_encodes_the_same(tokenizer: StudentTokenizer, tmp_path: Path) -> None:
    texts = ["good film", "电影 [MASK]", "bad"]

    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = StudentTokenizer.load(tmp_path / "tokenizer.json")

    assert loaded.encode(texts, max_length=9) == tokenizer.encode(texts, max_length=9)
    assert loaded.to_json() == tokenizer.to_json()


def test_scores_are_written_exactly_to_the_last_digit(tmp_path: Path) -> None:
    """The library itself changes one in eight a little, which can decide between equally good segmentations."""
    scores = [-14 * number**0.5 for number in range(1000)]
    pieces = [[token, -20.0] for token in ["[PAD]", "[UNK]", "[MASK]"]] + [[f"w{score}", score] for score in scores]
    text = json.dumps({"version": "1.0", "model": {"type": "Unigram", "unk_id": 1, "vocab": pieces}})

    StudentTokenizer.from_json(text).save(tmp_path / "tokenizer.json")
    again = StudentTokenizer.load(tmp_path / "tokenizer.json").to_json()

    assert json.loads(again)["model"]["vocab"] == pieces


def test_many_texts_keep_their_order(tokenizer: StudentTokenizer) -> None:
    texts = ["good " * (1 + number % 3) for number in range(20_000)]

    rows = tokenizer.encode(texts, max_length=9)

    assert [len(row) for row in rows] == [1 + number % 3 for number in range(20_000)]


def test_a_tokenizer_with_other_special_ids_is_refused() -> None:
    with pytest.raises(ValueError, match="first tokens"):
        StudentTokenizer.from_json(Tokenizer(WordLevel({"good": 0, "[UNK]": 1}, unk_token="[UNK]")).to_str())


def test_a_forked_process_encodes_as_well(tokenizer: StudentTokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    program = """
import os, sys, warnings
from pathlib import Path
from limbeck.text.student_tokenizer import StudentTokenizer
tokenizer = StudentTokenizer.load(Path(sys.argv[1]))
before = tokenizer.encode(["good film"] * 1000, max_length=9)
warnings.simplefilter("ignore")  # Python's own warning about forking
child = os.fork()
if child == 0:
    os._exit(0 if tokenizer.encode(["good film"] * 1000, max_length=9) == before else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

    parallel = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    command = [sys.executable, "-c", program, str(tmp_path / "tokenizer.json")]
    done = subprocess.run(command, env=parallel, timeout=60, check=False)

    assert done.returncode == 0


def test_rows_are_padded_at_the_end() -> None:
    matrix, lengths = padded([[3, 4, 5], [6], [7, 8]])

    np.testing.assert_array_equal(matrix, [[3, 4, 5], [6, 0, 0], [7, 8, 0]])
    np.testing.assert_array_equal(lengths, [3, 1, 2])
    assert matrix.dtype == np.int64
    assert lengths.dtype == np.int32


def test_rows_are_padded_with_the_id_that_is_asked_for() -> None:
    matrix, _ = padded([[3], [6, 0]], pad_id=1)

    assert matrix.tolist() == [[3, 1], [6, 0]]


def test_no_rows_give_an_empty_matrix() -> None:
    matrix, lengths = padded([])

    assert matrix.shape == (0, 0)
    assert lengths.shape == (0,)
