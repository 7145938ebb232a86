"""Waiting threads sleep soon, unless the user has set something else."""

import os

import pytest

from limbeck.cores import SPINS, share_cores


def test_the_number_of_spins_is_set_where_the_user_has_said_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)

    share_cores()

    assert os.environ["GOMP_SPINCOUNT"] == SPINS


@pytest.mark.parametrize("said", [{"OMP_WAIT_POLICY": "ACTIVE"}, {"GOMP_SPINCOUNT": "7"}])
def test_what_the_user_has_set_is_left_alone(said: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:

    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)

    share_cores()

    assert {name: os.environ.get(name) for name in said} == said
    assert os.environ.get("GOMP_SPINCOUNT", "7") == "7"
