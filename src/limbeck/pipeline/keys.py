"""What the key of an artifact is made of: settings without paths, and the fingerprints of texts."""

from collections.abc import Sequence
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.transfer_text import TransferText
from limbeck.recipe.base import Section


def settings(section: Section, *, without: Sequence[str] = ()) -> dict[str, Any]:
    """A section for an artifact's key. Paths are left out: what they lead to stands among the inputs."""
    return section.model_dump(mode="json", exclude=set(without))


def texts(corpus: Corpus, transfer: TransferText | None) -> dict[str, str]:
    """Everything that was read."""
    return {"corpus": corpus.fingerprint, **({"transfer": transfer.fingerprint} if transfer else {})}


def lessons(corpus: Corpus, transfer: TransferText | None) -> dict[str, str]:
    """What training goes by: another test file must not train anything anew."""
    gathered = {"transfer": transfer.lessons_fingerprint} if transfer else {}
    return {"corpus": corpus.lessons_fingerprint, **gathered}
