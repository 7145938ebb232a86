"""The extension's reader of n-grams gives exactly the ids of Python's reader, whatever the text is."""

import random
import sys
import unicodedata
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.export import export_student
from limbeck.models.students import word_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.recipe.student import Ngrams
from limbeck.runtime.classifier import load
from limbeck.runtime.engine import SingleNetwork, open_engine
from limbeck.runtime.inputs import inputs_of
from limbeck.text.ngram_characters import is_independent, page_of_characters
from limbeck.text.ngrams import NgramIds, NgramSettings
from limbeck.text.student_tokenizer import UNK_ID, StudentTokenizer
from limbeck.training.modes import quiet_transformers

pytest.importorskip("limbeck.runtime._native")

from limbeck.runtime import _native
from limbeck.runtime.native_ngrams import NativeNgrams

SETTINGS = [
    NgramSettings(buckets=65536),
    NgramSettings(buckets=9999, words=3, shortest=1, longest=10),
    NgramSettings(buckets=2, words=1, longest=0),
    NgramSettings(buckets=(1 << 31) - 4, words=5, shortest=3, longest=6),
    NgramSettings(buckets=512, shortest=4, longest=100, form=("narrow", "lowercase", "spaced")),
]
ODD_TEXTS = [
    *("", " ", "\t\n", "\u3000", "\x00", "\x1c\x1d\x85", "\u200b\u200d", "a\x00b", "\ufeffbom", "\ufffe\uffff"),
    *("STRASSE Straße ẞ", "İstanbul ISPARTA ıi", "ΣΑΣ ΟΔΟΣ Σ aΣ", "ǅ ǆ ﬁ ﬃ ﬆ", "\u212b Å A\u030a é e\u0301"),
    *("don’t “quote” – … ½ ² ™ №", "ｆｕｌｌ ＷＩＤＴＨ １２", "㍿ ㌔ ﷺ ﷽", "हिन्दी ภาษาไทย العَرَبِيَّة"),
    *("한국어 각 가\u11a8 \u1100\u1161", "❤️ 👍🏽 👩\u200d👩\u200d👧 🇩🇪 1️⃣", "🦄x🦄 :-) ¯\\_(ツ)_/¯"),
    *("我们好ok很 好。！ \uf900 𠀀𪜶", "か\u3099 が ｶﾞ", "\U000105c9\U00016d67\U00016d67"),
    *("[MASK]", "a[MASK]b [MASK] x", "[mask] [MASK", "[[MASK]]é"),
    *("\ud800", "x \udfff y", "\ud83d\ude00 pair", "a\ud83db"),
    *("x" * 50_000, "é" * 300, "e\u0301" * 300, "… " * 300, "a\u0301b " * 300, "好" * 500, "!" * 500),
    *("a" + " " * 9_998 + "bc", "é" + "  " * 4_999 + "éé", "好" * 10_000 + "x"),
    *("".join(map(chr, range(256))), " ".join(map(chr, range(256, 2000)))),
]  # fmt: skip
KINDS_OF_CHARACTERS = [
    *((32, 127), (32, 127), (97, 123), (97, 123), (0, 256), (0xC0, 0x250), (0x300, 0x370), (0x370, 0x530)),
    *((0x590, 0x700), (0x900, 0xE80), (0x1100, 0x1200), (0x1E00, 0x2070), (0x2100, 0x2800), (0x3000, 0x3100)),
    *((0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xD800, 0xE000), (0xF900, 0x10000), (0x1F300, 0x1FB00), (0x1D400, 0x1D800)),
    *((0x20000, 0x20100), (0x10000, 0x110000)),
]


def random_texts(count: int, *, seed: int) -> Iterator[str]:
    """Pieces of one kind of characters or of several, with all sorts of white space between them."""
    draw = random.Random(seed)
    for _ in range(count):
        few = draw.choices(KINDS_OF_CHARACTERS, k=draw.randint(1, 4))
        pieces = []
        for _ in range(draw.randint(0, 12)):
            kinds = draw.choices(few, k=draw.randint(1, 12))
            pieces.append("".join(chr(draw.randrange(*kind)) for kind in kinds))
        yield draw.choice([" ", " ", "  ", "\n", "\u2009", "\u3000", "[MASK]"]).join(pieces)


def by_python(settings: NgramSettings, texts: list[str], *, max_length: int) -> list[list[int]]:
    return [row or [UNK_ID] for row in NgramIds(settings).read(texts, max_length=max_length)]


def by_extension(reader: NativeNgrams, texts: list[str]) -> list[list[int]]:
    (column,) = reader.encode(list(texts))
    return [array("i", row).tolist() for row in column]


def native(settings: NgramSettings, *, max_length: int) -> NativeNgrams:
    return NativeNgrams(NgramIds(settings), max_length=max_length)


@pytest.mark.parametrize("max_length", [1, 2, 7, 256])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: str(settings.buckets))
def test_texts_have_the_ids_that_python_gives_them(settings: NgramSettings, max_length: int) -> None:
    texts = [text.strip() for text in (*ODD_TEXTS, *random_texts(150, seed=len(repr(settings)) + max_length))]
    reader = native(settings, max_length=max_length)

    expected = by_python(settings, texts, max_length=max_length)

    assert by_extension(reader, texts) == expected
    assert by_extension(reader, texts) == expected, "when it has all that it asked for"


def test_every_character_has_the_ids_that_python_gives_it() -> None:
    settings, known = NgramSettings(buckets=1 << 30, longest=2), list(filter(_is_worth_a_look, range(sys.maxunicode)))
    rows = [[*map(chr, known[first : first + 64])] for first in range(0, len(known), 64)]
    texts = [f"x{' '.join(row)} {''.join(row)}" for row in rows]

    found = by_extension(native(settings, max_length=400), texts)

    assert len(known) > 20_000
    assert found == by_python(settings, texts, max_length=400)


def _is_worth_a_look(number: int) -> bool:
    """Whether there is such a character; of those that are all alike (Han, Hangul, private ones) a few are enough."""
    category = unicodedata.category(chr(number))
    return category not in ("Cn", "Cs") and (category not in ("Lo", "Co") or number < 0x3000 or number % 61 == 0)


def test_characters_that_are_read_one_by_one_are_never_composed() -> None:
    composed = [text for text in map(chr, range(sys.maxunicode + 1)) if 0xAC00 <= ord(text) <= 0xD7A3 or _is_pair(text)]

    seconds = {unicodedata.normalize("NFD", text)[-1] for text in composed}
    seconds |= {chr(int(unicodedata.decomposition(text).split()[1], 16)) for text in composed if _is_pair(text)}

    assert len(seconds) > 50
    assert [f"{ord(each):x}" for each in seconds if is_independent(each)] == []
    assert all(unicodedata.combining(each) == 0 for each in map(chr, range(sys.maxunicode + 1)) if is_independent(each))


def _is_pair(character: str) -> bool:
    """Whether it is canonically the same as two characters."""
    parts = unicodedata.decomposition(character).split()
    return len(parts) == 2 and not parts[0].startswith("<")


def test_pairs_have_two_columns() -> None:
    reader, settings = native(SETTINGS[0], max_length=9), SETTINGS[0]

    first, second = reader.encode([("a cat", " été "), ("", "好")])

    assert [array("i", row).tolist() for row in first] == by_python(settings, ["a cat", ""], max_length=9)
    assert [array("i", row).tolist() for row in second] == by_python(settings, ["été", "好"], max_length=9)


def test_threads_may_share_a_reader() -> None:
    texts = [text.strip() for text in random_texts(100, seed=5)]
    reader = native(SETTINGS[0], max_length=50)
    expected = by_python(SETTINGS[0], texts, max_length=50)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: by_extension(reader, texts), range(8)))

    assert all(one == expected for one in found)


def test_a_full_memory_of_pieces_is_cleared() -> None:
    texts = [f"e\u0301{number}" for number in range((1 << 14) + 100)]
    reader = native(SETTINGS[0], max_length=9)

    assert by_extension(reader, texts) == by_python(SETTINGS[0], texts, max_length=9)
    assert by_extension(reader, texts[:9]) == by_python(SETTINGS[0], texts[:9], max_length=9)


def test_a_classifier_answers_with_both_readers_alike(tmp_path: Path) -> None:
    model, texts = exported(tmp_path), [text for text in ODD_TEXTS if len(text) < 1000]

    classifier, facts = load(model.folder, engine="native"), model.facts()

    inputs = inputs_of(model, facts)
    in_python = SingleNetwork(inputs, open_engine(model, facts, inputs, choice="native", threads=1))
    assert (classifier.logits(texts) == in_python.logits(list(texts))).all()
    assert (classifier.logits(texts) == [classifier.logits([text])[0] for text in texts]).all()
    np.testing.assert_allclose(classifier.logits(texts), load(model.folder, engine="onnx").logits(texts), atol=1e-4)


def exported(folder: Path) -> ModelFolder:
    """An int8 model of n-grams with random weights."""
    quiet_transformers()
    torch.manual_seed(0)
    labels, tokenizer = ["a", "b", "c"], StudentTokenizer.from_json(NgramSettings(buckets=999).to_json())
    section, key = Ngrams(kind="ngrams"), Key(section={}, inputs={})
    network = word_student(section, vocabulary_size=len(tokenizer), embedding_size=3, labels=labels, pair=False)
    with written_atomically(folder / "student", kind="student", key=key) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        facts = StudentFacts(
            name="ngrams", kind="ngrams", role="student", seed=0, labels=labels, language="en", pair=False,
            max_length=9, parameters=3000, parameters_without_embeddings=0, best_epoch=1, dev_accuracy=0.5,
        )  # fmt: skip
        save_student_facts(scratch, facts, history=[])
    options: dict[str, Any] = {"precision": "int8", "out": folder / "model", "key": key, "reporter": SilentReporter()}
    rows = Rows.of(ids=["1", "2"], texts=["one text", "another"])
    return export_student(
        Export(int8_agreement=0.0, calibrate=False), student=StudentFolder(folder / "student"), rows=rows, **options
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "buckets must be 2 to"),
        ({"buckets": 1}, ValueError, "buckets must be 2 to"),
        ({"buckets": (1 << 31) - 3}, ValueError, "buckets must be 2 to"),
        ({"buckets": 1 << 70}, OverflowError, "too large"),
        ({"buckets": 9, "shortest": 0}, ValueError, "shortest must be at least 1"),
        ({"buckets": "9"}, TypeError, "buckets must be an int"),
        ({"size": 9}, TypeError, "no such argument: 'size'"),
    ],
)
def test_settings_that_it_cannot_use_are_refused(arguments: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        _native.Ngrams(**arguments)


@pytest.mark.parametrize(
    ("method", "arguments", "error", "message"),
    [
        ("read", ("text", 9, 9), TypeError, "read takes a list of texts"),
        ("read", (["text"],), TypeError, "read takes a list of texts"),
        ("read", ([b"text"], 9, 9), TypeError, "a text must be a str"),
        ("read", (["text"], 0, 9), ValueError, "max_length must be an int of at least 1"),
        ("read", (["text"], 1 << 70, 9), OverflowError, "too large"),
        ("read", (["text"], 9, "9"), ValueError, "most_characters must be an int of at least 1"),
        ("add_page", ("0", []), TypeError, "add_page takes a number"),
        ("add_page", (0, []), ValueError, "a page must have 256 characters"),
        ("add_page", (0x1100, page_of_characters(0)), ValueError, "no such page"),
        ("add_page", (-1, page_of_characters(0)), ValueError, "no such page"),
        ("add_page", (0, [("a", "w")] * 255 + [("a", "?")]), ValueError, "a kind of characters"),
        ("add_page", (0, [("a", "ww")] * 256), ValueError, "as many kinds as characters"),
        ("add_page", (0, [(1, "w")] * 256), TypeError, "a text and its kinds"),
        ("add_page", (0, [("a",)] * 256), ValueError, "must have 2 items"),
        ("add_piece", ("a",), TypeError, "add_piece takes a piece"),
        ("add_piece", ("\ud800", []), ValueError, "half a character"),
        ("add_piece", ("a", [(1, (99,))]), ValueError, "no such bucket: 99"),
        ("add_piece", ("a", [(1, (-1,))]), ValueError, "out of bounds"),
        ("add_piece", ("a", [(1 << 32, ())]), ValueError, "out of bounds"),
        ("add_piece", ("a", [(1, ("1",))]), TypeError, "an int and a tuple of ints"),
    ],
)
def test_what_does_not_fit_is_refused(method: str, arguments: tuple[Any, ...], error: type, message: str) -> None:
    reader = _native.Ngrams(buckets=50)

    with pytest.raises(error, match=message):
        getattr(reader, method)(*arguments)


def test_it_says_what_it_wants_to_know() -> None:
    reader = _native.Ngrams(buckets=50)

    assert reader.read(["a ’"], 9, 99) == [[0, 0x20]]
    reader.add_page(0, page_of_characters(0))
    reader.add_page(0x20, page_of_characters(0x20))
    reader.add_page(0x03, page_of_characters(0x03))
    assert reader.read(["a’ e\u0301 [MASK]", "\ud800", "e\u0301" * 100], 9, 999) == [["e\u0301", "[MASK]"], None, None]
