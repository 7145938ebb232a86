"""Where training runs, and in what arithmetic."""

import pytest
import torch

from limbeck.training import device
from limbeck.training.device import accelerator_for, choose_arithmetic, sent, training_device


def test_accelerate_trains_where_the_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a Mac it would take the GPU by itself, while rows and teacher go by `training_device`."""
    asked: dict[str, object] = {}
    monkeypatch.setattr(device, "Accelerator", lambda **options: asked.update(options))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    accelerator_for("fp32")

    assert training_device() == torch.device("cpu")
    assert asked == {
        "mixed_precision": "no",
        "cpu": True,
        "log_with": None,
        "project_dir": None,
        "kwargs_handlers": None,
    }


def test_a_second_training_may_have_another_arithmetic() -> None:
    assert accelerator_for("bf16").mixed_precision == "bf16"
    assert accelerator_for("fp32").mixed_precision == "no"


@pytest.mark.parametrize(("on_gpu", "on_cpu", "expected"), [(True, False, "bf16"), (False, True, "fp32")])
def test_auto_is_bf16_where_the_gpu_computes_in_it(
    monkeypatch: pytest.MonkeyPatch, on_gpu: bool, on_cpu: bool, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: on_gpu)
    monkeypatch.setattr(device, "_cpu_has_bf16", lambda: on_cpu)

    assert choose_arithmetic("auto") == expected


@pytest.mark.parametrize(("on_cpu", "expected"), [(True, "bf16"), (False, "fp32")])
def test_auto_depends_on_the_cpu_without_a_gpu(monkeypatch: pytest.MonkeyPatch, on_cpu: bool, expected: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(device, "_cpu_has_bf16", lambda: on_cpu)

    assert choose_arithmetic("auto") == expected


def test_what_is_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_cpu_has_bf16", lambda: True)

    assert choose_arithmetic("fp32") == "fp32"
    assert choose_arithmetic("bf16") == "bf16"


def test_on_the_cpu_a_tensor_is_sent_nowhere() -> None:
    tensor = torch.arange(3)

    assert sent(tensor, torch.device("cpu")) is tensor
