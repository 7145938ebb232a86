"""Trials on real data, where LIMBECK_DATA names a folder of it: files are understood, leaks are found to the row."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.corpus.run import read_corpus
from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.inspection import inspect_file
from limbeck.progress import SilentReporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.transfer import Transfer
from limbeck.text.forms import chosen_steps, form_of, in_form
from limbeck.transfer.run import gather_transfer

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

    found = transfer.quality["overlap"]["splits"]["dev"]
    assert (found["found"], found["verbatim"], found["near"]) == (1145, 999, 21)
    kept = {"".join(text.split()) for text in transfer.rows.texts}
    held_out = {"".join(text.split()) for text in usual_split.splits["dev"].texts}
    assert not kept & held_out
    assert not {text[:30] for text in kept if len(text) >= 30} & {text[:30] for text in held_out if len(text) >= 30}


def test_imdb_sentences_are_brought_to_the_form_of_sst2(tmp_path: Path) -> None:
    folder, files = DATA / "sst2", [str(DATA / "imdb" / "dev.tsv.gz")]
    section = CorpusSection(train=str(folder / "train.tsv"), dev=str(folder / "dev.tsv"), text="sentence")
    corpus = read_corpus(section, out=tmp_path / "corpus", key=KEY, reporter=SilentReporter(), name="sst2")
    gathering = Transfer(files=files, text="sentence", split_sentences=True, min_words=3, max_words=40)

    transfer = gather_transfer(gathering, corpus=corpus, out=tmp_path / "transfer", key=KEY, reporter=SilentReporter())

    formed = in_form(transfer.quality["form"]["steps"])
    changed = sum(formed(text) != text.strip() for text in corpus.splits["train"].texts)
    assert transfer.quality["form"]["steps"] == ["lowercase", "spaced"]
    assert changed < 50  # of 67,349 that are in this form already: "no. 1", "ol' boys"
    assert transfer.quality["domain"]["words_in_train"] > 0.9
    assert chosen_steps("auto", text=form_of(transfer.rows.texts), corpus=form_of(corpus.splits["train"].texts)) == []
