"""A file as a teacher: whatever its format and its columns, each text gets the logits that the file says."""

import csv
import gzip
import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import NO_LABEL, Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import FileEmpty, RowMalformed
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import FileTeacher
from limbeck.runtime.answers import PredictionWriter
from limbeck.runtime.entries import Entry
from limbeck.teacher import answers_file
from limbeck.teacher.answers_file import open_answers
from limbeck.teacher.run import prepare_teacher
from limbeck.teacher.score_columns import AnswerMalformed

KEY = Key(section={}, inputs={})
LABELS = ["negative", "positive"]
HALF_LOG_3 = math.log(3) / 2  # the logits of (3/4, 1/4) are plus and minus this, their mean being 0
ANSWERS: list[dict[str, Any]] = [
    {"text": "a fine film", "negative": 0.25, "positive": 0.75},
    {"text": "a dull film", "negative": 0.75, "positive": 0.25},
    {"text": "an odd film", "negative": 0.5, "positive": 0.5},
]
EXPECTED = np.array([[-HALF_LOG_3, HALF_LOG_3], [HALF_LOG_3, -HALF_LOG_3], [0, 0]])
TEXTS = [row["text"] for row in ANSWERS]

Row = Mapping[str, Any]
Read = Callable[..., TeacherFolder]
Write = Callable[[Path, Sequence[Row]], Path]


class Notes(SilentReporter):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


def corpus_of(
    folder: Path,
    *,
    dev: Mapping[str, Any] | None = None,
    labels: Sequence[str] = LABELS,
    pairs: Mapping[str, str] | None = None,
    multi_label: bool = False,
) -> Corpus:
    """A corpus whose dev is {text: class number, or a 0 or 1 for each class}; train is dev and a row more."""
    dev = dev or {"a fine film": 1, "a dull film": 0}
    train = {**dev, "a film nobody saw": next(iter(dev.values()))}
    splits = {
        split: Rows.of(
            ids=[f"{split}-{number}" for number in range(len(rows))],
            texts=list(rows),
            pairs=None if pairs is None else [pairs.get(text, "") for text in rows],
            labels=np.array(list(rows.values())),
        )
        for split, rows in (("train", train), ("dev", dev))
    }
    facts = {"name": "toy", "labels": list(labels), "language": "en", "pair": pairs is not None}
    with written_atomically(folder, kind="corpus", key=KEY) as scratch:
        save_corpus(scratch, splits=splits, facts={**facts, "multi_label": multi_label})
    return Corpus(folder)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Two classes; dev has a fine film and a dull one."""
    return corpus_of(tmp_path / "corpus")


@pytest.fixture
def read(corpus: Corpus, tmp_path: Path) -> Read:
    """read(path, keys of [teacher]…): the file as a teacher of the corpus."""

    def read(
        path: Path, *, of: Corpus = corpus, out: str = "teacher", reporter: Any = None, **section: Any
    ) -> TeacherFolder:
        keys = {"kind": "file", "path": str(path), **section}
        return prepare_teacher(
            FileTeacher.model_validate(keys), corpus=of, out=tmp_path / out, key=KEY, reporter=reporter or Notes()
        )

    return read


def asked(
    teacher: TeacherFolder, texts: Sequence[str] = TEXTS, pairs: Sequence[str] | None = None
) -> npt.NDArray[np.float32]:
    return open_answers(teacher).logits(texts, pairs)


def write_csv(path: Path, rows: Sequence[Row], *, delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_tsv(path: Path, rows: Sequence[Row]) -> Path:
    return write_csv(path, rows, delimiter="\t")


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Sequence[Row]) -> Path:
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


WRITERS: dict[str, Write] = {
    "said.csv": write_csv,
    "said.tsv": write_tsv,
    "said.txt": write_tsv,
    "said.jsonl": write_jsonl,
    "said.parquet": write_parquet,
}


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_read_and_gives_the_same_answers(
    read: Read, tmp_path: Path, name: str, is_packed: bool
) -> None:
    path = WRITERS[name](tmp_path / name, ANSWERS)
    if is_packed:
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed

    np.testing.assert_allclose(asked(read(path)), EXPECTED, atol=1e-6)


def test_the_fingerprint_goes_by_the_answers_and_not_by_the_file_they_came_in(read: Read, tmp_path: Path) -> None:
    changed = [{**ANSWERS[0], "negative": 0.2, "positive": 0.8}, *ANSWERS[1:]]

    first = read(write_csv(tmp_path / "said.csv", ANSWERS), out="first")
    same = read(write_parquet(tmp_path / "said.parquet", ANSWERS[::-1]), out="same")
    other = read(write_csv(tmp_path / "changed.csv", changed), out="other")

    assert first.fingerprint == same.fingerprint
    assert first.fingerprint != other.fingerprint


def test_columns_called_logits_are_taken_for_logits_even_where_they_sum_to_one(read: Read, tmp_path: Path) -> None:
    rows = [{"text": row["text"], **{f"logit_{name}": row[name] for name in LABELS}} for row in ANSWERS]
    path = write_csv(tmp_path / "said.csv", rows)

    np.testing.assert_allclose(asked(read(path)), [[0.25, 0.75], [0.75, 0.25], [0.5, 0.5]])


def test_columns_called_probabilities_must_be_probabilities(read: Read, tmp_path: Path) -> None:
    rows = [{"text": "a fine film", "probability_negative": -2.0, "probability_positive": 3.0}]

    with pytest.raises(AnswerMalformed) as raised:
        read(write_csv(tmp_path / "said.csv", rows))

    assert (raised.value.row, raised.value.column, raised.value.value) == (2, "probability_negative", "-2")


@pytest.mark.parametrize("write", [write_jsonl, write_parquet])
@pytest.mark.parametrize("field", ["probabilities", "logits"])
def test_objects_of_numbers_are_read_by_their_fields(read: Read, tmp_path: Path, write: Write, field: str) -> None:
    rows = [{"text": row["text"], field: {"positive": row["positive"], "negative": row["negative"]}} for row in ANSWERS]

    found = asked(read(write(tmp_path / f"said.{write.__name__.removeprefix('write_')}", rows)))

    as_they_are = np.array([[row["negative"], row["positive"]] for row in ANSWERS])
    np.testing.assert_allclose(found, EXPECTED if field == "probabilities" else as_they_are, atol=1e-6)


def test_without_a_header_columns_go_by_number(read: Read, tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_text("0.25,a fine film,0.75\n", encoding="utf-8")

    teacher = read(tmp_path / "said.csv", header=False, text=1, columns={"negative": 0, "positive": 2})

    np.testing.assert_allclose(asked(teacher, ["a fine film"]), EXPECTED[:1], atol=1e-6)


def test_logits_are_taken_as_they_are(read: Read, tmp_path: Path) -> None:
    rows = [{"text": "a fine film", "negative": -7.5, "positive": 12.25}]

    teacher = read(write_jsonl(tmp_path / "said.jsonl", rows))

    assert asked(teacher, ["a fine film"]).tolist() == [[-7.5, 12.25]]


def test_the_recipe_says_what_the_numbers_are(read: Read, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "said.csv", ANSWERS)

    np.testing.assert_allclose(asked(read(path, values="logits"))[0], [0.25, 0.75])


def test_of_probabilities_and_logits_side_by_side_the_recipe_chooses(read: Read, tmp_path: Path) -> None:
    names = ["probability_negative", "probability_positive", "logit_negative", "logit_positive"]
    path = write_csv(tmp_path / "said.csv", [dict(zip(["text", *names], ["a", 0.25, 0.75, -3, 5], strict=True))])

    assert asked(read(path, values="logits"), ["a"]).tolist() == [[-3, 5]]
    np.testing.assert_allclose(asked(read(path), ["a"]), EXPECTED[:1], atol=1e-6)


def numbered(count: int, **other: float) -> list[Row]:
    """So many rows of probabilities, and then one with other numbers."""
    rows: list[Row] = [{"text": f"text {at}", "negative": 0.25, "positive": 0.75} for at in range(count)]
    return [*rows, {"text": "the other", **other}]


def test_a_few_rows_that_are_no_probabilities_do_not_make_the_others_logits(read: Read, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "said.csv", numbered(30, negative=0.25, positive=0.25))

    with pytest.raises(AnswerMalformed, match=r"sum to 0\.5 and not to 1, although 30 of 31 rows are") as raised:
        read(path)

    assert (raised.value.row, raised.value.column) == (32, "negative, positive")
    assert raised.value.value == "0.25, 0.25"


def test_a_file_of_logits_may_have_a_row_that_looks_like_probabilities(read: Read, tmp_path: Path) -> None:
    rows = [{"text": f"text {at}", "negative": -at, "positive": at} for at in range(1, 9)]
    path = write_csv(tmp_path / "said.csv", [*rows, {"text": "even", "negative": 0.5, "positive": 0.5}])

    assert asked(read(path), ["text 8", "even"]).tolist() == [[-8, 8], [0.5, 0.5]]


def test_numbers_between_zero_and_one_that_become_logits_are_warned_about(read: Read, tmp_path: Path) -> None:
    rows = [{"text": f"text {at}", "negative": 0.9, "positive": 0.8} for at in range(3)]
    notes = Notes()

    read(write_csv(tmp_path / "said.csv", rows), reporter=notes)

    assert "taken as logits, although all numbers lie between 0 and 1" in notes.lines[-1]


def test_several_labels_a_row_have_a_logit_of_their_own_each(read: Read, tmp_path: Path) -> None:
    corpus = corpus_of(
        tmp_path / "several", dev={"a": [1, 0], "b": [0, 0], "c": [1, 1]}, labels=["red", "big"], multi_label=True
    )
    rows = [{"text": "a", "red": 0.75, "big": 0.0}, {"text": "b", "red": 0.1, "big": 0.2}]

    teacher = read(write_csv(tmp_path / "said.csv", rows), of=corpus, least_probability=0.1)

    expected = [[math.log(3), math.log(0.1 / 0.9)], [math.log(0.1 / 0.9), math.log(0.2 / 0.8)]]
    np.testing.assert_allclose(asked(teacher, ["a", "b"]), expected, atol=1e-6)
    assert teacher.facts.multi_label
    assert (teacher.facts.dev_accuracy, teacher.facts.dev_rows, teacher.facts.dev_skill) == (1.0, 2, 1.0)


def test_pairs_are_distinguished_by_both_texts(read: Read, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "pairs", dev={"ab": 1}, pairs={"ab": "c"})
    rows = [
        {"one": "ab", "two": "c", "negative": 0.25, "positive": 0.75},
        {"one": "a", "two": " bc ", "negative": 0.75, "positive": 0.25},
    ]

    teacher = read(write_csv(tmp_path / "said.csv", rows), of=corpus, text="one", pair="two")

    found = asked(teacher, ["a", "ab", "ab"], ["bc", "c", "d"])
    np.testing.assert_allclose(found, np.array([*EXPECTED[[1, 0]], [np.nan, np.nan]]), atol=1e-6)
    assert teacher.facts.dev_rows == 1


def test_chinese_texts_and_classes_are_matched(read: Read, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "zh", dev={"这部电影很好看。": 0, "无聊": 1}, labels=["好评", "差评"])
    rows = [{"text": "\u3000这部电影很好看。 ", "好评": 0.75, "差评": 0.25}]
    path = write_csv(tmp_path / "said.csv", rows)
    path.write_bytes(path.read_text(encoding="utf-8").encode("gb18030"))

    teacher = read(path, of=corpus, encoding="gb18030")

    np.testing.assert_allclose(asked(teacher, ["这部电影很好看。"]), EXPECTED[[1]], atol=1e-6)
    assert (teacher.facts.dev_rows, teacher.facts.dev_accuracy) == (1, 1.0)


def test_a_text_said_twice_is_kept_once_or_as_the_mean_of_its_logits(read: Read, tmp_path: Path) -> None:
    rows = [
        {"text": "once", "negative": -1.0, "positive": 2.0},
        {"text": "same", "negative": -3.0, "positive": 3.0},
        {"text": "torn", "negative": -4.0, "positive": 4.0},
        {"text": " same", "negative": -3.0, "positive": 3.0},
        {"text": "torn ", "negative": 2.0, "positive": 1.0},
        {"text": "torn", "negative": 2.0, "positive": 1.0},
    ]
    notes = Notes()

    teacher = read(write_csv(tmp_path / "said.csv", rows), reporter=notes)

    assert asked(teacher, ["torn", "same", "once"]).tolist() == [[0, 2], [-3, 3], [-1, 2]]
    assert "6 rows of logits read, 3 distinct texts" in notes.lines[0]
    assert "1 texts have several answers" in notes.lines[2]


def test_what_the_file_does_not_know_is_nan_and_the_rest_follows_the_text(read: Read, tmp_path: Path) -> None:
    teacher = read(write_csv(tmp_path / "said.csv", ANSWERS))

    found = asked(teacher, ["never seen", "a dull film", "", "a fine film"])

    assert found.dtype == np.float32
    assert np.isnan(found).all(axis=1).tolist() == [True, False, True, False]
    np.testing.assert_allclose(found[[1, 3]], EXPECTED[[1, 0]], atol=1e-6)


def test_rows_are_right_over_the_edges_of_pieces(read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_file, "ROWS_AT_A_TIME", 2)
    rows = [{"text": f"text {at}", "negative": -at, "positive": at} for at in range(7)]

    teacher = read(write_csv(tmp_path / "said.csv", rows))

    assert asked(teacher, [f"text {at}" for at in range(7)])[:, 1].tolist() == list(range(7))
    with pytest.raises(AnswerMalformed, match="row 8, positive"):
        read(write_csv(tmp_path / "bad.csv", [*rows[:6], {**rows[6], "positive": "x"}]))


def test_the_facts_are_those_of_the_dev_rows_that_the_file_covers(read: Read, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "dev", dev={"a fine film": 1, "a dull film": 1, "an odd film": 0, "unknown": 1})
    notes = Notes()

    facts = read(write_csv(tmp_path / "said.csv", ANSWERS), of=corpus, reporter=notes).facts

    assert (facts.kind, facts.name, facts.labels) == ("file", "said.csv", LABELS)
    assert facts.dev_rows == 3
    assert facts.dev_accuracy == pytest.approx(2 / 3)
    assert facts.dev_skill == pytest.approx(0.4)  # (2/3 - 4/9) / (1 - 4/9)
    assert (facts.parameters, facts.max_length, facts.precision) == (None, None, None)
    assert notes.lines == [
        "  teacher said.csv: 3 rows of probabilities read, 3 distinct texts; columns negative, positive",
        "  it covers 3 of 5 train rows, 3 of 4 dev rows; 66.7% correct on dev",
    ]


def test_dev_rows_without_a_label_do_not_count(read: Read, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "dev", dev={"a fine film": 1, "a dull film": NO_LABEL})

    facts = read(write_csv(tmp_path / "said.csv", ANSWERS), of=corpus).facts

    assert (facts.dev_rows, facts.dev_accuracy) == (1, 1.0)


def test_a_file_that_covers_nothing_of_dev_is_not_judged(read: Read, tmp_path: Path) -> None:
    rows = [{"text": "a film nobody saw", "negative": 0.5, "positive": 0.5}]
    notes = Notes()

    facts = read(write_csv(tmp_path / "said.csv", rows), name="gpt[4]", reporter=notes).facts

    assert (facts.name, facts.dev_accuracy, facts.dev_skill, facts.dev_rows) == ("gpt[4]", None, None, 0)
    assert "1 of 3 train rows, 0 of 2 dev rows; its accuracy on dev is unknown" in notes.lines[1]


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
def test_what_limbeck_predict_writes_can_be_a_teacher(read: Read, tmp_path: Path, format: Any) -> None:
    writer = PredictionWriter(LABELS, format=format)
    lines = [writer.heading(["id", "text"])]
    for row in ANSWERS:
        entry = Entry(row=row["text"], columns=["id", "text"], values=["7", row["text"]])
        lines += writer.lines([entry], np.array([[row["negative"], row["positive"]]], dtype=np.float32))
    path = tmp_path / f"predictions.{format}"
    path.write_text("".join(lines), encoding="utf-8")

    np.testing.assert_allclose(asked(read(path)), EXPECTED, atol=1e-5)


@pytest.mark.parametrize(
    ("cell", "reason", "found"),
    [
        ("", "empty", "''"),
        ("n/a", "not a number", "'n/a'"),
        ('"0,25"', "not a number", "'0,25'"),
        ("25%", "not a number", "'25%'"),
        ("nan", "not a finite number", "'nan'"),
        ("-inf", "not a finite number", "'-inf'"),
        ("1e300", "not a finite number", "'1e300'"),
    ],
)
def test_a_cell_that_is_no_number_is_an_error_that_shows_it(
    read: Read, tmp_path: Path, cell: str, reason: str, found: str
) -> None:
    path = tmp_path / "said.csv"
    path.write_text(f"text,negative,positive\na fine film,0.25,0.75\na dull film,0.5,{cell}\n", encoding="utf-8")

    with pytest.raises(AnswerMalformed, match=f"row 3, positive: {reason}\n") as raised:
        read(path)

    assert (raised.value.row, raised.value.column, raised.value.value) == (3, "positive", found)
    assert not list(tmp_path.glob("teacher*"))  # nothing half-written stays


@pytest.mark.parametrize("content", ["", "text,negative,positive\n"])
def test_a_file_without_rows_is_an_error(read: Read, tmp_path: Path, content: str) -> None:
    (tmp_path / "said.csv").write_text(content, encoding="utf-8")

    with pytest.raises(FileEmpty):
        read(tmp_path / "said.csv")


def test_a_row_without_a_text_is_an_error(read: Read, tmp_path: Path) -> None:
    with pytest.raises(RowMalformed, match="row 2: `text` is null"):
        read(write_jsonl(tmp_path / "said.jsonl", [ANSWERS[0], {**ANSWERS[1], "text": None}]))


def test_the_answers_do_not_need_the_file_any_more(read: Read, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "said.csv", ANSWERS)
    teacher = read(path)
    path.unlink()
    shutil.move(teacher.folder, tmp_path / "moved")

    np.testing.assert_allclose(asked(TeacherFolder(tmp_path / "moved")), EXPECTED, atol=1e-6)
