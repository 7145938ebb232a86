"""Choosing among labelled transfer rows: by confidence, by class, by nearness; and what is reported about them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.artifacts.transfer_text import SOURCES, TransferText, save_transfer_text
from limbeck.labeling.choice import NothingChosen, choose_rows
from limbeck.progress import SilentReporter
from limbeck.recipe.transfer import Transfer

KEY = Key(section={}, inputs={})
Choose = Callable[..., ChosenRows]


class Notes(SilentReporter):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


def gathered(folder: Path, count: int) -> TransferText:
    rows = Rows.of(ids=[f"transfer-{number}" for number in range(count)], texts=[f"text {n}" for n in range(count)])
    with written_atomically(folder, kind="transfer", key=KEY) as scratch:
        save_transfer_text(scratch, rows=rows, quality={})
    return TransferText(folder)


def labels_of(
    folder: Path, said: dict[str, list[float]], features: dict[str, list[float]] | None = None
) -> TeacherLabels:
    with written_atomically(folder, kind="labels", key=KEY) as scratch:
        save_teacher_labels(
            scratch,
            ids=list(said),
            logits=np.array(list(said.values()), dtype=np.float32),
            facts={},
            features=None if features is None else np.array([features[row] for row in said], dtype=np.float16),
        )
    return TeacherLabels(folder)


@pytest.fixture
def choose(toy_corpus: Corpus, tmp_path: Path) -> Choose:
    """choose(logits of the transfer rows, keys of [transfer]…): what is chosen of them."""

    def choose(
        said: list[list[float] | None],
        *,
        features: list[list[float]] | None = None,
        reporter: SilentReporter | None = None,
        **section: Any,
    ) -> ChosenRows:
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        text = gathered(place / "transfer", len(said))
        known = {f"transfer-{number}": row for number, row in enumerate(said) if row is not None}
        own = {row: [0.0, 4.0] for split in toy_corpus.splits.values() for row in split.ids}
        vectors = None
        if features is not None:
            ends = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])  # train stands at two points; the third axis leads away from it
            vectors = {row: ends[place % 2] for place, row in enumerate(own)}
            vectors |= {f"transfer-{number}": row for number, row in enumerate(features)}
        return choose_rows(
            Transfer.model_validate({"files": ["x"], **section}),
            corpus=toy_corpus,
            parts={"transfer": text},
            labels=labels_of(place / "labels", own | known, vectors),
            out=place / "chosen",
            key=KEY,
            reporter=reporter or SilentReporter(),
        )

    return choose


def ids(chosen: ChosenRows) -> list[int]:
    text = TransferText(chosen.folder.parent / "transfer")
    return [int(row.removeprefix("transfer-")) for row in chosen.of("transfer", text.rows).ids]


def test_all_rows_are_kept_where_nothing_is_asked(choose: Choose) -> None:
    chosen = choose([[1.0, 0.0]] * 5)

    assert ids(chosen) == [0, 1, 2, 3, 4]
    assert not (chosen.folder / "transfer.arrow").exists()  # all of them need no list


def test_rows_on_which_the_teacher_is_torn_are_dropped(choose: Choose) -> None:
    chosen = choose([[0.1, 0.0], [3.0, 0.0], [0.0, 0.2], [0.0, 5.0]], least_confidence=0.9)

    assert ids(chosen) == [1, 3]
    assert chosen.quality["transfer"]["rows"] == 2


def test_rows_without_a_label_are_never_chosen(choose: Choose) -> None:
    assert ids(choose([[1.0, 0.0], None, [0.0, 1.0]])) == [0, 2]


def test_nothing_left_is_reported(choose: Choose) -> None:
    with pytest.raises(NothingChosen, match="least_confidence"):
        choose([[0.1, 0.0], [0.0, 0.1]], least_confidence=0.9)


def test_a_balanced_choice_has_as_many_of_each_class(choose: Choose) -> None:
    said = [[2.0, 0.0]] * 90 + [[0.0, 2.0]] * 10

    chosen = choose(said, rows=16, choice="balanced")

    places = ids(chosen)
    assert len(places) == 16
    assert sum(place >= 90 for place in places) == 8
    assert chosen.quality["transfer"]["teacher_balance"] == {"negative": 0.5, "positive": 0.5}


def test_where_a_class_runs_out_the_others_go_on(choose: Choose) -> None:
    said = [[2.0, 0.0]] * 50 + [[0.0, 2.0]] * 3

    places = ids(choose(said, rows=20, choice="balanced"))

    assert sum(place >= 50 for place in places) == 3
    assert len(places) == 20


def test_a_random_choice_follows_from_seed_and_text(choose: Choose) -> None:
    said: list[list[float] | None] = [[1.0, 0.0]] * 200

    first, again, other = (ids(choose(said, rows=50, seed=seed)) for seed in (0, 0, 1))

    assert first == again != other
    assert len(first) == 50
    assert first == sorted(first)


def test_the_nearest_rows_are_those_whose_features_are_like_the_corpus(choose: Choose) -> None:
    features = [[0.9, 0.0, 0.1], [0.0, 0.1, 1.0], [0.1, 1.0, 0.2], [0.5, 0.4, -2.0]]

    chosen = choose([[1.0, 0.0]] * 4, features=features, rows=2, choice="nearest")

    assert ids(chosen) == [0, 2]


def test_text_of_which_the_teacher_is_far_less_sure_is_named(choose: Choose) -> None:
    notes = Notes()

    choose([[0.0, 0.1]] * 10, reporter=notes)

    assert any("far less confident" in line for line in notes.lines)


def test_the_fingerprint_is_of_the_choice_and_not_of_what_was_counted(choose: Choose) -> None:
    sure, unsure = choose([[4.0, 0.0]] * 5), choose([[1.0, 0.0]] * 5)

    assert sure.quality != unsure.quality
    assert sure.fingerprint == unsure.fingerprint
    assert choose([[4.0, 0.0]] * 5, rows=2).fingerprint != sure.fingerprint


def copies_of(folder: Path, sources: list[str], changes: list[list[int]]) -> TransferText:
    """Copies of the rows with these ids, changed by two methods in so many words."""
    count = len(sources)
    rows = Rows.of(ids=[f"augmented-{number}" for number in range(count)], texts=[f"copy {n}" for n in range(count)])
    with written_atomically(folder, kind="transfer", key=KEY) as scratch:
        save_transfer_text(scratch, rows=rows, quality={"methods": [{"kind": "masking"}, {"kind": "ngram"}]})
        table = pa.table({"id": rows.ids, "source": sources, "changes": pa.array(changes, pa.list_(pa.int32(), 2))})
        with pa.OSFile(str(scratch / SOURCES), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return TransferText(folder)


def test_copies_of_transfer_text_go_with_the_row_they_are_of(toy_corpus: Corpus, tmp_path: Path) -> None:
    train = toy_corpus.splits["train"].ids
    parts = {
        "transfer": gathered(tmp_path / "transfer", 3),
        "augmented": copies_of(
            tmp_path / "augmented", [train[0], "transfer-0", "transfer-1", "transfer-2", "transfer-2"], [[1, 0]] * 5
        ),
    }
    said = {row: [0.0, 4.0] for split in toy_corpus.splits.values() for row in split.ids}
    said |= {"transfer-0": [5.0, 0.0], "transfer-1": [0.1, 0.0], "transfer-2": [0.0, 5.0]}
    said |= {f"augmented-{number}": [0.0, 0.2] for number in range(5)}

    chosen = choose_rows(
        Transfer(files=["x"], least_confidence=0.9),
        corpus=toy_corpus,
        parts=parts,
        labels=labels_of(tmp_path / "labels", said),
        out=tmp_path / "chosen",
        key=KEY,
        reporter=SilentReporter(),
    )

    kept = {name: chosen.of(name, text.rows).ids for name, text in parts.items()}
    assert kept["transfer"] == ["transfer-0", "transfer-2"]
    assert kept["augmented"] == ["augmented-0", "augmented-1", "augmented-3", "augmented-4"]
    assert chosen.quality["augmented"]["label_flips"] == 2 / 5  # of transfer-0 and transfer-1, as the teacher sees them


def test_copies_that_the_teacher_sees_otherwise_than_their_source_are_counted(
    toy_corpus: Corpus, tmp_path: Path
) -> None:
    train = toy_corpus.splits["train"].ids
    copies_of(tmp_path / "augmented", [train[3], train[3]], [[1, 0], [2, 1]])
    own = {row: [0.0, 4.0] for split in toy_corpus.splits.values() for row in split.ids}
    labels = labels_of(tmp_path / "labels", own | {"augmented-0": [0.0, 1.0], "augmented-1": [1.0, 0.0]})

    chosen = choose_rows(
        None,
        corpus=toy_corpus,
        parts={"augmented": TransferText(tmp_path / "augmented")},
        labels=labels,
        out=tmp_path / "chosen",
        key=KEY,
        reporter=SilentReporter(),
    )

    found = chosen.quality["augmented"]
    assert found["label_flips"] == 0.5
    assert [(method["kind"], method["label_flips"]) for method in found["methods"]] == [
        ("masking", 0.5),
        ("ngram", 1.0),
    ]
