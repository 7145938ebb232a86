"""Licences as packages state them, in one form."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.sbom.licences import is_spdx


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        (("License-Expression: MIT OR Apache-2.0", "License: something else"), "MIT OR Apache-2.0"),
        (("License: MPL-2.0 AND MIT",), "MPL-2.0 AND MIT"),
        (("License: Apache 2.0",), "Apache-2.0"),
        (("License: BSD", "Classifier: License :: OSI Approved :: BSD License"), "BSD License"),
        (("Classifier: License :: OSI Approved :: MIT License",), "MIT"),
        (("License: Copyright " + "x" * 200, "Classifier: License :: OSI Approved :: MIT License"), "MIT"),
        (("License: Ours",), "Ours"),
        (("Classifier: Topic :: Text",), ""),
    ],
)
def test_a_licence_is_read_from_what_there_is(
    install: Callable[..., dict[str, Any]], fields: tuple[str, ...], licence: str
) -> None:
    assert install("one 1", fields=fields)["one"].licence == licence


def test_words_are_no_expressions() -> None:
    assert is_spdx("LGPL-3.0-or-later")
    assert not is_spdx("BSD License")
    assert not is_spdx("")
