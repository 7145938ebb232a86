"""Pairs of single unlabelled texts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.transfer_text import TransferText
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.transfer import Transfer
from limbeck.transfer import gather_transfer

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus, RememberingReporter

TEXTS = ["how can i lose weight", "losing weight quickly", "what is a verb", "is this a verb or a noun", "zebra"]


def gathered(
    tmp_path: Path, read_rows: "ReadCorpus", key: Key, reporter: "RememberingReporter", **section: Any
) -> TransferText:
    """Pairs of TEXTS; dev has one that would be made."""
    train = [("weight and height", "tall people", "a"), ("a verb", "a noun", "b")]
    corpus = read_rows(train=train, dev=[(TEXTS[3], TEXTS[2], "a"), ("other", "things", "b")])
    (tmp_path / "more.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    options = Transfer.model_validate({"files": [str(tmp_path / "more.txt")], "near_duplicates": 1.0, **section})
    return gather_transfer(options, corpus=corpus, out=tmp_path / "transfer", key=key, reporter=reporter)


def test_each_text_is_paired_with_its_nearest_of_text_and_train_but_never_as_in_dev(
    tmp_path: Path, read_rows: "ReadCorpus", key: Key, reporter: "RememberingReporter"
) -> None:
    text = gathered(tmp_path, read_rows, key, reporter, partners=3)

    pairs = list(zip(text.rows.texts, text.rows.pairs or [], strict=True))
    assert (TEXTS[0], TEXTS[1]) in pairs
    assert (TEXTS[1], TEXTS[0]) not in pairs, "the same pair the other way round"
    assert {frozenset(pair) for pair in pairs}.isdisjoint({frozenset((TEXTS[2], TEXTS[3]))}), "that one is in dev"
    assert any("weight and height" in pair for pair in pairs), "texts of train are partners too"
    assert all(one != other and "zebra" not in (one, other) for one, other in pairs), "it shares no word with another"
    assert text.quality["kept"] == len(pairs)


def test_of_more_pairs_than_rows_some_are_drawn(
    tmp_path: Path, read_rows: "ReadCorpus", key: Key, reporter: "RememberingReporter"
) -> None:
    text = gathered(tmp_path, read_rows, key, reporter, partners=3, rows=5)

    assert 0 < len(text.rows) <= 5
    assert json.dumps(text.quality)


def test_partners_are_for_pairs_and_for_single_texts() -> None:
    corpus = {"train": "train.csv", "pair": "other"}
    single, partners = {"files": ["more.txt"]}, {"files": ["more.txt"], "partners": 2}

    assert Recipe.model_validate({"corpus": corpus, "transfer": partners})
    with pytest.raises(ValidationError, match="partners makes pairs of single texts"):
        Recipe.model_validate({"corpus": corpus, "transfer": single})
    with pytest.raises(ValidationError, match="must both be given, or neither"):
        Recipe.model_validate({"corpus": {"train": "train.csv"}, "transfer": partners})
    with pytest.raises(ValidationError, match="remove one of them"):
        Recipe.model_validate({"corpus": corpus, "transfer": {**partners, "pair": "other"}})
