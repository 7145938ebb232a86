"""The licence of a package, from its metadata: an SPDX expression wherever one can be read from it."""

from typing import Protocol

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

SPDX_OF = {  # what authors write, in lower case, where it has one meaning
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 3-clause": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
}
LONGEST_NAME = 60  # some put the whole text of their licence where its name belongs


class Metadata(Protocol):
    """What of importlib's metadata is read."""

    def get_all(self, name: str) -> list[str] | None:
        """All values of a field."""


def licence_of(metadata: Metadata) -> str:
    """The expression that is declared; else what field or classifiers mean; else their words; "" if there are none."""
    for expression in metadata.get_all("License-Expression") or ():
        return str(expression)
    field = next(iter(metadata.get_all("License") or ()), "").strip()
    classifiers = [
        line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if line.startswith("License ::")
    ]
    words = [*([field] if field and len(field) <= LONGEST_NAME and "\n" not in field else []), *classifiers]
    known = [spdx for one in words if (spdx := _as_spdx(one))]
    if known:
        return known[0]
    return next(iter([*classifiers, *words]), "")


def is_spdx(licence: str) -> bool:
    """Whether it is an expression of identifiers that SPDX has."""
    try:
        canonicalize_license_expression(licence)
    except InvalidLicenseExpression:
        return False
    return True


def _as_spdx(words: str) -> str:
    return words if is_spdx(words) else SPDX_OF.get(words.lower(), "")
