"""Artifacts that the rooms of learning read, made of toy rows."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Row = tuple[str, str]  # text, label


@pytest.fixture(scope="session")
def make_corpus() -> Callable[..., Any]:
    """make_corpus(folder, train=…, dev=…, pairs=False): a Corpus of (text, label) rows.

    With pairs, a row's second text is the text of the next row.
    """
    return _corpus


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory, toy_rows: tuple[Row, ...]) -> Any:
    """The toy rows as a corpus: 150 to train on, 50 to judge by. Shared: read it, don't write to it."""
    return _corpus(tmp_path_factory.mktemp("toy") / "corpus", train=toy_rows[:150], dev=toy_rows[150:])


@pytest.fixture(scope="session")
def make_teacher(tiny_teacher_folder: Path) -> Callable[..., Any]:
    """make_teacher(folder, parameters=…): the tiny teacher, untrained, as a TeacherFolder that claims so many."""

    def make(folder: Path, *, parameters: int) -> Any:
        from limbeck.artifacts.manifest import Key
        from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
        from limbeck.artifacts.whole import written_whole

        facts = TeacherFacts(
            name="tiny",
            labels=["negative", "positive"],
            max_length=32,
            precision="fp32",
            dev_accuracy=0.5,
            parameters=parameters,
            parameters_without_embeddings=parameters // 2,
        )
        with written_whole(folder, kind="teacher", key=Key(section={}, inputs={})) as scratch:
            shutil.copytree(tiny_teacher_folder, scratch, dirs_exist_ok=True)
            save_teacher_facts(scratch, facts)
        return TeacherFolder(folder)

    return make


def _corpus(folder: Path, *, train: Sequence[Row], dev: Sequence[Row], pairs: bool = False) -> Any:
    from limbeck.artifacts.corpus import Corpus, save_corpus
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.whole import written_whole

    names = sorted({label for _, label in train})
    splits = {split: _rows(split, rows, names, pairs=pairs) for split, rows in (("train", train), ("dev", dev))}
    facts = {"name": "toy", "labels": names, "language": "en", "pair": pairs}
    with written_whole(folder, kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts=facts)
    return Corpus(folder)


def _rows(split: str, rows: Sequence[Row], names: Sequence[str], *, pairs: bool) -> Any:
    from limbeck.artifacts.rows import Rows

    texts = [text for text, _ in rows]
    return Rows.of(
        ids=[f"{split}-{number}" for number in range(len(rows))],
        texts=texts,
        pairs=[*texts[1:], texts[0]] if pairs else None,
        labels=[names.index(label) for _, label in rows],
    )
