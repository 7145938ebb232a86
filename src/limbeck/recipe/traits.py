"""What every kind of teacher says about itself in the recipe: what it has in addition to logits, and when to stop."""

from dataclasses import dataclass
from typing import Literal

NearChance = Literal["stop", "warn"]


@dataclass(frozen=True)
class TeacherTraits:
    """What a kind of teacher has in addition to logits. The rest of a kind is in its row of limbeck.teacher.kinds."""

    has_tokens: bool
    """Hidden states of tokens in every layer, and word pieces with a vector for each."""
    has_features: bool
    """One vector per text."""
    answers_new_texts: bool
    """Whether it can be asked about any text. A teacher that cannot is a list of answers, read from a file."""
