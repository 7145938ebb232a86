"""The stage that gathers transfer text."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import ColumnMissing
from limbeck.recipe.transfer import Transfer
from limbeck.transfer import gather_transfer
from limbeck.transfer.run import NothingGathered

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus, RememberingReporter

Gather = Callable[..., TransferText]


@pytest.fixture
def corpus(read_rows: "ReadCorpus") -> Corpus:
    train: list[tuple[str, ...]] = [("known text", "a"), ("another known text", "b")]
    return read_rows(train=train, dev=[("Held out. In two sentences.", "a"), ("short secret", "b")])


@pytest.fixture
def gather(tmp_path: Path, corpus: Corpus, key: Key, reporter: "RememberingReporter") -> Gather:
    """gather("file.txt"…, **section): transfer text from files in the test's folder."""

    def gather(*files: str, **section: Any) -> TransferText:
        options = Transfer.model_validate({"files": [str(tmp_path / file) for file in files], **section})
        return gather_transfer(options, corpus=corpus, out=tmp_path / "transfer", key=key, reporter=reporter)

    return gather


def write_lines(path: Path, *lines: str) -> None:
    path.write_text("\n".join(lines), encoding="utf-8")


def test_new_texts_are_kept_and_all_others_counted(tmp_path: Path, gather: Gather) -> None:
    write_lines(
        tmp_path / "more.txt",
        "a new text",
        "A  NEW text",
        "A new text!",
        "Known Text",
        "Short Secret",
        "short secret",
        "tiny",
        "far too long a text to keep",
        "another new text",
    )

    transfer = gather("more.txt", min_words=2, max_words=5)

    assert transfer.rows.texts == ["a new text", "another new text"]
    assert transfer.rows.ids == ["transfer-0", "transfer-1"]
    quality = json.loads((tmp_path / "transfer" / "quality.json").read_text(encoding="utf-8"))
    assert quality.pop("seconds") > 0
    assert quality.pop("rows_per_second") > 0
    assert set(quality.pop("form")) == {"corpus", "text", "needed", "steps"}
    assert quality == {
        "files": ["more.txt"],
        "texts_read": 9,
        "pieces": 9,
        "too_short": 1,
        "too_long": 1,
        "in_dev_or_test": 2,
        "near_dev_or_test": 0,
        "duplicates": 1,
        "in_train": 1,
        "near_duplicates": 1,
        "overlap": {"mode": "remove", "splits": {"dev": {"rows": 2, "found": 1, "verbatim": 1, "near": 0}}},
        "fresh": 2,
        "kept": 2,
        "sources": 1,
        "sources_used": 1,
        "rows_of": {"more.txt": 2},
        "domain": {"words_in_train": 0.5, "dev_words_in_train": 0.0, "train_words_found": 0.6667},
    }


def test_sentences_become_rows_of_their_own(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.txt", "First one. Second one!<br />Third one.")

    transfer = gather("more.txt", split_sentences=True)

    assert transfer.rows.texts == ["First one.", "Second one!", "Third one."]
    assert (transfer.quality["texts_read"], transfer.quality["pieces"]) == (1, 3)


def test_a_held_out_text_is_recognised_before_it_is_cut(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.txt", "held out. In two  sentences.", "A new one.")

    transfer = gather("more.txt", split_sentences=True)

    assert transfer.rows.texts == ["A new one."]
    assert transfer.quality["overlap"]["splits"]["dev"] == {"rows": 2, "found": 1, "verbatim": 0, "near": 0}


def test_overlap_may_be_only_reported_and_is_then_a_warning(
    tmp_path: Path, gather: Gather, reporter: "RememberingReporter"
) -> None:
    write_lines(tmp_path / "more.txt", "short secret", "new")

    transfer = gather("more.txt", overlap="report")

    assert transfer.rows.texts == ["short secret", "new"]
    assert any("warning" in note and "1 dev rows" in note for note in reporter.notes)


def test_the_draw_takes_the_same_texts_however_the_files_are_arranged(tmp_path: Path, gather: Gather) -> None:
    texts = [f"text number {number}" for number in range(50)]
    write_lines(tmp_path / "more.txt", *texts)
    first = gather("more.txt", rows=10).rows.texts
    write_lines(tmp_path / "a.txt", *texts[25:])
    write_lines(tmp_path / "b.txt", *texts[:25])

    second = gather("a.txt", "b.txt", rows=10).rows.texts

    assert len(first) == 10
    assert set(first) == set(second)
    assert first == sorted(first, key=texts.index)


def test_another_seed_draws_other_texts(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.txt", *(f"text number {number}" for number in range(50)))

    assert gather("more.txt", rows=10).rows.texts != gather("more.txt", rows=10, seed=1).rows.texts


def test_patterns_and_folders_are_expanded_to_files_and_an_empty_file_is_skipped(
    tmp_path: Path, gather: Gather
) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"from a"))
    write_lines(folder / "b.txt", "from b")
    (folder / "c.txt").touch()

    assert gather("shards/*.txt*").rows.texts == ["from a", "from b"]
    assert gather("shards").rows.texts == ["from a", "from b"]


def test_where_picks_rows(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.csv", "body,source", "one,imdb", "two,blog")

    transfer = gather("more.csv", text="body", where={"source": "blog"})

    assert transfer.rows.texts == ["two"]
    assert transfer.quality["texts_read"] == 1


def test_a_missing_column_is_reported(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.csv", "body,source", "one,imdb")

    with pytest.raises(ColumnMissing, match="body"):
        gather("more.csv")


def test_if_nothing_is_left_the_counts_show_why(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.txt", "one", "two")

    with pytest.raises(NothingGathered, match="too short 2") as caught:
        gather("more.txt", min_words=5)

    assert caught.value.counts["texts_read"] == 2
    assert not (tmp_path / "transfer").exists()


def test_pairs_are_compared_and_kept_as_pairs(
    tmp_path: Path, read_rows: "ReadCorpus", key: Key, reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [("why", "how", "0"), ("who", "what", "1")]
    corpus = read_rows(train=train, dev=[("when", "where", "0")])
    write_lines(tmp_path / "more.csv", "text,pair", "why,how", "how,why", "When,where", "how,who")
    section = Transfer(files=[str(tmp_path / "more.csv")], pair="pair")

    transfer = gather_transfer(section, corpus=corpus, out=tmp_path / "transfer", key=key, reporter=reporter)

    assert transfer.rows.texts == ["how", "how"]
    assert transfer.rows.pairs == ["why", "who"]


def test_chinese_counts_characters_and_cuts_at_chinese_marks(
    tmp_path: Path, read_rows: "ReadCorpus", key: Key, reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [("房间很干净", "1"), ("早餐很差劲", "0")]
    corpus = read_rows(train=train, dev=[("服务不错", "1")])
    write_lines(tmp_path / "more.txt", "位置很方便。服务不错！好。下次还会来住的。")
    section = Transfer(files=[str(tmp_path / "more.txt")], split_sentences=True, min_words=3)

    transfer = gather_transfer(section, corpus=corpus, out=tmp_path / "transfer", key=key, reporter=reporter)

    assert transfer.rows.texts == ["位置很方便。", "下次还会来住的。"]
    assert (transfer.quality["too_short"], transfer.quality["near_dev_or_test"]) == (1, 1)


def test_the_bar_reaches_the_size_of_the_files(tmp_path: Path, gather: Gather, reporter: Any) -> None:
    reporter.done = reporter.total = 0
    write_lines(tmp_path / "more.txt", *(f"text number {number}" for number in range(50)))

    gather("more.txt")

    assert reporter.done == reporter.total > 0


def test_paragraphs_become_rows_of_their_own(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.jsonl", json.dumps({"text": "First one.\nStill first.\n\nSecond one."}))

    transfer = gather("more.jsonl", split_paragraphs=True)

    assert transfer.rows.texts == ["First one. Still first.", "Second one."]


def test_near_duplicates_may_stay(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.txt", "a new text", "A new text!", "short, secret")

    transfer = gather("more.txt", near_duplicates=1.0)

    assert transfer.rows.texts == ["a new text", "A new text!", "short, secret"]


def test_rows_kept_are_counted_by_their_source(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "a.txt", "one text", "another one")
    write_lines(tmp_path / "b.txt", "one text", "something else")
    write_lines(tmp_path / "c.txt", "one text")

    quality = gather("*.txt").quality

    assert quality["rows_of"] == {"a.txt": 2, "b.txt": 1}
    assert (quality["sources"], quality["sources_used"]) == (3, 2)


def test_of_many_sources_the_largest_are_named(tmp_path: Path, gather: Gather, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.transfer.run.MOST_NAMED", 1)
    write_lines(tmp_path / "a.txt", "one")
    write_lines(tmp_path / "b.txt", "two", "three")
    write_lines(tmp_path / "c.txt", "four")

    assert gather("*.txt").quality["rows_of"] == {"b.txt": 2, "others": 2}


def test_a_saved_data_set_is_gathered_in_addition_to_files(tmp_path: Path, gather: Gather) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"text": ["from a data set"]}).save_to_disk(str(tmp_path / "saved"))
    write_lines(tmp_path / "more.txt", "from a file")

    transfer = gather("more.txt", hub=[str(tmp_path / "saved")])

    assert transfer.rows.texts == ["from a file", "from a data set"]
    assert transfer.quality["files"] == ["more.txt", "saved:train"]


def test_text_is_converted_to_the_form_of_the_corpus_before_it_is_filtered(
    tmp_path: Path, read_rows: "ReadCorpus", key: Key, reporter: "RememberingReporter"
) -> None:
    train: list[tuple[str, ...]] = [
        (f"it 's film no {number} , and it 's good .", "ab"[number % 2]) for number in range(60)
    ]
    corpus = read_rows(train=train, dev=[("do n't miss it , please !", "a")])
    write_lines(
        tmp_path / "more.txt", "Don't miss it, please!", "I can't stand this film.", "It's film no 7, and it's good."
    )
    section = Transfer(files=[str(tmp_path / "more.txt")], max_words=7)

    transfer = gather_transfer(section, corpus=corpus, out=tmp_path / "transfer", key=key, reporter=reporter)

    assert transfer.rows.texts == ["i ca n't stand this film ."]  # seven words in this form, five in its own
    assert transfer.quality["form"]["steps"] == ["lowercase", "spaced"] == transfer.quality["form"]["needed"]
    assert transfer.quality["form"]["corpus"]["marks_apart"] == 1.0
    assert transfer.quality["overlap"]["splits"]["dev"]["verbatim"] == 1
    assert any("converted to the corpus's form by lowercase, spaced" in note for note in reporter.notes)


def test_a_pool_is_kept_for_the_teacher_to_choose_from(tmp_path: Path, gather: Gather) -> None:
    write_lines(tmp_path / "more.txt", *(f"text number {number}" for number in range(50)))

    four_times = gather("more.txt", rows=5, choice="balanced")
    quality, texts = four_times.quality, set(four_times.rows.texts)
    of_the_recipe = gather("more.txt", rows=5, choice="nearest", pool=30)

    assert (quality["fresh"], quality["drawn"], quality["pool"], quality["kept"]) == (50, 20, 20, 20)
    assert (len(texts), len(of_the_recipe.rows)) == (20, 30)
    assert texts < set(of_the_recipe.rows.texts)
