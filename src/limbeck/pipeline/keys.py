"""What the key of an artifact is made of: settings without paths, and the fingerprints of texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.transfer_text import TransferText
from limbeck.recipe.base import Section

ExtraText = Mapping[str, TransferText]  # by name: "transfer", "augmented"


def settings(section: Section, *, without: Sequence[str] = ()) -> dict[str, Any]:
    """A section for an artifact's key. Paths are left out: what they lead to stands among the inputs."""
    return section.model_dump(mode="json", exclude=set(without))


def texts(corpus: Corpus, extra: ExtraText) -> dict[str, str]:
    """Everything that was read or made."""
    return {"corpus": corpus.fingerprint, **{name: text.fingerprint for name, text in extra.items()}}


def lessons(corpus: Corpus, extra: ExtraText) -> dict[str, str]:
    """What training goes by: another test file must not train anything anew."""
    return {"corpus": corpus.lessons_fingerprint, **{name: text.lessons_fingerprint for name, text in extra.items()}}
