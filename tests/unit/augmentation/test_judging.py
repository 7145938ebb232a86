from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.augmentation.judging import CopyVerdict, judge
from limbeck.augmentation.portions import folded_key


def keys(*texts: str) -> npt.NDArray[np.uint64]:
    return np.frombuffer(b"".join(map(folded_key, texts)), dtype=np.uint64).reshape(-1, 2)


def test_a_copy_that_appears_in_the_corpus_is_dropped(make_texts_corpus: Any) -> None:
    corpus = make_texts_corpus(["a train text", "both"], dev=["a dev text", "both"], test=["a test text"])

    verdicts = judge(
        keys("new", "a train text", "A Dev  Text", "ａ test text", "both", "newer"), corpus=corpus, rows=None, seed=0
    )

    held_out, train, kept = CopyVerdict.IN_DEV_OR_TEST, CopyVerdict.IN_TRAIN, CopyVerdict.KEPT
    assert verdicts.tolist() == [kept, train, held_out, held_out, held_out, kept]


def test_a_copy_that_appears_in_the_copied_text_is_dropped(make_texts_corpus: Any, make_rows: Any) -> None:
    corpus = make_texts_corpus(["both"], dev=["held out"])

    verdicts = judge(
        keys("New", "gathered", "both", "held out"),
        corpus=corpus,
        rows=None,
        seed=0,
        transfer=make_rows(["Gathered", "both", "held out"]),
    )

    assert verdicts.tolist() == [
        CopyVerdict.KEPT,
        CopyVerdict.IN_TRANSFER,
        CopyVerdict.IN_TRAIN,
        CopyVerdict.IN_DEV_OR_TEST,
    ]


def test_the_first_of_equal_copies_is_kept(make_texts_corpus: Any) -> None:
    verdicts = judge(keys("x", "y", "X", "z", "y", "x"), corpus=make_texts_corpus(["a"]), rows=None, seed=0)

    kept, again = CopyVerdict.KEPT, CopyVerdict.DUPLICATE
    assert verdicts.tolist() == [kept, kept, again, kept, again, again]


def test_pairs_are_compared_as_pairs(make_texts_corpus: Any) -> None:
    corpus = make_texts_corpus(["one"], pairs=["two"])
    found = [("one", "two"), ("two", "one"), ("one", "one"), ("a dev text", "a dev text")]
    copies = np.frombuffer(b"".join(folded_key(*pair) for pair in found), dtype=np.uint64).reshape(-1, 2)

    verdicts = judge(copies, corpus=corpus, rows=None, seed=0)

    assert verdicts.tolist() == [CopyVerdict.IN_TRAIN, CopyVerdict.KEPT, CopyVerdict.KEPT, CopyVerdict.IN_DEV_OR_TEST]


def test_the_draw_depends_on_seed_and_text_and_not_on_the_order(make_texts_corpus: Any) -> None:
    corpus = make_texts_corpus(["a"])
    texts = [f"text {number}" for number in range(1_000)]

    def drawn(order: list[str], seed: int) -> set[str]:
        verdicts = judge(keys(*order), corpus=corpus, rows=300, seed=seed)
        return {text for text, verdict in zip(order, verdicts, strict=True) if verdict == CopyVerdict.KEPT}

    assert len(drawn(texts, 0)) == 300
    assert drawn(texts, 0) == drawn(texts[::-1], 0)
    assert 50 < len(drawn(texts, 0) & drawn(texts, 1)) < 130  # 90 by chance


def test_fewer_copies_than_asked_for_are_all_kept(make_texts_corpus: Any) -> None:
    verdicts = judge(keys("x", "y"), corpus=make_texts_corpus(["a"]), rows=5, seed=0)

    assert verdicts.tolist() == [CopyVerdict.KEPT, CopyVerdict.KEPT]


def test_no_copies_have_no_verdicts(make_texts_corpus: Any) -> None:
    assert judge(keys(), corpus=make_texts_corpus(["a"]), rows=5, seed=0).tolist() == []
