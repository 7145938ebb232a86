"""The padding of batches for a teacher."""

from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from limbeck.teacher.encoder import padded_batch


def tokenizer(side: str) -> Any:
    words = Tokenizer(WordLevel({"<pad>": 0, "?": 1, "a": 2, "b": 3, "c": 4}, unk_token="?"))
    words.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", unk_token="?", padding_side=side, pad_token_type_id=3
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_batch_is_what_the_tokenizers_own_padding_makes_of_it(side: str) -> None:
    reader = tokenizer(side)
    columns = reader(["a b c", "c", "b a"], return_token_type_ids=True)
    rows = [{name: columns[name][row] for name in columns} for row in range(3)]

    found = padded_batch(rows, reader)

    wanted = reader.pad([dict(row) for row in rows], return_tensors="pt")
    assert set(found) == set(wanted)
    for name, tensor in wanted.items():
        assert torch.equal(found[name], tensor)


def test_rows_without_a_mask_get_one() -> None:
    found = padded_batch([{"input_ids": [4, 4]}, {"input_ids": [2]}], tokenizer("right"))

    assert found["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert found["input_ids"].tolist() == [[4, 4], [2, 0]]
