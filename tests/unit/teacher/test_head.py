"""The classes of a checkpoint against those of the corpus: matched by name, never by position alone."""

import tomllib
from collections.abc import Mapping, Sequence

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from limbeck.teacher.head import (
    ClassesDiffer,
    LabelNamesUnfit,
    class_order,
    classes_of,
    final_layer,
    guessed_names,
    name_classes,
    put_in_order,
    start_afresh,
)

OURS = ["negative", "neutral", "positive"]


def order(theirs: Sequence[str], ours: Sequence[str] = OURS, **label_names: str) -> list[int]:
    return class_order(theirs, ours, label_names=label_names, checkpoint="mine")


def refused(theirs: Sequence[str], ours: Sequence[str] = OURS) -> ClassesDiffer:
    with pytest.raises(ClassesDiffer) as raised:
        order(theirs, ours)
    return raised.value


@pytest.fixture
def model() -> BertForSequenceClassification:
    sizes = {"hidden_size": 3, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    config = BertConfig(vocab_size=8, max_position_embeddings=8, num_labels=3, **sizes)
    config.id2label = {0: "a", 1: "b", 2: "c"}
    return BertForSequenceClassification(config)


def test_the_same_names_in_the_same_order_are_fine() -> None:
    assert order(OURS) == [0, 1, 2]


def test_label_names_say_which_class_is_which() -> None:
    assert order(["POS", "NEG", "NEU"], POS="positive", NEG="negative", NEU="neutral") == [1, 2, 0]


def test_another_order_is_called_a_permutation_and_both_lists_are_shown() -> None:
    error = refused(["positive", "negative", "neutral"])

    assert str(error) == (
        "the classes of 'mine' are not those of the corpus: the same names in another order (a permutation)\n"
        "  the checkpoint    the corpus\n"
        "  0  positive       0  negative\n"
        "  1  negative       1  neutral\n"
        "  2  neutral        2  positive\n"
        "Put this line into [teacher], if this is correct: "
        'label_names = { "positive" = "positive", "negative" = "negative", "neutral" = "neutral" }'
    )


@pytest.mark.parametrize(
    ("theirs", "difference"),
    [
        (["Negative", "NEUTRAL", "positive"], "the same names in another spelling"),
        (["POSITIVE", "NEGATIVE", "NEUTRAL"], "another spelling and another order (a permutation)"),
        (["LABEL_0", "LABEL_1", "LABEL_2"], "its names do not say what they mean"),
        (["anger", "joy", "fear"], "other names"),
        (["negative", "positive"], "it has 2, the corpus has 3"),
    ],
)
def test_it_is_said_what_differs(theirs: list[str], difference: str) -> None:
    assert difference in str(refused(theirs)).splitlines()[0]


@pytest.mark.parametrize(
    ("theirs", "guess"),
    [
        (["POSITIVE", "Negative ", "neutral"], {"POSITIVE": "positive", "Negative ": "negative", "neutral": "neutral"}),
        (["pos", "neg", "neu"], {"pos": "positive", "neg": "negative", "neu": "neutral"}),
        (["LABEL_positive", "nutral", "joy"], {"LABEL_positive": "positive", "nutral": "neutral", "joy": "?"}),
        (["LABEL_0", "LABEL_1", "LABEL_2"], {"LABEL_0": "?", "LABEL_1": "?", "LABEL_2": "?"}),
    ],
)
def test_names_that_are_alike_are_guessed_and_others_are_left_open(theirs: list[str], guess: Mapping[str, str]) -> None:
    assert guessed_names(theirs, OURS) == guess


def test_no_class_is_guessed_twice() -> None:
    assert guessed_names(["positive", "positiv"], ["joy", "positive"]) == {"positive": "positive", "positiv": "?"}


@pytest.mark.parametrize("theirs", [["POSITIVE", "NEGATIVE", "NEUTRAL"], ["positive", "negative", "neutral"]])
def test_the_line_of_the_message_can_be_put_into_a_recipe_as_it_is(theirs: list[str]) -> None:
    line = str(refused(theirs)).partition("correct: ")[2]

    label_names = tomllib.loads(line)["label_names"]

    assert order(theirs, **label_names) == [theirs.index(name) for name in (theirs[1], theirs[2], theirs[0])]


def test_names_with_quotes_and_of_other_scripts_are_written_as_toml_too() -> None:
    line = str(refused(['so "so"', "积极", "C"], ['so "So"', "积极的", "c"])).partition("correct: ")[2]

    assert tomllib.loads(line)["label_names"] == {'so "so"': 'so "So"', "积极": "积极的", "C": "c"}


def test_an_open_guess_asks_for_a_class_and_another_number_of_classes_for_fine_tuning() -> None:
    assert "with a class of the corpus in place of each ?" in str(refused(["LABEL_0", "LABEL_1", "LABEL_2"]))
    assert 'teacher.train = "all"' in str(refused(["negative", "positive"])).splitlines()[-1]


@pytest.mark.parametrize(
    ("label_names", "problem"),
    [
        ({"A": "negative", "B": "neutral"}, "'C' of the checkpoint is missing"),
        ({"A": "negative", "B": "neutral", "C": "neutral"}, "'neutral' of the corpus is given twice"),
        ({"A": "negative", "B": "neutral", "C": "neutral"}, "'positive' of the corpus is missing"),
        ({"A": "negative", "B": "neutral", "C": "postive"}, "no 'postive' (did you mean 'positive'?)"),
        ({"A": "negative", "B": "neutral", "C": "positive", "D": "positive"}, "the checkpoint has no 'D'"),
    ],
)
def test_label_names_that_are_no_way_there_and_back_are_refused(label_names: dict[str, str], problem: str) -> None:
    with pytest.raises(LabelNamesUnfit) as raised:
        order(["A", "B", "C"], **label_names)

    assert problem in " ".join(raised.value.problems)
    assert str(raised.value).splitlines()[2].split() == ["0", "A", "0", "negative"]


def test_two_classes_of_one_name_cannot_be_distinguished() -> None:
    with pytest.raises(LabelNamesUnfit, match="two classes 'A'"):
        order(["A", "A", "B"], A="negative", B="neutral")


def test_the_final_layer_is_found_though_the_encoder_has_layers_of_that_size(
    model: BertForSequenceClassification,
) -> None:
    """The hidden size is 3 here, and so is the number of classes."""
    assert final_layer(model) is model.classifier


def test_a_layer_of_the_encoder_is_never_taken_for_the_final_one() -> None:
    class Backwards(torch.nn.Module):
        """Its head is made before its encoder."""

        def __init__(self) -> None:
            super().__init__()
            self.config = BertConfig(num_labels=3)
            self.classifier = torch.nn.Linear(3, 3)
            self.base_model = torch.nn.Sequential(torch.nn.Linear(3, 3))

    model = Backwards()

    assert final_layer(model) is model.classifier


def test_classes_change_places_with_their_weights_and_biases(model: BertForSequenceClassification) -> None:
    torch.nn.init.normal_(model.classifier.bias)
    model.eval()
    ids = torch.tensor([[1, 2, 3]])
    before = model(ids).logits

    put_in_order(model, [2, 0, 1])
    name_classes(model, ["c", "a", "b"])

    torch.testing.assert_close(model(ids).logits, before[:, [2, 0, 1]])
    assert classes_of(model.config) == ["c", "a", "b"]
    assert model.config.label2id == {"c": 0, "a": 1, "b": 2}


def test_a_fresh_start_is_for_the_final_layer_alone_and_the_seed_decides(model: BertForSequenceClassification) -> None:
    before = {name: weight.clone() for name, weight in model.state_dict().items()}

    names = start_afresh(model)
    first = model.classifier.weight.clone()
    torch.manual_seed(0)
    start_afresh(model)
    second = model.classifier.weight.clone()
    torch.manual_seed(0)
    start_afresh(model)

    assert names == ["classifier.weight", "classifier.bias"]
    assert {name for name, weight in model.state_dict().items() if not torch.equal(weight, before[name])} == {
        "classifier.weight"
    }
    assert not torch.equal(first, second)
    assert torch.equal(model.classifier.weight, second)
    assert model.classifier.weight.abs().max() < 0.2
