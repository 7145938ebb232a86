import json

import pytest
from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.normalizers import BertNormalizer, Replace
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel, Metaspace
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer

from limbeck.errors import StudentError
from limbeck.text.piece_tokenizer import TokenizerUnsupported, count_pieces, cut_down_pieces, whole_words
from limbeck.text.student_tokenizer import StudentTokenizer

TEXTS = [
    "a gorgeous, witty, seductive film",
    "the film's plot is played for laughs; it plays and replays the same old plays",
    "hide new secretions from the parental units",
    "café 电影 🎬 lower lowest newest widest!!!!!!!!",
    "the the the lowering of the laughing, playing, playful players",
]


def word_piece() -> Tokenizer:
    letters = sorted({letter for text in TEXTS for letter in text if letter.isalnum()} - {"é", "🎬"})
    words = ["the", "play", "film", "##ing", "##s", "##est", "low", "##er", "laugh", "new", "##yer", "[unused0]"]
    continuations = [f"##{letter}" for letter in letters]
    pieces = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", *words, *letters, *continuations, *",;!'"]
    tokenizer = Tokenizer(WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"])
    return tokenizer


def byte_pair() -> Tokenizer:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    alphabet = ByteLevel.alphabet()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = BpeTrainer(vocab_size=380, show_progress=False, initial_alphabet=alphabet, special_tokens=special)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def unigram() -> Tokenizer:
    words = ["▁the", "▁film", "▁play", "s", "ing", "ful", "▁low", "est", "er", "!!", "!!!", "▁laugh", "▁never", "▁used"]
    letters = sorted({letter for text in TEXTS[:3] for letter in text} - {*" s"})  # other letters are unknown
    scored = [(piece, -3.1 - 0.1 * number) for number, piece in enumerate([*words, "▁", *letters])]
    tokenizer = Tokenizer(Unigram([("<unk>", 0.0), ("<sep>", 0.0), *scored], unk_id=0))
    tokenizer.normalizer = Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.add_special_tokens(["<unk>", "<sep>"])
    return Tokenizer.from_str(tokenizer.to_str())  # the scores as they are read, not as they were computed


ALL = pytest.mark.parametrize("teacher", [word_piece(), byte_pair(), unigram()], ids=["wordpiece", "bpe", "unigram"])


def tokens(tokenizer: StudentTokenizer, text: str) -> list[str]:
    (row,) = tokenizer.encode([text], max_length=1000)
    return [tokenizer.vocabulary[number] for number in row]


def tokens_of_teacher(teacher: Tokenizer, text: str) -> list[str]:
    names = {number: piece for piece, number in teacher.get_vocab().items()}
    pieces = [names[number] for number in teacher.encode(text, add_special_tokens=False).ids]
    return ["[UNK]" if piece == "<unk>" else piece for piece in pieces]


@ALL
def test_texts_are_tokenized_as_before_if_the_size_allows_it(teacher: Tokenizer) -> None:
    student = cut_down_pieces(teacher.to_str(), TEXTS, max_size=10_000, min_count=1)

    assert [tokens(student, text) for text in TEXTS] == [tokens_of_teacher(teacher, text) for text in TEXTS]
    assert len(student) < teacher.get_vocab_size()


@ALL
def test_special_tokens_come_first_then_pieces_by_descending_count(teacher: Tokenizer) -> None:
    student = cut_down_pieces(teacher.to_str(), TEXTS, max_size=10_000, min_count=1)
    used = [number for row in student.encode(TEXTS, max_length=1000) for number in row if number > 2]

    counts = [used.count(number) for number in range(3, len(student))]

    assert student.vocabulary[:3] == ["[PAD]", "[UNK]", "[MASK]"]
    assert counts == sorted(counts, reverse=True)
    assert not {"[CLS]", "[SEP]", "<s>", "<sep>", "<mask>", "<unk>"} & set(student.vocabulary)


@ALL
@pytest.mark.parametrize("max_size", [12, 40, 60])
def test_the_size_is_kept(teacher: Tokenizer, max_size: int) -> None:
    student = cut_down_pieces(teacher.to_str(), TEXTS, max_size=max_size, min_count=1)

    assert len(student) <= max_size
    assert student.encode(TEXTS, max_length=1000)


@ALL
def test_dropped_pieces_are_split_into_smaller_ones(teacher: Tokenizer) -> None:
    student = cut_down_pieces(teacher.to_str(), TEXTS, max_size=10_000, min_count=100)

    row = tokens(student, "the film plays")

    assert "[UNK]" not in row
    assert "".join(row).translate(str.maketrans("", "", "#Ġ▁")) == "thefilmplays"
    assert len(row) > len(tokens_of_teacher(teacher, "the film plays"))


@ALL
def test_the_mask_is_recognised_and_other_special_tokens_are_text(teacher: Tokenizer) -> None:
    student = cut_down_pieces(teacher.to_str(), TEXTS, max_size=10_000, min_count=1)

    assert tokens(student, "the[MASK]").count("[MASK]") == 1
    assert len(student.encode(["the[SEP]</s>"], max_length=99)[0]) > 3


@ALL
def test_nothing_that_changes_the_length_of_a_text_is_kept(teacher: Tokenizer) -> None:
    shaped = Tokenizer.from_str(teacher.to_str())
    shaped.enable_truncation(2)
    shaped.enable_padding(length=7)
    first = shaped.id_to_token(0)
    shaped.post_processor = TemplateProcessing(single=f"{first} $A", special_tokens=[(first, 0)])

    student = cut_down_pieces(shaped.to_str(), TEXTS, max_size=10_000, min_count=1)

    assert student.to_json() == cut_down_pieces(teacher.to_str(), TEXTS, max_size=10_000, min_count=1).to_json()


@ALL
def test_without_texts_only_the_special_tokens_are_kept(teacher: Tokenizer) -> None:
    student = cut_down_pieces(teacher.to_str(), ["", " "], max_size=100, min_count=1)

    assert len(student) <= 5  # a byte-level model counts the space itself
    assert student.encode([""], max_length=9) == [[1]]


@ALL
def test_texts_are_converted_to_the_form_before_the_teachers_own_normaliser(teacher: Tokenizer) -> None:
    student = cut_down_pieces(teacher.to_str(), TEXTS, max_size=10_000, min_count=1, form=["narrow", "lowercase"])

    assert tokens(student, "Ｔｈｅ FILM") == tokens(student, "the film")
    assert "[UNK]" not in tokens(student, "Ｔｈｅ FILM")
    assert tokens(student, "The[MASK]")[-1] == "[MASK]"
    own = json.loads(teacher.to_str())["normalizer"]
    assert own is None or json.loads(student.to_json())["normalizer"]["normalizers"][-1] == own


def test_a_new_character_is_one_unknown_for_a_byte_level_teacher() -> None:
    student = cut_down_pieces(byte_pair().to_str(), ["the film"], max_size=10_000, min_count=1)

    assert tokens(student, "the🎭") == [*tokens(student, "the"), "[UNK]"]


def test_merges_may_be_written_in_the_old_format() -> None:
    state = json.loads(byte_pair().to_str())
    state["model"]["merges"] = [" ".join(pair) for pair in state["model"]["merges"]]

    student = cut_down_pieces(json.dumps(state), TEXTS, max_size=10_000, min_count=1)

    assert student.to_json() == cut_down_pieces(byte_pair().to_str(), TEXTS, max_size=10_000, min_count=1).to_json()


def test_a_bpe_model_with_an_end_of_word_suffix_tokenizes_as_before() -> None:
    vocabulary = ["l", "o", "w", "e", "r", "w</w>", "r</w>", "lo", "low</w>", "er</w>"]
    merges = [("l", "o"), ("lo", "w</w>"), ("e", "r</w>")]
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    teacher = Tokenizer(BPE(vocab=ids, merges=merges, end_of_word_suffix="</w>", unk_token="l"))
    teacher.pre_tokenizer = BertPreTokenizer()

    student = cut_down_pieces(teacher.to_str(), ["low lower"], max_size=99, min_count=1)

    assert tokens(student, "low lower") == ["low</w>", "lo", "w", "er</w>"]


def test_words_the_user_added_stay_when_they_are_used() -> None:
    teacher = word_piece()
    teacher.add_tokens(["sci-fi", "never-seen"])

    student = cut_down_pieces(teacher.to_str(), ["the sci-fi film"], max_size=99, min_count=1)

    assert tokens(student, "the sci-fi film") == ["the", "sci-fi", "film"]
    assert "never-seen" not in student.vocabulary


@pytest.mark.parametrize("text", [Tokenizer(WordLevel({"a": 0}, unk_token="a")).to_str(), "{}", "no json"])
def test_other_tokenizers_are_refused(text: str) -> None:
    with pytest.raises(TokenizerUnsupported, match="words") as caught:
        cut_down_pieces(text, TEXTS, max_size=99, min_count=1)

    assert isinstance(caught.value, StudentError)


@ALL
def test_one_count_gives_a_tokenizer_of_every_size(teacher: Tokenizer) -> None:
    of_size = count_pieces(teacher.to_str(), TEXTS, min_count=1)

    for size in (400, 12, 30, 400):  # in any order, and again
        assert of_size(size).to_json() == cut_down_pieces(teacher.to_str(), TEXTS, max_size=size, min_count=1).to_json()


def test_whole_words_of_a_word_piece_tokenizer() -> None:
    found = whole_words(word_piece().to_str())

    assert found == ["the", "play", "film", "low", "laugh", "new"]  # no continuations, letters, marks or special tokens


def test_whole_words_start_with_the_sign_for_a_blank() -> None:
    assert whole_words(unigram().to_str()) == ["the", "film", "play", "low", "laugh", "never", "used"]
    assert "the" in whole_words(byte_pair().to_str())
