"""How many of the words of texts a model does not know: more of them than on dev mean that texts have changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.row import Row, columns_of
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import UNK_ID, StudentTokenizer


@dataclass(frozen=True)
class WordCounter:
    """Counts with a model's own tokenizer; a "word" is one of its tokens. Threads may share it."""

    tokenizer: StudentTokenizer | FramedTokenizer
    unknown_id: int
    max_length: int
    around: int = 0  # special tokens around a text

    def counts(self, rows: Sequence[Row]) -> tuple[int, int]:
        """How many words the rows have that the model does not know, and how many in all; as far as it reads them."""
        read = self.read(rows)
        unknown = sum(ids.count(self.unknown_id) for of_row in read for ids in of_row)
        return unknown, sum(len(ids) - self.around for of_row in read for ids in of_row)

    def read(self, rows: Sequence[Row]) -> list[list[list[int]]]:
        """The tokens of each row, those of a second text by themselves; with the special ones around a text."""
        if not rows:
            return []
        columns = columns_of(rows)
        read = self.tokenizer.encode([text for column in columns for text in column], max_length=self.max_length)
        return [read[at :: len(rows)] for at in range(len(rows))]


def word_counter(model: ModelFolder, facts: ModelFacts) -> WordCounter | None:
    """The counter of a model; of a blend that of the first member that has one. None for a model that knows no words
    (n-grams), or to which none is unknown (bytes)."""
    if facts.members:
        members = (model.member(member) for member in facts.members)
        return next((found for one in members if (found := word_counter(one, one.facts()))), None)
    if facts.tokenizer == "framed":
        framed = FramedTokenizer.load(model.tokenizer)
        if framed.unknown_id is None:
            return None
        return WordCounter(framed, framed.unknown_id, facts.max_length, around=framed.special_tokens)
    words = StudentTokenizer.load(model.tokenizer)
    return None if words.ngrams else WordCounter(words, UNK_ID, facts.max_length)
