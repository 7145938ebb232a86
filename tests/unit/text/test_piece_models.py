from tokenizers import Tokenizer
from tokenizers.models import BPE

from limbeck.text.piece_models import BpeModel, WordPieceModel

MERGES = [["a", "b"], ["c", "d"], ["ab", "cd"], ["b", "c"], ["abcd", "e"]]
PIECES = ["[PAD]", "[UNK]", "[MASK]", "a", "b", "c", "d", "e", "ab", "cd", "abcd", "bc", "abcde"]
PAIRS = {
    "type": "BPE",
    "dropout": 0.1,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": {piece: number for number, piece in enumerate(PIECES)},
    "merges": MERGES,
}


def test_a_bpe_piece_needs_all_pieces_that_it_is_merged_from() -> None:
    assert BpeModel(PAIRS).needs("abcde") == {"a", "b", "c", "d", "e", "ab", "cd", "abcd", "abcde"}


def test_a_piece_that_no_merge_leads_to_needs_nothing() -> None:
    assert BpeModel(PAIRS).needs("<0x0A>") == set()


def test_a_smaller_bpe_model_keeps_the_merges_among_its_pieces_and_has_no_dropout() -> None:
    smaller = BpeModel(PAIRS).smaller(["[PAD]", "[UNK]", "[MASK]", "a", "b", "c", "ab", "bc"])

    assert smaller["merges"] == [["a", "b"], ["b", "c"]]
    assert (smaller["dropout"], smaller["unk_token"], smaller["fuse_unk"]) == (None, "[UNK]", True)


def test_letters_inside_a_word_have_the_prefix_and_the_last_has_the_suffix() -> None:
    marked = BpeModel({**PAIRS, "continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"})

    assert marked.letters("abc</w>") == ["a", "##b", "##c</w>"]
    assert marked.letters("##ab") == ["##a", "##b"]


def test_prefixed_merges_are_followed() -> None:
    vocabulary = {piece: number for number, piece in enumerate(["a", "##b", "##c", "##bc", "abc"])}
    merges = [("##b", "##c"), ("a", "##bc")]
    library = Tokenizer(BPE(vocab=vocabulary, merges=merges, continuing_subword_prefix="##"))
    model = {**PAIRS, "vocab": vocabulary, "merges": merges, "continuing_subword_prefix": "##"}

    assert library.encode("abc").tokens == ["abc"]
    assert BpeModel(model).needs("abc") == {"a", "##b", "##c", "##bc", "abc"}


def test_letters_of_a_word_piece_begin_or_continue_a_word() -> None:
    model = WordPieceModel({"continuing_subword_prefix": "##", "vocab": {}, "unk_token": "[UNK]"})

    assert model.letters("low") == ["l", "##o", "##w"]
    assert model.letters("##er") == ["##e", "##r"]
