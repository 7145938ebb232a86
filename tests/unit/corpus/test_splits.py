"""Cutting splits off train, and choosing a part of it."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from limbeck.corpus.labelled import LabelledRows, labelled_rows
from limbeck.corpus.source import CorpusSource, SplitUnknown, read_source
from limbeck.corpus.splits import choose_rows, cut_off
from limbeck.errors import TooFewRows
from limbeck.progress import SilentReporter
from limbeck.recipe.corpus import CorpusSection


def rows(**counts: int) -> LabelledRows:
    """The given number of rows of each label, every text different."""
    values = [(f"{label} {number}", label) for label, count in counts.items() for number in range(count)]
    return labelled_rows(values, split="train", is_pair=False)


def labels_at(source: LabelledRows, positions: list[int]) -> Counter[str]:
    return source.select(positions).label_counts


def test_cuts_are_stratified_by_class() -> None:
    source = rows(a=60, b=30, c=10)

    stays, cut = cut_off(source, count=10, seed=0, name="dev")

    assert labels_at(source, cut) == {"a": 6, "b": 3, "c": 1}
    assert sorted(stays + cut) == list(range(100))


def test_the_same_rows_are_cut_whatever_order_they_come_in() -> None:
    source = rows(a=30, b=30)
    turned = source.select(reversed(range(60)))

    _, cut = cut_off(source, count=12, seed=3, name="dev")
    _, cut_turned = cut_off(turned, count=12, seed=3, name="dev")

    assert {source.ids[at] for at in cut} == {turned.ids[at] for at in cut_turned}


def test_the_cut_is_the_same_on_every_machine() -> None:
    """Computed with `b2sum -l 128`: if these change, everybody's dev split changes."""
    _, cut = cut_off(rows(a=20), count=4, seed=0, name="dev")

    assert cut == [1, 6, 11, 12]


def test_another_seed_cuts_other_rows() -> None:
    source = rows(a=100)

    assert cut_off(source, count=10, seed=0, name="dev") != cut_off(source, count=10, seed=1, name="dev")


def test_the_last_row_of_a_class_stays_in_train() -> None:
    source = rows(a=3, b=1)

    stays, cut = cut_off(source, count=2, seed=0, name="dev")

    assert labels_at(source, stays)["b"] == 1
    assert labels_at(source, cut) == {"a": 2}


def test_rows_with_the_same_text_stay_together() -> None:
    values = [(text, "ab"[number % 2]) for number in range(50) for text in (f"Text {number}", f"text{number}")]
    source = labelled_rows(values, split="train", is_pair=False)

    stays, cut = cut_off(source, count=20, seed=0, name="dev")

    assert len(cut) == 20
    assert not {source.folded_keys[at] for at in cut} & {source.folded_keys[at] for at in stays}


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(TooFewRows, match="at least 4 are needed"):
        cut_off(rows(a=1, b=1, c=1), count=1, seed=0, name="dev")


def test_rows_that_are_all_the_same_text_cannot_be_cut() -> None:
    source = labelled_rows([("same", "a")] * 5 + [("same", "b")] * 5, split="train", is_pair=False)

    with pytest.raises(TooFewRows, match="same text"):
        cut_off(source, count=1, seed=0, name="dev")


def test_chosen_rows_keep_the_proportions_and_the_order_of_the_file() -> None:
    source = rows(a=90, b=10)

    chosen = choose_rows(source, count=20, seed=0)

    assert labels_at(source, chosen) == {"a": 18, "b": 2}
    assert chosen == sorted(chosen)


def test_a_rare_class_keeps_a_row() -> None:
    source = rows(a=1000, b=1)

    assert labels_at(source, choose_rows(source, count=10, seed=0)) == {"a": 9, "b": 1}


def test_more_rows_are_chosen_by_adding_to_the_fewer() -> None:
    source = rows(a=50, b=50)

    assert set(choose_rows(source, count=10, seed=0)) < set(choose_rows(source, count=20, seed=0))


def test_fewer_rows_than_classes_are_refused() -> None:
    with pytest.raises(TooFewRows):
        choose_rows(rows(a=5, b=5, c=5), count=2, seed=0)


def rows_of_sets(**counts: int) -> LabelledRows:
    """Rows with sets of one-letter labels: ab=3 are three rows with the labels a and b; none=2 have no label."""
    sets = [(() if name == "none" else tuple(name), count) for name, count in counts.items()]
    values = [(f"{labels} {number}", labels) for labels, count in sets for number in range(count)]
    return labelled_rows(values, split="train", is_pair=False)


def test_frequent_sets_of_labels_are_cut_in_proportion() -> None:
    source = rows_of_sets(a=40, ab=20, b=20, none=20)

    _, cut = cut_off(source, count=10, seed=0, name="dev")

    assert Counter(source.labels[at] for at in cut) == {("a",): 4, ("a", "b"): 2, ("b",): 2, (): 2}


def test_rows_of_rare_sets_are_cut_by_their_rarest_label() -> None:
    """Each of the five sets with c has four rows, too few for one row in the cut; together they get two."""
    source = rows_of_sets(a=60, b=20, ac=4, bc=4, abc=4, cd=4, acd=4)

    _, cut = cut_off(source, count=10, seed=0, name="dev")

    assert len(cut) == 10
    assert labels_at(source, cut)["c"] == 2
    assert labels_at(source, cut)["d"] == 1


def test_the_last_row_of_each_of_its_labels_stays_in_train() -> None:
    source = rows_of_sets(a=20, ab=1, none=1)

    for seed in range(20):
        stays, _ = cut_off(source, count=6, seed=seed, name="dev")

        assert labels_at(source, stays)["b"] == 1


def test_rows_with_many_labels_do_not_need_a_row_for_every_class() -> None:
    source = rows_of_sets(abcdefgh=4)

    stays, cut = cut_off(source, count=1, seed=0, name="dev")

    assert (len(stays), len(cut)) == (3, 1)


def test_chosen_rows_hold_every_label_although_there_are_more_sets_than_rows() -> None:
    source = rows_of_sets(a=50, ab=2, ac=2, bc=2, abc=2, ad=1, bd=1, cd=1, none=30)

    for seed in range(20):
        chosen = choose_rows(source, count=6, seed=seed)

        assert len(chosen) == 6
        assert set(labels_at(source, chosen)) == set("abcd")


def test_chosen_rows_keep_the_proportions_of_sets() -> None:
    source = rows_of_sets(a=50, ab=30, none=20)

    chosen = choose_rows(source, count=10, seed=0)

    assert Counter(source.labels[at] for at in chosen) == {("a",): 5, ("a", "b"): 3, (): 2}


def test_fewer_rows_than_the_labels_need_are_refused() -> None:
    with pytest.raises(TooFewRows, match="at least 3"):
        choose_rows(rows_of_sets(a=5, b=5, c=5), count=2, seed=0)

    assert len(choose_rows(rows_of_sets(abc=5, a=5), count=2, seed=0)) == 2


def by_column(path: Path, *rows: str, **keys: Any) -> CorpusSource:
    path.write_text("\n".join(["text,label,part", *rows]) + "\n", encoding="utf-8")
    return read_source(CorpusSection(train=str(path), split="part", **keys), reporter=SilentReporter())


def test_a_column_says_where_a_row_belongs(tmp_path: Path) -> None:
    rows = ["one,a,train", "two,b,Validation", ",a,train", "three,b,test", "four,a,Training ", "five,b,train"]

    source = by_column(tmp_path / "rows.csv", *rows)

    assert {split: part.texts for split, part in source.splits.items()} == {
        "train": ["one", "four", "five"],
        "dev": ["two"],
        "test": ["three"],
    }
    assert source.splits["train"].ids == ["train-0", "train-4", "train-5"]  # the dropped row counts
    assert source.names == dict.fromkeys(("train", "dev", "test"), "rows.csv")
    assert source.dropped["train"].without_text == 1


def test_a_split_that_is_unknown_or_lacks_train_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SplitUnknown, match="name no split") as raised:
        by_column(tmp_path / "rows.csv", "one,a,train", "two,b,later", "three,b,later")
    with pytest.raises(TooFewRows, match="train, by the column 'part'"):
        by_column(tmp_path / "rows.csv", "one,a,dev", "two,b,test")

    assert raised.value.unknown == {"later": 3}


def test_a_column_of_splits_and_a_file_of_dev_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="leave out `hub`, `dev` and `test`"):
        CorpusSection(train="a.csv", split="part", dev="b.csv")
