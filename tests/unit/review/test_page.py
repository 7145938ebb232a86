"""The page of a review."""

from pathlib import Path

from limbeck.review.class_overlap import ClassPair, Confusion
from limbeck.review.next_rows import NextRow
from limbeck.review.page import MOST_ROWS, content_of, page
from limbeck.review.run import Review
from limbeck.review.wrong_labels import DoubtfulRow

ROW = DoubtfulRow(
    "train-3", "train", "rows.csv", 4, "<b>dull</b> film", None, "good", "bad", 0.97, "models", "looks bad"
)


def review(**changes: object) -> Review:
    found = {
        "folder": Path("runs/films/review"),
        "doubtful": [ROW],
        "pairs": [ClassPair("good", "bad", 10, Confusion(2, 0.9, "not bad"), Confusion())],
        "next_rows": [NextRow("transfer-1", "so so", None, "good", 0.51, "", None, 1)],
        "judged": [{"split": "train", "rows": 10, "doubtful": 1, "by": "models of the other parts"}],
        "agreement": {},
        "unjudged": [],
        "has_transfer": True,
    }
    return Review(**{**found, **changes})  # type: ignore[arg-type]  # of several kinds


def test_it_has_every_row_with_its_reason_and_no_markup_of_others() -> None:
    html = page(content_of(review()))

    assert "&lt;b&gt;dull&lt;/b&gt; film" in html
    assert "looks bad" in html
    assert "rows.csv, row 4" in html
    assert "train: 1 of 10 labels look wrong; judged by models of the other parts" in html
    assert "2: not bad" in html
    assert "good (51 %)" in html
    assert "http" not in html.split("<body>")[1]


def test_long_lists_end_with_how_many_more_there_are() -> None:
    html = page(content_of(review(doubtful=[ROW] * (MOST_ROWS + 7), pairs=[], next_rows=[])))

    assert html.count("looks bad") == MOST_ROWS
    assert "7 more are in labels.csv" in html
    assert "Classes that overlap" not in html
    assert "None." in page(content_of(review(doubtful=[])))
