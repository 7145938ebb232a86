"""The objective in words, as a model card says it."""

from typing import Any

from limbeck.recipe.distillation import Distillation
from limbeck.report.model_card import objective_in_words


def words(**section: Any) -> list[str]:
    return objective_in_words(Distillation.model_validate(section))


def test_every_loss_has_its_settings_and_its_meaning() -> None:
    (line,) = words(losses=[{"kind": "soft_targets", "weight": 0.5, "temperature": 3}])

    assert line.startswith("- `soft_targets` (weight 0.5, temperature 3): KL divergence to the teacher's softened")
    assert "(Hinton et al. 2015)" in line
    assert line.endswith(".")


def test_a_schedule_and_a_map_of_layers_are_reported() -> None:
    schedule = {"kind": "linear", "start": 1.0, "end": 0.0}

    lines = words(losses=[{"kind": "hidden_mse", "weight": schedule, "layers": [[1, 2], [2, 4]]}])

    assert "weight from 1 to 0 (linear), layers 1→2, 2→4" in lines[0]


def test_stages_are_numbered() -> None:
    stages = [
        {"epochs": 1, "losses": [{"kind": "embedding_mse"}]},
        {"epochs": 3, "losses": [{"kind": "logit_mse"}, {"kind": "hard_labels"}]},
    ]

    lines = words(stages=stages)

    assert [line.partition("`")[0] for line in lines] == ["1. 1 epoch:", "   - ", "2. 3 epochs:", "   - ", "   - "]


def test_a_function_of_ones_own_reads_its_name() -> None:
    (line,) = words(losses=[{"kind": "custom", "call": "my_package.losses:focal", "options": {"key": "value"}}])

    assert line.startswith("- `focal` (weight 1, call my_package.losses:focal, features no)")
