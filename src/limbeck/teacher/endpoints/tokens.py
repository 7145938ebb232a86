"""How many tokens a question has, before it is asked: by the model's tokenizer, or an estimate."""

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from limbeck.errors import PathUnusable
from limbeck.recipe.endpoint import EndpointTeacher

PER_MESSAGE = 4  # tokens around a message, such as its role, in the templates of most models
PER_QUESTION = 3  # the beginning of the answer
# What becomes tokens in most vocabularies: words with the space before them, single Han and Kana signs, up to three
# digits, signs, also with the end of a line after them.
SIGNS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
PIECES = re.compile(rf" ?[^\W\d_{SIGNS}]+|[{SIGNS}]|\d{{1,3}}|[^\w\s]\n*|\n+|_")
LETTERS_PER_TOKEN = 7  # of a long word, which has several


class TokenCount:
    """Counts the tokens of questions. Without the model's tokenizer the count is an estimate."""

    def __init__(self, section: EndpointTeacher) -> None:
        self._place = section.tokenizer

    @property
    def is_estimate(self) -> bool:
        """Whether the tokenizer of the model is not known."""
        return self._place is None

    def of_question(self, body: dict[str, Any]) -> int:
        """Tokens of all messages of a request."""
        texts = [message["content"] for message in body["messages"]]
        return sum(self._count(text) for text in texts) + PER_MESSAGE * len(texts) + PER_QUESTION

    @cached_property
    def _count(self) -> Callable[[str], int]:
        if self._place is None:
            return estimated_tokens
        from tokenizers import Tokenizer

        path = Path(self._place)
        file = path / "tokenizer.json" if path.is_dir() else path
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # tokenizers raises nothing more specific
            advice = "Give the tokenizer.json of the model, or remove teacher.tokenizer."
            raise PathUnusable(path=str(file), reason=f"it is not a tokenizer: {error}", advice=advice) from None
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def estimated_tokens(text: str) -> int:
    """About as many as the vocabularies of language models give: a common word is one token, a long one several."""
    return sum(-(-len(piece.strip()) // LETTERS_PER_TOKEN) or 1 for piece in PIECES.findall(text))
