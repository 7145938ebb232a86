"""The drafted recipe's section about changed copies."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from limbeck.drafting import draft, draft_transfer
from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.draft_transfer import augmentation_lines
from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.recipe.augmentation import Augmentation, Ngram
from limbeck.recipe.load import parse_recipe


@pytest.fixture(autouse=True)
def taggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are installed."""
    monkeypatch.setattr(draft_transfer, "find_spec", lambda _: object())


@pytest.fixture
def sentences(tmp_path: Path) -> Inspection:
    path = tmp_path / "train.csv"
    path.write_text("text,label\n" + "".join(f"this is text {word},{word > 'd'}\n" for word in "abcdefgh"))
    return inspect_file(path)


@pytest.fixture
def pairs(tmp_path: Path) -> Inspection:
    path = tmp_path / "pairs.csv"
    rows = "".join(f"what is {word} then,who knows {word} here,{n % 2}\n" for n, word in enumerate("abcdefgh"))
    path.write_text("question1,question2,label\n" + rows)
    return inspect_file(path)


def drafted(found: Inspection, *, has_text: bool = False) -> Augmentation:
    lines = augmentation_lines(found, gpu=True, has_text=has_text)
    return Augmentation.model_validate(tomllib.loads("\n".join(lines))["augmentation"])


def kinds(section: Augmentation) -> list[str]:
    return [method.kind for method in section.methods]


def test_rows_alone_get_many_copies_of_every_kind(sentences: Inspection) -> None:
    section = drafted(sentences)

    assert (section.copies, kinds(section)) == (20, ["masking", "pos_swap", "ngram"])


def test_beside_unlabelled_text_a_few_copies_do(sentences: Inspection) -> None:
    section = drafted(sentences, has_text=True)

    assert (section.copies, kinds(section)) == (5, ["masking", "ngram"])


@pytest.mark.parametrize(
    ("language", "is_tagged"), [("German", True), ("Dutch", True), ("French", False), ("Lao", False)]
)
def test_words_are_swapped_in_languages_that_a_tagger_knows(
    sentences: Inspection, language: str, is_tagged: bool
) -> None:
    section = drafted(replace(sentences, other_language=language))

    assert ("pos_swap" in kinds(section)) == is_tagged


def test_without_a_tagger_no_words_are_swapped(sentences: Inspection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_transfer, "find_spec", lambda _: None)

    assert kinds(drafted(sentences)) == ["masking", "ngram"]


def test_pairs_are_put_together_anew(pairs: Inspection) -> None:
    assert kinds(drafted(pairs)) == ["pairing", "masking", "pos_swap"]


@pytest.mark.parametrize(("language", "words"), [("en", (20, 200)), ("zh", (12, 120))])
def test_documents_are_cut_into_passages(
    sentences: Inspection, language: Literal["en", "zh"], words: tuple[int, int]
) -> None:
    section = drafted(replace(sentences, language=language, median_words=170, long_words=500))

    (method,) = section.methods
    assert isinstance(method, Ngram)
    assert (section.copies, method.probability, method.shortest, method.longest) == (8, 1.0, *words)


def test_a_few_documents_among_sentences_do_not_keep_the_sentences_from_having_copies(sentences: Inspection) -> None:
    section = drafted(replace(sentences, median_words=12, long_words=500))

    assert (section.copies, kinds(section)) == (20, ["masking", "pos_swap", "ngram"])


@pytest.mark.parametrize(
    ("rows", "is_complete", "copies"),
    [(70_000, True, 20), (140_000, True, 10), (199_999, True, 7), (200_000, False, 1)],
)
def test_the_more_rows_the_fewer_copies(sentences: Inspection, rows: int, is_complete: bool, copies: int) -> None:
    assert drafted(replace(sentences, rows=rows, is_complete=is_complete)).copies == copies


def test_without_a_gpu_much_text_is_in_comments(sentences: Inspection) -> None:
    many = replace(sentences, rows=50_000)
    lines = augmentation_lines(many, gpu=False, has_text=False)

    assert all(line.startswith("# ") for line in lines)
    section = tomllib.loads("\n".join(line.removeprefix("# ") for line in lines[2:]))["augmentation"]
    assert Augmentation.model_validate(section) == drafted(many)


@pytest.mark.parametrize(
    ("rows", "general", "copies"),
    [(500, 0, 20), (4_000, 0, 10), (30_000, 0, 1), (500, 20_000, 20), (4_000, 20_000, 5), (20_000, 20_000, 1)],
)
def test_without_a_gpu_there_are_as_many_copies_as_are_labelled_soon(
    sentences: Inspection, rows: int, general: int, copies: int
) -> None:
    lines = augmentation_lines(replace(sentences, rows=rows), gpu=False, has_text=False, general=general)

    assert tomllib.loads("\n".join(lines))["augmentation"]["copies"] == copies


@pytest.mark.parametrize("gpu", [True, False])
def test_a_draft_of_many_rows_has_copies_only_with_a_gpu(
    sentences: Inspection, monkeypatch: pytest.MonkeyPatch, gpu: bool
) -> None:
    monkeypatch.setattr(draft, "has_gpu", lambda: gpu)

    many = replace(sentences, rows=50_000)
    text = draft_recipe(many.path, many, data_path="train.csv")

    assert (parse_recipe(tomllib.loads(text), recipe="drafted").augmentation is not None) is gpu
