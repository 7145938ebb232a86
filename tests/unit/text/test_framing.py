"""A transformer student's own pieces: the frame around them, and the teacher's token of each."""

import json

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel, Metaspace
from tokenizers.trainers import BpeTrainer

from limbeck.errors import StudentError, TeacherTokensUnsupported
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.framing import framed_pieces, framed_teacher_tokenizer
from limbeck.text.piece_tokenizer import cut_down_pieces

TEXTS = ["a gorgeous film", "the film plays and plays", "lower lowest, the newest and the lowest"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def word_piece() -> Tokenizer:
    pieces = [*SPECIAL, "the", "film", "low", "##est", "##er", *LETTERS, *(f"##{letter}" for letter in LETTERS), ","]
    tokenizer = Tokenizer(WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="<unk>"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_tokens(["plays"])
    return tokenizer


def byte_pair() -> Tokenizer:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    alphabet = sorted(ByteLevel.alphabet())
    trainer = BpeTrainer(vocab_size=300, show_progress=False, initial_alphabet=alphabet, special_tokens=SPECIAL)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def unigram() -> Tokenizer:
    words = ["▁the", "▁film", "▁low", "est", "er", "▁"]
    scored = [(piece, -3.1 - 0.1 * number) for number, piece in enumerate([*words, *LETTERS, ","])]
    tokenizer = Tokenizer(Unigram([*((name, 0.0) for name in SPECIAL), *scored], unk_id=3))
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


ALL = pytest.mark.parametrize("teacher", [word_piece(), byte_pair(), unigram()], ids=["wordpiece", "bpe", "unigram"])
SPECIAL_IDS = {"[PAD]": 1, "[UNK]": 3, "[MASK]": 4, "[CLS]": 0, "[SEP]": 2}


def pieces_of(
    teacher: Tokenizer, *, max_size: int = 500, min_count: int = 1, has_types: bool = True
) -> tuple[FramedTokenizer, list[int]]:
    return framed_pieces(
        teacher.to_str(), TEXTS, max_size=max_size, min_count=min_count, has_types=has_types, special_ids=SPECIAL_IDS
    )


@ALL
def test_each_token_has_the_id_of_the_teachers_token(teacher: Tokenizer) -> None:
    tokenizer, teacher_ids = pieces_of(teacher)

    assert tokenizer.vocabulary[:5] == ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]
    assert teacher_ids[:5] == [1, 3, 4, 0, 2]
    names = {number: token for token, number in teacher.get_vocab().items()}
    assert [names[number] for number in teacher_ids[5:]] == tokenizer.vocabulary[5:]
    assert len(teacher_ids) == len(tokenizer) < teacher.get_vocab_size()


@ALL
def test_texts_are_cut_as_the_teacher_cuts_them_and_framed_as_bert_does(teacher: Tokenizer) -> None:
    tokenizer, teacher_ids = pieces_of(teacher)

    rows = tokenizer.encode(TEXTS, max_length=100)

    for row, text in zip(rows, TEXTS, strict=True):
        bare = teacher.encode(text, add_special_tokens=False).ids
        assert [teacher_ids[number] for number in row] == [0, *bare, 2]


@ALL
@pytest.mark.parametrize("has_types", [True, False])
def test_pairs_have_types_when_asked_for(teacher: Tokenizer, has_types: bool) -> None:
    tokenizer, _ = pieces_of(teacher, has_types=has_types)
    first, second = (tokenizer.encode([text], max_length=99)[0][1:-1] for text in ("the film", "lower"))

    (row,), (types,) = tokenizer.encode_pairs(["the film"], ["lower"], max_length=99)

    assert row == [3, *first, 4, *second, 4]
    assert types == [0] * (len(first) + 2) + [int(has_types)] * (len(second) + 1)
    assert tokenizer.has_types == has_types


@ALL
def test_the_pieces_are_those_of_a_student_without_a_frame(teacher: Tokenizer) -> None:
    tokenizer, _ = pieces_of(teacher, max_size=40, min_count=2)

    bare = cut_down_pieces(teacher.to_str(), TEXTS, max_size=38, min_count=2)

    assert tokenizer.vocabulary[5:] == bare.vocabulary[3:]
    assert len(tokenizer) <= 40
    texts = [*TEXTS, "new 电 [MASK]"]
    rows = [row[1:-1] for row in tokenizer.encode(texts, max_length=99)]
    assert [[number - 2 if number > 2 else number for number in row] for row in rows] == bare.encode(
        texts, max_length=99
    )


def test_a_token_that_the_teacher_does_not_have_is_minus_one() -> None:
    ids = {**SPECIAL_IDS, "[MASK]": None}

    _, teacher_ids = framed_pieces(
        word_piece().to_str(), TEXTS, max_size=99, min_count=1, has_types=True, special_ids=ids
    )

    assert teacher_ids[:5] == [1, 3, -1, 0, 2]


@ALL
def test_pieces_saved_and_loaded_are_the_same(teacher: Tokenizer) -> None:
    tokenizer, _ = pieces_of(teacher)

    again = FramedTokenizer.from_json(tokenizer.to_json())

    assert again.encode(TEXTS, max_length=99) == tokenizer.encode(TEXTS, max_length=99)
    assert again.pad_id == 0
    assert json.loads(again.to_json())["padding"]["pad_token"] == "[PAD]"


@ALL
def test_padding_can_have_the_id_that_positions_are_counted_from(teacher: Tokenizer) -> None:
    tokenizer, teacher_ids = framed_pieces(
        teacher.to_str(), TEXTS, max_size=500, min_count=1, has_types=False, special_ids=SPECIAL_IDS, pad_id=1
    )

    assert tokenizer.pad_id == 1
    assert tokenizer.vocabulary[:5] == ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    assert teacher_ids[:5] == [0, 1, 2, 3, 4]
    plain, ids_of_plain = pieces_of(teacher)
    texts = [*TEXTS, "电 [MASK] film"]
    assert [[teacher_ids[number] for number in row] for row in tokenizer.encode(texts, max_length=99)] == [
        [ids_of_plain[number] for number in row] for row in plain.encode(texts, max_length=99)
    ]


def test_a_text_that_spells_the_frame_adds_no_second_one() -> None:
    pieces = [*((name, 0.0) for name in SPECIAL), ("[CLS]", -1.0), ("film", -2.0)]
    teacher = Tokenizer(Unigram(pieces, unk_id=3))

    tokenizer, teacher_ids = framed_pieces(
        teacher.to_str(), ["film[CLS]film"], max_size=99, min_count=1, has_types=True, special_ids=SPECIAL_IDS
    )

    assert tokenizer.vocabulary == ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]", "film"]
    assert teacher_ids == [1, 3, 4, 0, 2, 6]


def test_a_tokenizer_that_puts_nothing_before_a_text_is_refused() -> None:
    with pytest.raises(TeacherTokensUnsupported, match="pieces"):
        framed_teacher_tokenizer(word_piece().to_str(), pad_id=1, mask_token=None, has_types=True)


def test_a_tokenizer_that_cannot_be_reduced_is_refused() -> None:
    words = Tokenizer(WordLevel({"a": 0}, unk_token="a"))

    with pytest.raises(TeacherTokensUnsupported, match="WordLevel") as caught:
        pieces_of(words)

    assert isinstance(caught.value, StudentError)


def test_a_file_that_is_not_a_tokenizer_is_refused() -> None:
    with pytest.raises(TeacherTokensUnsupported, match="cannot be read"):
        framed_teacher_tokenizer("{}", pad_id=0, mask_token=None, has_types=True)
