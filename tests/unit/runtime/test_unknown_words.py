"""Words that a model does not know are counted with its own tokenizer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.unknown_words import WordCounter, word_counter

MakeModel = Callable[..., ModelFolder]


def counter_of(model: ModelFolder) -> WordCounter:
    found = word_counter(model, model.facts())
    assert found is not None
    return found


def test_words_are_counted_and_those_that_are_not_known(make_model: MakeModel) -> None:
    counter = counter_of(make_model("one"))

    assert counter.counts(["gorgeous film", "zebra film dreadful"]) == (1, 5)
    assert counter.counts([]) == (0, 0)


def test_both_texts_of_a_pair_count(pair_model_folder: Path) -> None:
    counter = counter_of(ModelFolder(pair_model_folder))

    assert counter.counts([("gorgeous", "xyzzy"), ("the", "film")]) == (1, 4)


def test_special_tokens_are_no_words(framed_folder: Path) -> None:
    counter = counter_of(ModelFolder(framed_folder))

    unknown, words = counter.counts(["gorgeous film"])

    assert (unknown, words) == (0, 2)
    assert counter.counts(["☃ film"])[0] == 1


def test_a_blend_counts_with_its_first_member(make_model: MakeModel, tmp_path: Path) -> None:
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.rows import Rows
    from limbeck.export.blend import export_blend
    from limbeck.progress import SilentReporter
    from limbeck.recipe.export import Export

    rows: Any = Rows.of(ids=["a", "b"], texts=["a film", "gorgeous"])
    blend = export_blend(
        Export(),
        models=[make_model("one"), make_model("two")],
        name="blend",
        rows=rows,
        out=tmp_path / "blend",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )

    assert counter_of(blend).counts(["gorgeous zebra"]) == (1, 2)
