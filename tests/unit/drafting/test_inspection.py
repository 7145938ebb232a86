"""Inspecting a data file. The toy files have the layouts of well-known data sets, the rows are our own."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.corpus.file_rows import RowsMostlyEmpty
from limbeck.corpus.run import LabelUnknown
from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.drafting.roles import ColumnGivenTwice, LabelUnclear
from limbeck.errors import ColumnMissing

NOUNS = ["soup", "room", "lamp", "garden", "letter", "train", "window", "market", "river", "coat"]
TEXTS = [f"the {noun} by the {other} was quite something today" for noun in NOUNS for other in NOUNS]
OTHERS = [f"nobody saw the {other} near that {noun} again" for noun in NOUNS for other in NOUNS]
CHINESE = [
    f"今天在第{first}条街看到了{second}号商店的新灯"
    for first in "一二三四五六七八九十"
    for second in "甲乙丙丁戊己庚辛壬癸"
]
CHINESE_OTHERS = [text.replace("看到了", "怎么去").replace("今天", "请问") for text in CHINESE]
ZEROS_AND_ONES = [str(number % 2) for number in range(100)]


def look(path: Path, lines: list[list[str]], *, delimiter: str = "\t", **given: Any) -> Inspection:
    content = "\n".join(delimiter.join(cells) for cells in lines) + "\n"
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return inspect_file(path, **given)


def columns(*cells: list[str]) -> list[list[str]]:
    return [list(row) for row in zip(*cells, strict=True)]


def roles(found: Inspection) -> tuple[object, object, object, bool]:
    return found.text, found.pair, found.label, found.form.header


def test_a_tsv_of_sentence_and_label(tmp_path: Path) -> None:
    found = look(tmp_path / "train.tsv", [["sentence", "label"], *columns(TEXTS, ZEROS_AND_ONES)])

    assert roles(found) == ("sentence", None, "label", True)
    assert found.labels == {"0": 50, "1": 50}
    assert (found.format, found.delimiter, found.rows, found.language) == ("tsv", "\t", 100, "en")
    assert (found.median_words, found.long_words, found.is_long) == (9, 9, False)


def test_a_compressed_tsv_with_ids_that_are_never_the_label_or_the_text(tmp_path: Path) -> None:
    ids = [f"{number}_review_with_a_name_that_is_longer_than_any_of_the_texts_there" for number in range(100)]

    found = look(tmp_path / "train.tsv.gz", [["id", "label", "sentence"], *columns(ids, ZEROS_AND_ONES, TEXTS)])

    assert roles(found) == ("sentence", None, "label", True)


def test_chinese_with_the_label_first(tmp_path: Path) -> None:
    found = look(tmp_path / "train.tsv", [["label", "text_a"], *columns(ZEROS_AND_ONES, CHINESE)])

    assert roles(found) == ("text_a", None, "label", True)
    assert found.language == "zh"
    assert found.median_words == len(CHINESE[0])


def test_chinese_titles_with_class_names_and_no_header(tmp_path: Path) -> None:
    names = [["news_car", "news_house", "news_game", "news_edu"][number % 4] for number in range(100)]

    found = look(tmp_path / "train.tsv", columns(CHINESE, names))

    assert roles(found) == (0, None, 1, False)
    assert list(found.labels) == ["news_car", "news_edu", "news_game", "news_house"]


def test_a_txt_file_of_titles_and_class_numbers(tmp_path: Path) -> None:
    found = look(tmp_path / "train45k.txt", columns(CHINESE, [str(number % 10) for number in range(100)]))

    assert roles(found) == (0, None, 1, False)
    assert (found.format, found.form.format, list(found.labels)) == ("tsv", "auto", [str(n) for n in range(10)])


def test_two_questions_and_whether_they_are_the_same(tmp_path: Path) -> None:
    ids = [str(number * 7) for number in range(100)]
    header = ["id", "question1", "question2", "is_duplicate"]

    found = look(tmp_path / "train.tsv", [header, *columns(ids, TEXTS, OTHERS, ZEROS_AND_ONES)])

    assert roles(found) == ("question1", "question2", "is_duplicate", True)
    assert found.median_words == 17


def test_two_chinese_texts_without_a_header(tmp_path: Path) -> None:
    found = look(tmp_path / "train.txt", columns(CHINESE, CHINESE_OTHERS, ZEROS_AND_ONES))

    assert roles(found) == (0, 1, 2, False)


def test_pairs_with_number_columns_and_stray_quotes(tmp_path: Path) -> None:
    ids = [str(1000 + number) for number in range(100)]
    header = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]
    quoted = [f'" {text}' if number % 9 == 0 else text for number, text in enumerate(TEXTS)]

    found = look(tmp_path / "train.tsv", [header, *columns(ZEROS_AND_ONES, ids, ids, quoted, OTHERS)])

    assert roles(found) == ("#1 String", "#2 String", "Quality", True)
    assert found.rows == 100
    assert found.has_quotes
    assert found.form.quoting == "auto"


def test_a_long_first_text_and_a_short_second_one_are_a_pair_by_their_names(tmp_path: Path) -> None:
    longer = [f"{text} and {text} and {text}" for text in TEXTS]
    index = [str(number) for number in range(100)]
    labels = ["not_entailment" if number % 2 else "entailment" for number in range(100)]
    header = ["index", "sentence1", "sentence2", "label"]

    found = look(tmp_path / "train.tsv", [header, *columns(index, longer, OTHERS, labels)])

    assert roles(found) == ("sentence1", "sentence2", "label", True)


def test_a_source_column_and_a_mark_that_is_mostly_empty_are_not_the_label(tmp_path: Path) -> None:
    sources = [["ab12", "cd34", "ef56"][number % 3] for number in range(100)]
    marks = ["" if label == "1" else "*" for label in ZEROS_AND_ONES]

    found = look(tmp_path / "train.tsv", columns(sources, ZEROS_AND_ONES, marks, TEXTS))

    assert roles(found) == (3, None, 1, False)


def test_a_csv_with_a_category_next_to_the_label(tmp_path: Path) -> None:
    categories = [["书籍", "酒店"][number % 2] for number in range(100)]
    quoted = [f'"{text},很好"' for text in CHINESE]

    found = look(
        tmp_path / "shop.csv", [["cat", "label", "review"], *columns(categories, ZEROS_AND_ONES, quoted)], delimiter=","
    )

    assert roles(found) == ("review", None, "label", True)
    assert found.format == "csv"


def test_title_and_body_are_not_taken_for_a_pair(tmp_path: Path) -> None:
    found = look(tmp_path / "a.tsv", [["title", "body", "topic"], *columns(OTHERS, TEXTS, ZEROS_AND_ONES)])

    assert (found.text, found.pair) == ("body", None)


def test_addresses_are_not_taken_for_the_text(tmp_path: Path) -> None:
    links = [f"https://example.org/a/very/long/address/that/goes/on/and/on/and/on/{number}" for number in range(100)]

    found = look(tmp_path / "a.tsv", [["link", "said", "label"], *columns(links, TEXTS, ZEROS_AND_ONES)])

    assert (found.text, found.pair) == ("said", None)


def test_jsonl_and_parquet_have_columns_by_name(tmp_path: Path) -> None:
    rows = [{"id": n, "content": TEXTS[n], "stars": n % 5 + 1.0} for n in range(100)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")

    for name in ("a.jsonl", "a.parquet"):
        found = inspect_file(tmp_path / name)

        assert (found.text, found.pair, found.label) == ("content", None, "stars")
        assert list(found.labels) == ["1", "2", "3", "4", "5"]


def test_columns_that_are_given_are_not_guessed(tmp_path: Path) -> None:
    lines = [["first", "second", "mood"], *columns(TEXTS, OTHERS, ZEROS_AND_ONES)]

    found = look(tmp_path / "a.tsv", lines, text="second", label="mood")
    by_number = look(tmp_path / "a.tsv", lines, text="1", label="2")

    assert (found.text, found.pair, found.label) == ("second", None, "mood")
    assert (by_number.text, by_number.label) == ("second", "mood")


def test_a_given_column_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ColumnMissing) as caught:
        look(tmp_path / "a.tsv", [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)], label="moood")

    assert caught.value.columns == ("said", "mood")
    assert str(caught.value).endswith("Set `--label` to one of them, by its name or its number from 0.")


@pytest.mark.parametrize(("name", "blank"), [("mood", 5), ("label", 40)])
def test_a_label_that_is_sometimes_blank_is_found_and_those_rows_do_not_count(
    tmp_path: Path, name: str, blank: int
) -> None:
    labels = ["" if number in range(9, 9 + blank) else label for number, label in enumerate(ZEROS_AND_ONES)]
    lines = [["said", name], *columns(TEXTS, labels)]

    guessed = look(tmp_path / "a.tsv", lines)
    named = look(tmp_path / "a.tsv", lines, text="said", label=name)

    assert guessed == named
    assert sum(guessed.labels.values()) == guessed.rows == 100 - blank
    assert f"rows that are dropped: {blank} without label" in guessed.summary()


def test_a_label_that_is_mostly_blank_is_refused_with_its_first_row(tmp_path: Path) -> None:
    labels = ["" if number > 9 else label for number, label in enumerate(ZEROS_AND_ONES)]

    with pytest.raises(RowsMostlyEmpty, match=r"(?s)90 without label, of 100 rows.*row 12"):
        look(tmp_path / "a.tsv", [["said", "mood"], *columns(TEXTS, labels)], text="said", label="mood")


def test_a_column_of_another_name_that_is_blank_more_often_is_not_the_label(tmp_path: Path) -> None:
    marks = ["" if number < 6 else label for number, label in enumerate(ZEROS_AND_ONES)]

    with pytest.raises(LabelUnclear) as caught:
        look(tmp_path / "a.tsv", [["said", "mood"], *columns(TEXTS, marks)])

    assert caught.value.columns == {"said": TEXTS[0], "mood": ZEROS_AND_ONES[6]}, "examples are not blank"


def test_one_column_cannot_be_text_and_label(tmp_path: Path) -> None:
    with pytest.raises(ColumnGivenTwice, match="--text and --label name the same column"):
        look(tmp_path / "a.tsv", [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)], text="said", label=0)


def test_without_a_label_column_the_columns_are_listed_with_examples(tmp_path: Path) -> None:
    with pytest.raises(LabelUnclear, match="--label") as caught:
        look(tmp_path / "a.tsv", [["question1", "question2"], *columns(TEXTS, OTHERS)])

    assert caught.value.role == "label"
    assert caught.value.columns == {"question1": TEXTS[0], "question2": OTHERS[0]}


def test_a_file_of_one_column_has_no_label(tmp_path: Path) -> None:
    with pytest.raises(LabelUnclear):
        look(tmp_path / "a.txt", columns(TEXTS))


def test_dev_and_test_in_the_folder_of_train_are_used_only_if_they_have_the_same_labels(tmp_path: Path) -> None:
    header = ["sentence", "label"]
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\nfine\t1\n")
    (tmp_path / "test.tsv").write_text("sentence\tlabel\nfine\t-1\n")

    found = look(tmp_path / "train.tsv", [header, *columns(TEXTS, ZEROS_AND_ONES)])

    assert found.beside == {"dev": "dev.tsv"}


@pytest.mark.parametrize(
    ("data", "others"),
    [
        ("reviews.tsv", {"dev": "reviews-dev.tsv", "test": "reviews_test.tsv"}),
        ("reviews.tsv", {"dev": "reviews.validation.tsv", "test": "reviews.test.tsv"}),
        ("reviews.tsv", {"dev": "valid.tsv", "test": "test.tsv"}),
        ("reviews_train.tsv.gz", {"dev": "reviews_val.tsv.gz", "test": "reviews_test.tsv.gz"}),
    ],
)
def test_dev_and_test_are_found_by_their_names(tmp_path: Path, data: str, others: dict[str, str]) -> None:
    lines = [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)]
    for name in others.values():
        look(tmp_path / name, lines)

    assert look(tmp_path / data, lines).beside == others


def test_a_test_file_with_a_label_of_its_own_is_used_and_one_without_labels_is_not(tmp_path: Path) -> None:
    (tmp_path / "reviews-test.tsv").write_text("said\tmood\nfine\t1\nso so\t2\nbad\t0\n")
    (tmp_path / "reviews-dev.tsv").write_text("said\tstars\nfine\t1\n")

    found = look(tmp_path / "reviews.tsv", [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)])

    assert found.beside == {"test": "reviews-test.tsv"}


def test_files_that_are_given_are_taken_in_place_of_those_beside_the_data(tmp_path: Path) -> None:
    lines = [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)]
    other = tmp_path / "elsewhere" / "mine.tsv"
    other.parent.mkdir()
    other.write_text("said\tmood\nfine\t1\nso so\t2\n")
    for name in ("a.tsv", "a-test.tsv", "a-dev.tsv"):
        look(tmp_path / name, lines)

    found = inspect_file(tmp_path / "a.tsv", given={"test": other})

    assert found.held_out == {"dev": tmp_path / "a-dev.tsv", "test": other}
    assert "test: mine.tsv\n" in found.summary()
    assert "labels of mine.tsv that a.tsv does not have: 2 × 1" in found.summary()


def test_a_given_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    look(tmp_path / "a.tsv", [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)])
    other = tmp_path / "other.tsv"

    other.write_text("words\tmood\nfine\t1\n")
    with pytest.raises(ColumnMissing, match="said"):
        inspect_file(tmp_path / "a.tsv", given={"dev": other})
    other.write_text("said\tmood\nfine\tgood\n")
    with pytest.raises(LabelUnknown, match="dev has only labels"):
        inspect_file(tmp_path / "a.tsv", given={"dev": other})


def test_a_guessed_encoding_is_a_note(tmp_path: Path) -> None:
    lines = ["text,label", *(f"le café numéro {number},{number % 2}" for number in range(20))]
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode("latin-1"))

    assert "encoding: cp1252, which is a guess" in inspect_file(tmp_path / "a.csv").summary()
    assert "guess" not in inspect_file(tmp_path / "a.csv", encoding="latin-1").summary()


def test_the_summary_shows_what_was_found(tmp_path: Path) -> None:
    summary = look(tmp_path / "a.tsv", [["said", "mood"], *columns(TEXTS, ZEROS_AND_ONES)], label="mood").summary()

    assert "a.tsv: tsv, with a header, 100 rows" in summary
    assert "text: said, label: mood" in summary
    assert "0 × 50, 1 × 50" in summary


LABELS = ["toxic", "obscene", "threat"]
SETS = [[label for place, label in enumerate(LABELS) if number % (place + 2) == 0] for number in range(100)]
TOXIC, OBSCENE, THREAT = (sum(label in labels for labels in SETS) for label in LABELS)


def several(found: Inspection) -> tuple[object, bool, str | None]:
    return found.label, found.multi_label, found.label_separator


def test_lists_in_the_label_column_are_several_labels_a_row(tmp_path: Path) -> None:
    rows = [{"text": TEXTS[n], "words": TEXTS[n].split(), "labels": SETS[n]} for n in range(100)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")

    for name in ("a.jsonl", "a.parquet"):
        found = inspect_file(tmp_path / name)

        assert (found.text, several(found)) == ("text", ("labels", True, None))
        assert found.labels == {"obscene": OBSCENE, "threat": THREAT, "toxic": TOXIC}


@pytest.mark.parametrize("separator", ["|", ";", ", "])
@pytest.mark.parametrize("name", ["label", "tags"])
def test_names_that_recur_between_separators_are_several_labels_a_row(
    tmp_path: Path, name: str, separator: str
) -> None:
    cells = [separator.join(labels) for labels in SETS]

    found = look(tmp_path / "a.tsv", [["said", name], *columns(TEXTS, cells)])

    assert (found.text, several(found)) == ("said", (name, True, separator.strip()))
    assert found.labels == {"obscene": OBSCENE, "threat": THREAT, "toxic": TOXIC}


def test_a_label_column_that_is_given_is_looked_at_for_several_labels(tmp_path: Path) -> None:
    cells = ["|".join(labels) for labels in SETS]

    found = look(
        tmp_path / "a.tsv", [["label", "said", "flaws"], *columns(ZEROS_AND_ONES, TEXTS, cells)], label="flaws"
    )

    assert several(found) == ("flaws", True, "|")


def test_a_label_column_is_the_label_although_there_are_tags(tmp_path: Path) -> None:
    cells = ["|".join(labels) for labels in SETS]

    found = look(tmp_path / "a.tsv", [["said", "tags", "label"], *columns(TEXTS, cells, ZEROS_AND_ONES)])

    assert several(found) == ("label", False, None)


def test_columns_of_zeros_and_ones_are_several_labels_a_row(tmp_path: Path) -> None:
    ids = [str(number) for number in range(100)]
    marks = [[str(int(label in labels)) for labels in SETS] for label in LABELS]

    found = look(tmp_path / "a.tsv", [["id", "comment_text", *LABELS], *columns(ids, TEXTS, *marks)])

    assert (found.text, found.pair, several(found)) == ("comment_text", None, (LABELS, True, None))
    assert found.labels == {"toxic": TOXIC, "obscene": OBSCENE, "threat": THREAT}
    assert "label: toxic, obscene, threat" in found.summary()
    assert "several a row" in found.summary()


def test_a_label_column_is_the_label_although_there_are_columns_of_zeros_and_ones(tmp_path: Path) -> None:
    marks = [[str(int(label in labels)) for labels in SETS] for label in LABELS]

    found = look(tmp_path / "a.tsv", [["said", "label", *LABELS], *columns(TEXTS, ZEROS_AND_ONES, *marks)])

    assert several(found) == ("label", False, None)


def test_columns_of_probabilities_are_the_label(tmp_path: Path) -> None:
    shares = [number / 100 for number in range(100)]
    sources = [["web", "app"][number % 2] for number in range(100)]
    cells = [[f"{share:.2f}" for share in shares], [f"{1 - share:.2f}" for share in shares]]

    found = look(tmp_path / "a.tsv", [["said", "source", "calm", "loud"], *columns(TEXTS, sources, *cells)])

    assert several(found) == (["calm", "loud"], False, None)
    assert found.labels == {"calm": 50, "loud": 50}


@pytest.mark.parametrize("label", ["label", "gold"])
@pytest.mark.parametrize(
    ("names", "shift"),
    [(["p_calm", "p_loud"], 0.0), (["calm_Score", "loud_score"], 0.0), (["logit_calm", "logit_loud"], 3.5)],
)
def test_columns_of_numbers_beside_the_label_are_a_models_answers(
    tmp_path: Path, names: list[str], shift: float, label: str
) -> None:
    moods = [["calm", "loud"][number % 2] for number in range(100)]
    shares = [number / 100 for number in range(100)]
    cells = [[f"{share - shift:.2f}" for share in shares], [f"{1 - share + shift:.2f}" for share in shares]]

    found = look(tmp_path / "a.tsv", [["said", label, *names], *columns(TEXTS, moods, *cells)])

    assert (found.text, found.label, found.scores) == ("said", label, dict(zip(["calm", "loud"], names, strict=True)))
    assert f"teacher: its answers are in {names[0]}, {names[1]}" in found.summary()


def test_columns_of_zeros_and_ones_beside_the_label_are_no_answers(tmp_path: Path) -> None:
    moods = [["calm", "loud"][number % 2] for number in range(100)]
    marks = [[str(int(mood == name)) for mood in moods] for name in ("calm", "loud")]

    assert look(tmp_path / "a.tsv", [["said", "label", "calm", "loud"], *columns(TEXTS, moods, *marks)]).scores == {}


def test_files_in_the_folder_of_train_are_read_with_its_layout(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("said\ttags\nfine\tthreat; toxic\nwell\t\n")
    (tmp_path / "test.tsv").write_text("said\ttags\nfine\t\nwell\t\n")
    cells = ["; ".join(labels) for labels in SETS]

    found = look(tmp_path / "train.tsv", [["said", "tags"], *columns(TEXTS, cells)])

    assert found.beside == {"dev": "dev.tsv"}


@pytest.mark.parametrize("write", [json.dumps, repr])
@pytest.mark.parametrize("name", ["label", "flaws"])
def test_lists_written_as_text_are_several_labels_a_row(
    tmp_path: Path, write: Callable[[list[str]], str], name: str
) -> None:
    cells = [write(labels) for labels in SETS]

    found = look(tmp_path / "a.tsv", [["said", name], *columns(TEXTS, cells)])

    assert (found.text, several(found)) == ("said", (name, True, None))
    assert found.labels == {"obscene": OBSCENE, "threat": THREAT, "toxic": TOXIC}


def test_columns_of_yes_and_no_are_several_labels_a_row(tmp_path: Path) -> None:
    marks = [["yes" if label in labels else "no" for labels in SETS] for label in LABELS]

    found = look(tmp_path / "a.tsv", [["said", *LABELS], *columns(TEXTS, *marks)])

    assert several(found) == (LABELS, True, None)
    assert found.labels == {"toxic": TOXIC, "obscene": OBSCENE, "threat": THREAT}


SPLITS = [["train", "dev", "test", "transfer", "augmented"][number % 5] for number in range(100)]


@pytest.mark.parametrize("multi_label", [False, True])
def test_an_export_of_labels_has_its_classes_in_its_column_names(tmp_path: Path, multi_label: bool) -> None:
    shares = [number / 100 for number in range(100)]
    calm = [f"{share:.2f}" for share in shares]
    loud = calm if multi_label else [f"{1 - share:.2f}" for share in shares]
    header = ["text", "pair", "split", "probability_calm", "probability_loud"]
    lines = [header, *columns(TEXTS, ["why so"] * 100, SPLITS, calm, loud)]
    look(tmp_path / "dev.tsv", lines)

    found = look(tmp_path / "train.tsv", lines)

    assert (found.text, found.pair) == ("text", "pair")
    assert several(found) == (["probability_calm", "probability_loud"], multi_label, None)
    assert found.label_names == {"probability_calm": "calm", "probability_loud": "loud"}
    assert found.labels == {"calm": 50, "loud": 50}
    assert found.beside == {"dev": "dev.tsv"}


def test_the_split_of_a_row_is_not_its_label(tmp_path: Path) -> None:
    with pytest.raises(LabelUnclear):
        look(tmp_path / "a.tsv", [["text", "split"], *columns(TEXTS, SPLITS)])

    named = look(tmp_path / "a.tsv", [["text", "split"], *columns(TEXTS, SPLITS)], label="split")
    other = look(tmp_path / "a.tsv", [["text", "split"], *columns(TEXTS, ZEROS_AND_ONES)])

    assert (named.label, other.label) == ("split", "split")


@pytest.mark.parametrize("name", ["intent_id", "Class Index", "categoryName", "label_code", "topic-no"])
def test_the_number_or_name_of_a_class_is_the_label(tmp_path: Path, name: str) -> None:
    codes = [str(number % 40) for number in range(100)]

    found = look(tmp_path / "a.tsv", [["utterance", name], *columns(TEXTS, codes)])

    assert (found.text, found.label, len(found.labels)) == ("utterance", name, 40)


def test_names_of_classes_are_the_label_rather_than_their_numbers(tmp_path: Path) -> None:
    names = [NOUNS[number % 2] for number in range(100)]

    found = look(tmp_path / "a.tsv", [["category_id", "category_name", "text"], *columns(ZEROS_AND_ONES, names, TEXTS)])

    assert found.label == "category_name"
    assert any("category_id" in note for note in found.notes) is False  # a number of the same classes


def test_a_column_of_an_unknown_name_with_very_many_values_is_the_label_if_it_is_the_only_one(tmp_path: Path) -> None:
    many = [f"{text} {number}" for number in range(8) for text in TEXTS]
    skills = [f"skill {number % 150}" for number in range(800)]
    others = [f"team {number % 140}" for number in range(800)]

    found = look(tmp_path / "a.tsv", [["utterance", "skill"], *columns(many, skills)])

    assert (found.text, found.label, len(found.labels)) == ("utterance", "skill", 150)
    with pytest.raises(LabelUnclear):
        look(tmp_path / "b.tsv", [["utterance", "skill", "team"], *columns(many, skills, others)])


def test_a_column_of_splits_is_used_and_said(tmp_path: Path) -> None:
    splits = ["Training" if number % 5 else "valid" if number % 10 else "TEST" for number in range(100)]
    lines = [["text", "label", "subset"], *columns(TEXTS, ZEROS_AND_ONES, splits)]

    found = look(tmp_path / "train.tsv", lines)

    assert (found.split, found.split_rows) == ("subset", {"train": 80, "dev": 10, "test": 10})
    assert "splits: train 80, dev 10, test 10, by the column subset" in found.summary()
    given = look(tmp_path / "train.tsv", lines, given={"test": tmp_path / "train.tsv"})
    assert given.split is None


@pytest.mark.parametrize("splits", [["train"] * 100, ["dev", "test"] * 50, ["train", "transfer"] * 50])
def test_a_column_that_does_not_split_every_row_is_not_used(tmp_path: Path, splits: list[str]) -> None:
    found = look(tmp_path / "a.tsv", [["text", "label", "split"], *columns(TEXTS, ZEROS_AND_ONES, splits)])

    assert (found.label, found.split) == ("label", None)


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    sizes = [["small", "medium", "large"][number % 3] for number in range(100)]
    days = [f"2031-05-0{number % 9 + 1}" for number in range(100)]

    found = look(
        tmp_path / "a.tsv",
        [["subject", "body", "size", "day", "label"], *columns(OTHERS, TEXTS, sizes, days, ZEROS_AND_ONES)],
    )

    texts, others = (next(note for note in found.notes if start in note) for start in ("not read", "could be"))
    assert "subject" in texts
    assert "size" in others
    assert "day" not in others


def test_an_encoding_that_is_probably_wrong_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "größer,a\nkälter,b\n" * 4, encoding="utf-8")

    assert any("although the file is valid UTF-8" in note for note in inspect_file(path, encoding="latin-1").notes)
    assert not inspect_file(path, encoding="UTF8").notes
    path.write_text("text,label\n" + "größer,a\nkälter,b\n" * 4, encoding="latin-1")
    assert not any("although" in note for note in inspect_file(path, encoding="latin-1").notes)
