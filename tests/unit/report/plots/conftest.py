"""Looking into a picture."""

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

TextsOf = Callable[[str | None], list[str]]


@pytest.fixture(scope="session")
def texts_of() -> TextsOf:
    """Gives every piece of text in a picture."""

    def look(svg: str | None) -> list[str]:
        assert svg is not None
        nodes = ElementTree.fromstring(svg).iter()
        return ["".join(node.itertext()).strip() for node in nodes if node.tag.endswith("text")]

    return look
