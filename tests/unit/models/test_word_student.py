"""What students of words share: channels, the pair, the head, the loss; shown with the plainest kind."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification

from limbeck.models.bag import BagForSequenceClassification, bag
from limbeck.models.word_student import PAD, tokens_inside
from limbeck.recipe.student import Bag
from limbeck.training.modes import quiet_transformers

IDS = torch.tensor([[1, 2, 3], [4, 5, 0]])


def network(*, pair: bool = False, multi_label: bool = False, **values: Any) -> BagForSequenceClassification:
    torch.manual_seed(0)
    section = Bag.model_validate({"kind": "bag", "dense_size": 7, "word_weights": False, **values})
    model = bag(
        section,
        vocabulary_size=11,
        embedding_size=3,
        labels=["a", "b"],
        pair=pair,
        problem_type="multi_label_classification" if multi_label else None,
    )
    model.eval()
    return model


def test_one_label_a_row_is_learned_by_cross_entropy() -> None:
    labels = torch.tensor([0, 1])

    output = network()(input_ids=IDS, labels=labels)

    torch.testing.assert_close(output.loss, F.cross_entropy(output.logits, labels))


def test_several_labels_a_row_are_learned_each_by_itself() -> None:
    labels = torch.tensor([[1, 1], [0, 0]])

    output = network(multi_label=True)(input_ids=IDS, labels=labels)

    right = torch.sigmoid(output.logits[0]), 1 - torch.sigmoid(output.logits[1])
    torch.testing.assert_close(output.loss, -torch.cat(right).log().mean())


def test_logits_are_read_off_the_features() -> None:
    model = network()

    output = model(IDS)

    assert model.dense is not None
    torch.testing.assert_close(output.logits, model.classifier(torch.relu(model.dense(output.features))))


def test_without_a_dense_layer_classes_are_read_off_the_features_directly() -> None:
    model = network(dense_size=0)

    output = model(IDS)

    assert model.dense is None
    torch.testing.assert_close(output.logits, model.classifier(output.features))


def test_a_pair_is_both_texts_their_product_and_their_distance() -> None:
    model = network(pair=True)
    others = torch.tensor([[6, 0], [7, 8]])

    features = model(IDS, pair_ids=others).features

    one = model.embeddings(IDS[0]).mean(dim=0)
    other = model.embeddings(others[0, 0])
    torch.testing.assert_close(features[0], torch.cat([one, other, one * other, (one - other).abs()]))


def test_a_missing_second_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="pair_ids"):
        network(pair=True)(IDS)


def test_the_second_channel_starts_as_the_first_and_comes_after_it() -> None:
    model = network(static_channel=True)
    model.start_vectors(torch.arange(33.0).reshape(11, 3))

    features = model(torch.tensor([[1, 2]])).features

    assert features.tolist() == [[4.5, 5.5, 6.5, 4.5, 5.5, 6.5]]


def test_random_vectors_are_the_same_in_both_channels() -> None:
    model = network(static_channel=True)

    model.start_vectors(None)

    assert model.static_embeddings is not None
    assert torch.equal(model.static_embeddings.weight, model.embeddings.weight)
    assert model.embeddings.weight[1:].std().item() == pytest.approx(0.1, rel=0.3)
    assert model.embeddings.weight[PAD].tolist() == [0.0, 0.0, 0.0]


def test_frozen_vectors_are_frozen_after_loading(tmp_path: Path) -> None:
    quiet_transformers()
    network(tune_vectors=False).save_pretrained(tmp_path)

    loaded, _ = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)

    assert not loaded.embeddings.weight.requires_grad
    assert loaded.classifier.weight.requires_grad


def test_only_places_before_the_length_are_inside() -> None:
    inside = tokens_inside(torch.tensor([0, 2, 3]), 3)

    assert inside.long().tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_with_a_rank_vectors_start_as_near_as_they_can() -> None:
    model = network(vector_rank=2)
    vectors = torch.randn(11, 2) @ torch.randn(2, 3)
    vectors[PAD] = 0.0

    model.start_vectors(vectors)

    assert model.embeddings.weight.shape == (11, 2)
    torch.testing.assert_close(model.word_vectors, vectors, rtol=0, atol=1e-6)
    torch.testing.assert_close(model(torch.tensor([[4, 5]])).features[0], vectors[4:6].mean(dim=0), rtol=0, atol=1e-6)


def test_with_a_rank_random_vectors_have_the_same_spread_as_without() -> None:
    section = Bag.model_validate({"kind": "bag", "vector_rank": 20})

    model = bag(section, vocabulary_size=500, embedding_size=100, labels=["a", "b"], pair=False)

    assert model.word_vectors[1:].std().item() == pytest.approx(0.1, rel=0.1)
    assert not model.word_vectors[PAD].any()


@pytest.mark.parametrize("rank", [3, 4])
def test_a_rank_that_is_not_smaller_than_the_vectors_has_no_effect(rank: int) -> None:
    model = network(vector_rank=rank)

    assert model.widening is None
    assert model.word_vectors.shape == (11, 3)


def test_a_student_of_before_there_were_ranks_still_loads(tmp_path: Path) -> None:
    quiet_transformers()
    model = network()
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    del config["vector_rank"]
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")

    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()

    assert torch.equal(loaded(IDS).logits, model(IDS).logits)


@pytest.mark.parametrize(("where", "kept"), [("vectors", 0), ("features", 0), ("hidden", 0), (None, 1)])
def test_dropout_is_where_the_recipe_has_it(where: str | None, kept: int) -> None:
    """A share of nearly all numbers leaves one of a hundred; where it is not, all stay."""
    section = Bag.model_validate(
        {"kind": "bag", "dropout": 0.999999, "dropout_on": [where] if where else [], "dense_size": 16}
    )
    torch.manual_seed(0)
    model = bag(section, vocabulary_size=6, embedding_size=8, labels=["a", "b"], pair=False).train()
    seen: dict[str, Tensor] = {}
    assert model.dense is not None
    model.dense.register_forward_hook(lambda _, given, __: seen.update(features=given[0]))
    model.classifier.register_forward_hook(lambda _, given, __: seen.update(hidden=given[0]))

    model(torch.tensor([[3, 4, 5]]))

    last = seen["hidden"] if where in ("hidden", None) else seen["features"]
    assert int((last != 0).any()) == kept
