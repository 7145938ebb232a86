"""Conformance vectors: rows of every kind, the same for a seed, that every engine here conforms to."""

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.cli import app
from limbeck.packaging.vector_rows import vector_rows
from limbeck.packaging.vectors import (
    VectorsUnusable,
    check_vectors,
    make_vectors,
    read_vectors,
    write_vectors,
)

WORDS = ["gorgeous", "film", "电影"]


def test_rows_are_of_every_kind_and_the_same_for_the_same_seed() -> None:
    rows = vector_rows(WORDS, pair=False, language="en", count=1_000, seed=0)

    texts = [row for row in rows if isinstance(row, str)]
    kinds = Counter(
        kind
        for text in texts
        for kind, found in {
            "empty": not text,
            "blank": bool(text) and not text.strip(),
            "long": len(text) > 10_000,
            "emoji": "\U0001f300" <= max(text, default=" ") <= "\U0001faff",
            "half": any("\ud800" <= letter <= "\udfff" for letter in text),
            "mark": any("\u0300" <= letter <= "\u036f" for letter in text),
            "control": any(letter < "\t" or "\x7f" <= letter < "\xa0" for letter in text),
            "Chinese": any("\u4e00" <= letter <= "\u9fff" for letter in text),
            "special": "[MASK]" in text,
            "known": "gorgeous" in text,
        }.items()
        if found
    )
    assert len(texts) == 1_000
    assert len(kinds) == 10
    assert {
        kind: count for kind, count in kinds.items() if count < (3 if kind in ("empty", "long", "blank") else 15)
    } == {}
    assert rows == vector_rows(WORDS, pair=False, language="en", count=1_000, seed=0)
    assert rows != vector_rows(WORDS, pair=False, language="en", count=1_000, seed=1)
    assert {len(row) for row in vector_rows([], pair=True, language="zh", count=9, seed=0)} == {2}


def test_every_engine_conforms(
    word_model: Path, pair_model: Path, framed_model: Path, ngram_model: Path, blend_model: Path, tmp_path: Path
) -> None:
    for number, model in enumerate((word_model, pair_model, framed_model, ngram_model, blend_model)):
        write_vectors(make_vectors(model, rows=120), tmp_path / f"{number}.json")
        vectors = read_vectors(tmp_path / f"{number}.json", folder=model)

        found = check_vectors(vectors, model, engine="onnx")
        again = check_vectors(vectors, model, engine="auto")

        facts = ModelFolder(model).facts()
        assert (found.rows, found.other_tokens, found.other_labels) == (120, 0, 0)
        assert found.largest_difference < 1e-4, facts.name
        assert again.conforms, facts.name
        assert len({str(vector["logits"]) for vector in vectors["rows"]}) > 50, "one answer to all"


def test_what_does_not_conform_is_noticed(word_model: Path) -> None:
    vectors = make_vectors(word_model, rows=20)
    tokens, logits, labels = deepcopy(vectors), deepcopy(vectors), deepcopy(vectors)
    tokens["rows"][3]["tokens"][0][0][-1] += 1
    logits["rows"][3]["logits"][0] -= 2 * vectors["tolerance"]
    labels["rows"][3]["logits"].reverse()

    assert check_vectors(vectors, word_model).conforms
    assert check_vectors(tokens, word_model).other_tokens == 1
    assert not check_vectors(tokens, word_model).conforms
    assert not check_vectors(logits, word_model).conforms
    assert check_vectors(labels, word_model).other_labels == 1


def test_vectors_of_another_model_and_other_files_are_refused(
    word_model: Path, ngram_model: Path, tmp_path: Path
) -> None:
    write_vectors(make_vectors(word_model, rows=2), tmp_path / "vectors.json")
    (tmp_path / "other.json").write_text('{"rows": []}', encoding="utf-8")

    with pytest.raises(VectorsUnusable, match="those of the model"):
        read_vectors(tmp_path / "vectors.json", folder=ngram_model)
    with pytest.raises(VectorsUnusable, match="no vectors of format"):
        read_vectors(tmp_path / "other.json", folder=word_model)
    with pytest.raises(VectorsUnusable):
        read_vectors(tmp_path / "missing.json", folder=word_model)


def test_the_command_writes_and_checks(word_model: Path, tmp_path: Path) -> None:
    runner, path = CliRunner(), tmp_path / "vectors.json"

    written = runner.invoke(app, ["vectors", str(word_model), "-o", str(path), "--rows", "30", "--seed", "5"])
    checked = runner.invoke(app, ["vectors", str(word_model), "--check", str(path)])
    nothing = runner.invoke(app, ["vectors", str(word_model)])
    content = json.loads(path.read_text(encoding="ascii"))
    content["rows"][0]["tokens"][0][0].append(1)
    write_vectors(content, path)
    failed = runner.invoke(app, ["vectors", str(word_model), "--check", str(path)])

    assert written.exit_code == 0, written.output
    assert (len(content["rows"]), content["seed"]) == (30, 5)
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["conforms"] is True
    assert (nothing.exit_code, failed.exit_code) == (2, 1)
