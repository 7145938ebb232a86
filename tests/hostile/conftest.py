"""Fixtures of the flow are those of a whole run, which the hostile tests need too."""

from tests.flow.conftest import write_recipe

__all__ = ["write_recipe"]
