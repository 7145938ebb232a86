"""Finding the text in a file without labels."""

from pathlib import Path

import pytest

from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.drafting.layout import find_layout
from limbeck.drafting.unlabelled import TransferTextUnclear, find_texts

NOUNS = ["soup", "room", "lamp", "garden", "letter", "train", "window", "market", "river", "coat"]


def columns_of(path: Path, corpus: Inspection, *lines: str) -> tuple[str, str | None]:
    """The names of the columns that are found."""
    path.write_text("\n".join(lines), encoding="utf-8")
    layout = find_layout(path, least_columns=1)
    text, pair = find_texts(layout, path=path, corpus=corpus)
    return layout.columns[text], None if pair is None else layout.columns[pair]


@pytest.fixture
def corpus(tmp_path: Path) -> Inspection:
    """Texts under `review`."""
    path = tmp_path / "reviews.csv"
    rows = (f"the {noun} was fine,{number % 2}" for number, noun in enumerate(NOUNS))
    path.write_text("\n".join(["review,label", *rows]), encoding="utf-8")
    return inspect_file(path)


@pytest.fixture
def pairs(tmp_path: Path) -> Inspection:
    """Pairs under `left` and `right`."""
    path = tmp_path / "pairs.csv"
    rows = (f"the {noun} was fine,nobody saw the {noun},{number % 2}" for number, noun in enumerate(NOUNS))
    path.write_text("\n".join(["left,right,label", *rows]), encoding="utf-8")
    return inspect_file(path)


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("id,text,review", "review"),  # the corpus's own name has precedence over the usual one
        ("id,author,Text", "Text"),
        ("stars,title,body", "body"),
        ("label,number,what they said", "what they said"),
        ("source,headline,extra", "headline"),
    ],
)
def test_the_text_is_found_by_the_corpus_then_by_usual_names_then_by_what_a_column_holds(
    tmp_path: Path, corpus: Inspection, header: str, column: str
) -> None:
    names = header.split(",")
    cells = {names[0]: "{n}", names[1]: "someone", names[2]: "the {noun} was fine", column: "a {noun}"}
    rows = (",".join(cells[name].format(n=n % 5, noun=noun) for name in names) for n, noun in enumerate(NOUNS))

    assert columns_of(tmp_path / "more.csv", corpus, header, *rows) == (column, None)


def test_a_column_of_that_name_without_words_is_skipped(tmp_path: Path, corpus: Inspection) -> None:
    rows = (f"{number},,a {noun}" for number, noun in enumerate(NOUNS))

    assert columns_of(tmp_path / "more.csv", corpus, "text,review,remark", *rows) == ("remark", None)


@pytest.mark.parametrize("header", ["right,left", "sentence1,sentence2"])
def test_both_texts_of_a_pair_are_found(tmp_path: Path, pairs: Inspection, header: str) -> None:
    rows = (f"the {noun} was fine,nobody saw the {noun}" for noun in NOUNS)

    found = columns_of(tmp_path / "more.csv", pairs, header, *rows)

    assert found == (("left", "right") if "left" in header else ("sentence1", "sentence2"))


def test_one_text_is_not_enough_for_pairs(tmp_path: Path, pairs: Inspection) -> None:
    with pytest.raises(TransferTextUnclear, match="two texts"):
        columns_of(tmp_path / "more.csv", pairs, "id,left", *(f"{n},a {noun}" for n, noun in enumerate(NOUNS)))


@pytest.mark.parametrize(
    "lines", [["id,stars", *(f"{n},{n % 5}" for n in range(9))], ["stars,kind", *(f"{n},news" for n in range(9))]]
)
def test_a_file_without_text_is_refused_with_its_columns(tmp_path: Path, corpus: Inspection, lines: list[str]) -> None:
    with pytest.raises(TransferTextUnclear) as caught:
        columns_of(tmp_path / "more.csv", corpus, *lines)

    assert caught.value.wanted == ("review",)
    assert list(caught.value.columns) == lines[0].split(",")
