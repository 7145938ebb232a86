from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.augmentation import augment, portions, processes
from limbeck.augmentation.run import NothingAugmented
from limbeck.errors import DependencyMissing
from limbeck.progress import SilentReporter
from limbeck.recipe.augmentation import Augmentation

TEXT = "the a this that film story scene actor camera evening music script city garden letter road"
WORDS = TEXT.split()
TANG = [{"kind": "masking"}, {"kind": "pos_swap"}, {"kind": "ngram"}]


@pytest.fixture
def run(tmp_path: Path, key: Key) -> Any:
    """run(corpus, methods=…, name="augmented", transfer=None, **section): the copies; `transfer` are texts."""

    def gathered(texts: list[str], folder: Path) -> TransferText:
        rows = Rows.of(ids=[f"transfer-{number}" for number in range(len(texts))], texts=texts)
        with written_atomically(folder, kind="transfer", key=key) as scratch:
            save_transfer_text(scratch, rows=rows, quality={})
        return TransferText(folder)

    def run(
        corpus: Any,
        *,
        methods: Any = TANG,
        name: str = "augmented",
        transfer: list[str] | None = None,
        **section: Any,
    ) -> TransferText:
        return augment(
            Augmentation.model_validate({"methods": methods, **section}),
            corpus=corpus,
            transfer=None if transfer is None else gathered(transfer, tmp_path / f"transfer-of-{name}"),
            store=tmp_path / "store",
            out=tmp_path / name,
            key=key,
            reporter=SilentReporter(),
        )

    return run


def texts_of(count: int, length: int = 10) -> list[str]:
    """The given number of different texts."""
    return [" ".join(WORDS[(at * (number + 1) + number) % 16] for at in range(length)) + f" n{number}"
            for number in range(count)]  # fmt: skip


def test_copies_are_rows_with_ids_of_their_own(make_texts_corpus: Any, run: Any) -> None:
    transfer = run(make_texts_corpus(texts_of(20)), copies=5)

    assert transfer.rows.ids == [f"augmented-{number}" for number in range(len(transfer.rows))]
    assert len(transfer.rows) == transfer.quality["kept"] > 50
    assert not transfer.rows.is_labelled.any()
    assert TransferText(transfer.folder).fingerprint


def test_every_row_is_a_source(make_texts_corpus: Any, run: Any) -> None:
    """PaddleNLP's English augmentation copied the last row only, as often as all rows together."""
    corpus = make_texts_corpus(texts_of(300))

    transfer = run(corpus, copies=4, methods=[{"kind": "masking", "fraction": 0.5}])

    sources = transfer.sources["source"].to_pylist()
    assert set(sources) == set(corpus.splits["train"].ids)
    assert transfer.quality["sources_used"] == transfer.quality["sources"] == 300


def test_every_copy_comes_from_its_recorded_source(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(texts_of(300))
    text_of = dict(zip(corpus.splits["train"].ids, corpus.splits["train"].texts, strict=True))

    transfer = run(corpus, copies=3, methods=[{"kind": "masking", "fraction": 0.2}])

    assert transfer.sources["id"].to_pylist() == transfer.rows.ids
    for copy, source in zip(transfer.rows.texts, transfer.sources["source"].to_pylist(), strict=True):
        words = zip(copy.split(), text_of[source].split(), strict=True)
        assert all(new in (old, "[MASK]") for new, old in words)


@pytest.mark.parametrize("count", [2, 3])
def test_copies_do_not_depend_on_the_number_of_processes(
    make_texts_corpus: Any, run: Any, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(processes, "SECONDS_WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(portions, "ROWS_AT_ONCE", 16)
    corpus = make_texts_corpus(texts_of(100), pairs=texts_of(100, 3))

    alone = run(corpus, name="alone", copies=5, processes=1, rows=300)
    together = run(corpus, name="together", copies=5, processes=count, rows=300)

    assert together.training_fingerprint == alone.training_fingerprint
    assert together.sources.equals(alone.sources)
    assert len(alone.rows) == 300


def test_copies_do_not_depend_on_the_portions(
    make_texts_corpus: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make_texts_corpus(texts_of(50))
    whole = run(corpus, name="whole", copies=5)
    monkeypatch.setattr(portions, "ROWS_AT_ONCE", 7)

    parts = run(corpus, name="parts", copies=5)

    assert parts.rows.texts == whole.rows.texts


def test_copies_that_repeat_something_are_dropped(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(["one two", "one two three"], dev=["[MASK] Two"], test=["one [MASK]"])

    transfer = run(corpus, copies=200, methods=[{"kind": "masking", "fraction": 0.3}])

    assert sorted(transfer.rows.texts) == [
        "[MASK] [MASK] three",
        "[MASK] two [MASK]",
        "[MASK] two three",
        "one [MASK] [MASK]",
        "one [MASK] three",
        "one two [MASK]",
    ]
    quality = transfer.quality
    assert quality["asked"] == 400
    assert quality["unchanged"] > 0
    assert quality["in_dev_or_test"] > 0
    assert quality["duplicates"] > 0
    assert quality["all_masks"] > 0
    dropped = ("unchanged", "all_masks", "duplicates", "in_train", "in_dev_or_test", "not_drawn")
    assert quality["kept"] == 6 == quality["asked"] - sum(quality[name] for name in dropped)


def test_the_numbers_of_each_method_are_reported(make_texts_corpus: Any, run: Any, within_four_sigma: Any) -> None:
    corpus = make_texts_corpus(texts_of(200))
    methods = [{"kind": "masking"}, {"kind": "delete"}, {"kind": "ngram"}]

    quality = run(corpus, copies=5, methods=methods).quality

    masking, delete, ngram = quality["methods"]
    words = 11 * 200 * 5
    assert [method["kind"] for method in quality["methods"]] == ["masking", "delete", "ngram"]
    assert within_four_sigma(masking["words_changed"], trials=words, chance=0.1)
    assert within_four_sigma(delete["words_changed"], trials=words, chance=0.1)
    assert masking["words_changed_share"] == pytest.approx(masking["words_changed"] / words, abs=1e-4)
    assert within_four_sigma(ngram["asked"] - ngram["unchanged"], trials=1_000, chance=0.25)
    assert quality["words_changed"] == sum(method["words_changed"] for method in quality["methods"])
    for method in quality["methods"]:
        found = method["unchanged"] + method["duplicates"] + method["kept"]
        assert 1_000 - quality["all_masks"] <= found <= method["asked"] == 1_000
        assert 0 < method["sources_used"] <= method["sources"] == 200
        assert method["rows_per_second"] > 0
        assert method["kept"] < quality["kept"]


def test_the_number_of_copies_asked_for_is_drawn(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(texts_of(50))

    every = run(corpus, name="every", copies=5)
    some = run(corpus, name="some", copies=5, rows=40)

    assert len(some.rows) == 40
    assert set(some.rows.texts) < set(every.rows.texts)
    assert some.quality["not_drawn"] == len(every.rows) - 40
    assert len(some.sources) == 40


MASK_SOME = [{"kind": "masking", "fraction": 0.3}]
GATHERED = [f"{text} gathered" for text in texts_of(60)]


def test_transfer_text_is_copied_after_the_training_rows(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(texts_of(40))

    alone = run(corpus, name="alone", copies=3, methods=MASK_SOME)
    both = run(corpus, name="both", copies=3, transfer_copies=2, transfer=GATHERED, methods=MASK_SOME)

    count = len(alone.rows)
    assert both.rows.texts[:count] == alone.rows.texts
    assert both.sources["source"].to_pylist()[:count] == alone.sources["source"].to_pylist()
    text_of = {f"transfer-{number}": text for number, text in enumerate(GATHERED)}
    behind = both.sources["source"].to_pylist()[count:]
    assert set(behind) == set(text_of)
    for copy, source in zip(both.rows.texts[count:], behind, strict=True):
        words = list(zip(copy.split(), text_of[source].split(), strict=True))
        assert all(new in (old, "[MASK]") for new, old in words)
    assert both.rows.ids == [f"augmented-{number}" for number in range(len(both.rows))]


def test_the_numbers_of_transfer_text_are_reported_separately(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(texts_of(40))

    quality = run(corpus, copies=3, transfer_copies=2, transfer=GATHERED, methods=MASK_SOME).quality

    assert quality["copies"] == 3
    assert quality["asked"] == 40 * 3 + 60 * 2
    assert quality["sources"] == 100 == quality["methods"][0]["sources"]
    counts = quality["of_transfer"]
    assert (counts["copies"], counts["asked"], counts["sources"], counts["sources_used"]) == (2, 120, 60, 60)
    assert 60 < counts["kept"] < quality["kept"]


def test_transfer_text_may_be_copied_alone(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(texts_of(40))

    transfer = run(corpus, copies=0, transfer_copies=1, transfer=GATHERED, methods=MASK_SOME)

    assert all(source.startswith("transfer-") for source in transfer.sources["source"].to_pylist())
    assert transfer.quality["copies"] == 0
    assert transfer.quality["asked"] == transfer.quality["sources"] == 60


def test_transfer_text_that_is_not_copied_changes_nothing(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(texts_of(40))

    without = run(corpus, name="without", copies=3)
    beside = run(corpus, name="beside", copies=3, transfer=[*GATHERED, without.rows.texts[0]])

    assert beside.fingerprint == without.fingerprint
    assert not {"of_transfer", "in_transfer"} & set(without.quality)


def test_copies_that_appear_in_the_copied_transfer_text_are_dropped(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(["one two"], dev=["[MASK] four"])
    gathered = ["three four", "three [MASK]", "One [MASK]"]

    transfer = run(
        corpus, copies=50, transfer_copies=50, transfer=gathered, methods=[{"kind": "masking", "fraction": 0.5}]
    )

    assert sorted(transfer.rows.texts) == ["[MASK] two"]
    quality = transfer.quality
    assert quality["in_transfer"] > 0 < quality["in_dev_or_test"]
    dropped = ("unchanged", "all_masks", "duplicates", "in_train", "in_transfer", "in_dev_or_test", "not_drawn")
    assert quality["kept"] == 1 == quality["asked"] - sum(quality[name] for name in dropped)


def test_words_of_transfer_text_are_tagged_and_drawn_too(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(["the long film"])

    transfer = run(
        corpus,
        copies=200,
        transfer_copies=200,
        transfer=["the short garden"],
        methods=[{"kind": "pos_swap", "fraction": 1.0}],
    )

    assert set(transfer.rows.texts) == {"the long garden", "the short film"}  # the other two exist already


def test_copies_of_transfer_text_do_not_depend_on_the_number_of_processes(
    make_texts_corpus: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SECONDS_WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(portions, "ROWS_AT_ONCE", 16)
    corpus, options = make_texts_corpus(texts_of(40)), {"copies": 2, "transfer_copies": 3, "transfer": GATHERED}

    alone = run(corpus, name="alone", processes=1, **options)
    together = run(corpus, name="together", processes=2, **options)

    assert together.training_fingerprint == alone.training_fingerprint
    assert together.sources.equals(alone.sources)


def test_pairs_stay_pairs(make_texts_corpus: Any, run: Any) -> None:
    first, second = texts_of(30), texts_of(30, 4)
    corpus = make_texts_corpus(first, pairs=second)

    transfer = run(corpus, copies=6, methods=[{"kind": "masking", "fraction": 0.5}])

    sources = [int(source.split("-")[1]) for source in transfer.sources["source"].to_pylist()]
    assert transfer.rows.pairs is not None
    kinds = set()
    for text, pair, source in zip(transfer.rows.texts, transfer.rows.pairs, sources, strict=True):
        kinds.add((text != first[source], pair != second[source]))
        assert pair.split()[-1] in (f"n{source}", "[MASK]")
    assert kinds == {(True, False), (False, True), (True, True)}


def test_chinese_is_copied_without_spaces(make_texts_corpus: Any, run: Any) -> None:
    corpus = make_texts_corpus(["我喜欢酒店的早餐，房间很干净！", "他讨厌酒店的房间，早餐很差！"], language="zh")

    transfer = run(corpus, copies=20)

    assert len(transfer.rows) > 10
    assert not any(" " in text for text in transfer.rows.texts)


def test_words_are_tagged_once_for_all_runs(make_texts_corpus: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_texts_corpus(texts_of(20))
    first = run(corpus, name="first", copies=3)

    def refuse(*_: object) -> Any:
        raise AssertionError("tagged again")

    monkeypatch.setattr("limbeck.augmentation.pos_swap.tag_texts", refuse)
    again = run(corpus, name="again", copies=3)

    assert again.rows.texts == first.rows.texts


def test_no_copy_at_all_is_an_error(make_texts_corpus: Any, run: Any, tmp_path: Path) -> None:
    corpus = make_texts_corpus(["one", "two"])

    with pytest.raises(NothingAugmented, match="unchanged 10") as caught:
        run(corpus, copies=5, methods=[{"kind": "ngram"}])

    assert caught.value.counts["asked"] == 10
    assert not (tmp_path / "augmented").exists()


def test_rows_without_text_are_accepted(make_texts_corpus: Any, run: Any) -> None:
    transfer = run(make_texts_corpus(["", "one two three four", " "]), copies=20)

    assert set(transfer.sources["source"].to_pylist()) == {"train-1"}


def test_a_missing_segmenter_is_reported_before_any_process_starts(
    make_texts_corpus: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        raise DependencyMissing(package="jieba", purpose="cutting Chinese text into words", extra="zh")

    monkeypatch.setattr("limbeck.augmentation.words._jieba", missing)

    with pytest.raises(DependencyMissing):
        run(make_texts_corpus(["我喜欢酒店"], language="zh"), methods=[{"kind": "masking"}], processes=2)
