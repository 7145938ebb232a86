"""The kinds of loss: the constants of their papers as defaults, what each needs, and what it may not be."""

from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from limbeck.recipe.kinds import Loss
from limbeck.recipe.losses import AnyLoss, LayerLoss, MappedLoss, needs_of
from limbeck.recipe.schedule import Schedule


def loss(kind: str, **keys: Any) -> Any:
    return TypeAdapter(Loss).validate_python({"kind": kind, **keys})


def kinds() -> dict[str, type[AnyLoss]]:
    union = get_args(get_args(Loss)[0])
    return {get_args(section.model_fields["kind"].annotation)[0]: section for section in union}


LAYER_KINDS = [kind for kind, section in kinds().items() if issubclass(section, LayerLoss)]


@pytest.mark.parametrize(
    ("kind", "constants"),
    [
        ("hard_labels", {"weight": 1.0, "smoothing": 0.0}),
        ("logit_mse", {"weight": 1.0}),  # Tang et al. 2019: it alone
        ("soft_targets", {"temperature": 2.0}),  # DistilBERT
        ("dkd", {"temperature": 4.0, "target_weight": 1.0, "other_weight": 8.0}),  # Zhao et al. 2022
        ("dist", {"temperature": 1.0, "between_classes": 1.0, "within_classes": 1.0}),  # Huang et al. 2022
        ("spkd", {"weight": 3000.0}),  # Tung & Mori 2019
        ("rkd", {"distance_weight": 25.0, "angle_weight": 50.0}),  # Park et al. 2019
        ("factor_transfer", {"factor_share": 0.5, "power": 1}),  # Kim et al. 2018
        ("hidden_mse", {"layers": "uniform", "projection": "shared"}),  # TinyBERT
        ("embedding_mse", {"weight": 1.0}),
        ("attention_mse", {"layers": "uniform", "weight": 1.0}),
        ("hidden_cosine", {"layers": "last"}),  # DistilBERT
        # Tian et al. 2020, and their code
        ("crd", {"weight": 0.8, "width": 128, "negatives": 16_384, "temperature": 0.07, "momentum": 0.5}),
        ("pkd", {"layers": "skip"}),  # Sun et al. 2019
        ("minilm_v2", {"relation_heads": 48, "teacher_layer": None}),  # Wang et al. 2021
    ],
)
def test_the_constants_of_the_papers_are_the_defaults(kind: str, constants: dict[str, Any]) -> None:
    section = loss(kind)

    assert {name: getattr(section, name) for name in constants} == constants


@pytest.mark.parametrize(
    ("needs", "of"),
    [
        ({"labels"}, {"hard_labels"}),
        ({"labels", "logits"}, {"dkd"}),
        (
            {"logits"},
            {
                "logit_mse",
                "probability_mse",
                "soft_targets",
                "certain_targets",
                "jensen_shannon",
                "dist",
                "standardised_logits",
                "huber",
                "ranking",
                "custom",
            },
        ),
        ({"features"}, {"hint", "feature_cosine", "spkd", "rkd", "factor_transfer", "pkt", "vid"}),
        ({"features", "rows"}, {"crd"}),
        ({"layers"}, set(LAYER_KINDS)),
    ],
)
def test_each_says_what_it_needs(needs: set[str], of: set[str]) -> None:
    call = {"custom": {"call": "a:b"}}

    assert {kind for kind in kinds() if needs_of(loss(kind, **call.get(kind, {}))) == needs} == of


def test_a_function_of_ones_own_may_need_features() -> None:
    assert needs_of(loss("custom", call="a:b", features=True)) == {"logits", "features"}


def test_those_that_take_a_row_to_have_one_label_say_so() -> None:
    exclusive = {kind for kind, section in kinds().items() if section.exclusive}

    assert exclusive == {"jensen_shannon", "dkd", "dist", "standardised_logits"}


def test_queries_keys_and_values_are_read_only_for_losses_on_attention() -> None:
    reading = {kind for kind in LAYER_KINDS if kinds()[kind].reads_attention}  # type: ignore[attr-defined]  # of LayerLoss

    assert reading == {"attention_mse", "attention_kl", "minilm", "minilm_v2"}


@pytest.mark.parametrize("kind", kinds())
def test_a_weight_is_a_number_or_a_schedule_and_never_negative(kind: str) -> None:
    call = {"call": "a:b"} if kind == "custom" else {}

    assert loss(kind, weight={"kind": "cosine", "end": 2.0}, **call).weight == Schedule(kind="cosine", end=2.0)
    assert loss(kind, weight=0.0, **call).weight == 0.0
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        loss(kind, weight=-1.0, **call)


@pytest.mark.parametrize("kind", [kind for kind, section in kinds().items() if "temperature" in section.model_fields])
def test_a_temperature_stays_above_zero(kind: str) -> None:
    assert loss(kind, temperature={"kind": "linear", "start": 4.0, "end": 1.0}).temperature.start == 4.0
    with pytest.raises(ValidationError, match="should stay above 0"):
        loss(kind, temperature={"kind": "linear", "end": 1.0})


@pytest.mark.parametrize(
    "wrong", [{"spread": 2.0}, {"power": 2.0}, {"power": 2.0, "row_temperatures": "cwsm"}, {"row_temperatures": "flws"}]
)
def test_what_moves_a_temperature_by_row_is_refused_where_nothing_would_read_it(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="row_temperatures"):
        loss("soft_targets", **wrong)
    assert loss("soft_targets", row_temperatures="flsw", spread=2.0, power=2.0).power == 2.0


@pytest.mark.parametrize("kind", [kind for kind, section in kinds().items() if issubclass(section, MappedLoss)])
def test_layers_go_together_by_a_rule_or_by_pairs(kind: str) -> None:
    assert loss(kind, layers=[[1, 3], [2, 6]]).layers == [[1, 3], [2, 6]]
    assert loss(kind, layers="every", every=3).every == 3
    for wrong in ("evry", [[1, 2, 3]], [1, 2], [[-1, 2]]):
        with pytest.raises(ValidationError):
            loss(kind, layers=wrong)


@pytest.mark.parametrize("layers", [{}, {"layers": "top"}, {"layers": [[1, 2]]}])
def test_how_many_layers_make_one_is_refused_where_nothing_would_read_it(layers: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="every"):
        loss("hidden_mse", every=2, **layers)


@pytest.mark.parametrize("call", ["focal", "my_package.losses", "my package:focal", ":focal", "a:", "a:b:c"])
def test_a_function_is_named_by_module_and_name(call: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        loss("custom", call=call)


def test_a_term_is_called_by_its_kind_or_by_its_function() -> None:
    assert loss("hidden_mse").name == "hidden_mse"
    assert loss("custom", call="my_package.losses:focal").name == "focal"
