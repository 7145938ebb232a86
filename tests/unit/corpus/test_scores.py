"""A column of numbers as scores: read, checked, split by quantiles, kept in standard units."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.corpus.run import read_corpus
from limbeck.corpus.scores import ScoreOutOfRange, ScoresAllEqual
from limbeck.errors import RowMalformed
from limbeck.progress import SilentReporter
from limbeck.recipe.corpus import CorpusSection


def corpus_of(folder: Path, scores: list[str], **keys: object) -> Corpus:
    lines = [f"a text about number {at},{score}" for at, score in enumerate(scores)]
    (folder / "rows.csv").write_text("text,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    section = CorpusSection.model_validate(
        {"train": str(folder / "rows.csv"), "label": "score", "task": "regression", **keys}
    )
    out = folder / "corpus"
    return read_corpus(section, out=out, key=Key(section={}, inputs={}), reporter=SilentReporter(), name="toy")


def test_scores_are_kept_in_standard_units_with_the_scale_of_train(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [f"{at / 10:.1f}" for at in range(100)])

    assert corpus.task.name == "score"
    assert corpus.labels == ["score"]
    assert corpus.scale is not None
    train = corpus.splits["train"]
    assert train.labels.mean() == pytest.approx(0.0, abs=1e-12)
    assert train.labels.std() == pytest.approx(1.0)
    number = int(train.texts[3].rpartition(" ")[2])
    assert corpus.scale.scores(train.labels)[3] == pytest.approx(number / 10)


def test_dev_and_test_have_scores_like_those_of_all_rows(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [str(at) for at in range(200)], dev_fraction=0.2, test_fraction=0.2)

    means = {split: float(rows.labels.mean()) for split, rows in corpus.splits.items()}

    assert {split: len(rows) for split, rows in corpus.splits.items()} == {"train": 120, "dev": 40, "test": 40}
    assert max(means.values()) - min(means.values()) < 0.1
    assert all(np.ptp(rows.labels) > 3 for rows in corpus.splits.values())


@pytest.mark.parametrize(
    ("scores", "keys", "error", "message"),
    [
        (["1.5", "good"] * 20, {}, RowMalformed, "'good'"),
        (["1.5", "nan"] * 20, {}, RowMalformed, "not a number"),
        (["2.5"] * 20, {}, ScoresAllEqual, "have the score 2.5"),
        (["1.5", "7.5"] * 20, {"score_range": [0, 5]}, ScoreOutOfRange, "0 to 5"),
    ],
)
def test_what_is_no_score_is_refused(
    tmp_path: Path, scores: list[str], keys: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        corpus_of(tmp_path, scores, **keys)


def test_a_row_without_a_score_is_dropped(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["1.5", "", "2.5", "4"] * 10)

    assert corpus.facts["without_label_dropped"] == {"train": 10}


def test_another_scale_is_another_training_fingerprint(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()

    one = corpus_of(places[0], [str(at) for at in range(40)])
    two = corpus_of(places[1], [str(10 * at) for at in range(40)])

    assert one.training_fingerprint != two.training_fingerprint
