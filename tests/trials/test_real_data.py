"""Trials on real data, where LIMBECK_DATA names a folder of it: files are understood, leaks are found to the row."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.corpus.draft import draft_recipe
from limbeck.corpus.inspection import inspect_file
from limbeck.corpus.run import gather_transfer, read_corpus
from limbeck.progress import SilentReporter
from limbeck.recipe.corpus import Corpus as CorpusSection
from limbeck.recipe.transfer import Transfer

pytestmark = [
    pytest.mark.trial,
    pytest.mark.skipif("LIMBECK_DATA" not in os.environ, reason="LIMBECK_DATA names no folder of real data"),
]
DATA = Path(os.environ.get("LIMBECK_DATA", "."))
KEY = Key(section={}, inputs={})


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("sst2/train.tsv", {"text": "sentence", "label": "label"}),
        ("imdb/train.tsv.gz", {"text": "sentence", "label": "label"}),
        ("chnsenticorp/train.tsv", {"text": "text_a", "label": "label"}),
        ("online_shopping/online_shopping_10_cats.csv", {"text": "review", "label": "label"}),
        ("tnews/train.tsv", {"text": 0, "label": 1, "header": False}),
        ("thucnews/train45k.txt", {"text": 0, "label": 1, "header": False}),
        ("qqp/train10k.tsv", {"text": "question1", "pair": "question2", "label": "is_duplicate"}),
        ("afqmc/train.txt", {"text": 0, "pair": 1, "label": 2, "header": False}),
        ("mrpc/train.tsv", {"text": "#1 String", "pair": "#2 String", "label": "Quality"}),
        ("rte/train.tsv", {"text": "sentence1", "pair": "sentence2", "label": "label"}),
        ("cola/train.tsv", {"text": 3, "label": 1, "header": False}),
    ],
)
def test_init_understands_the_file(file: str, expected: dict[str, Any]) -> None:
    path = DATA / file

    recipe = tomllib.loads(draft_recipe(path, inspect_file(path), data_path=str(path)))

    found = {key: recipe["corpus"].get(key) for key in expected}
    assert found == expected
    assert ("pair" in recipe["corpus"]) == ("pair" in expected)


@pytest.fixture
def usual_split(tmp_path: Path) -> Corpus:
    folder = DATA / "chnsenticorp"
    section = CorpusSection(train=str(folder / "train.tsv"), dev=str(folder / "dev.tsv"), text="text_a")
    return read_corpus(section, out=tmp_path / "corpus", key=KEY, reporter=SilentReporter(), name="chnsenticorp")


def test_the_usual_split_of_chnsenticorp_leaks_338_rows(usual_split: Corpus) -> None:
    found = usual_split.facts["overlap"]["splits"]["dev"]

    assert found["rows"] == 1200
    assert found["verbatim"] == 338
    assert usual_split.language == "zh"


def test_the_shopping_reviews_hold_1145_of_its_dev_rows_and_all_are_kept_out(
    usual_split: Corpus, tmp_path: Path
) -> None:
    section = Transfer(files=[str(DATA / "online_shopping" / "online_shopping_10_cats.csv")], text="review")

    transfer = gather_transfer(
        section, corpus=usual_split, out=tmp_path / "transfer", key=KEY, reporter=SilentReporter()
    )

    assert transfer.quality["overlap"]["splits"]["dev"]["found"] == 1145
    kept = {"".join(text.split()) for text in transfer.rows.texts}
    assert not kept & {"".join(text.split()) for text in usual_split.splits["dev"].texts}
