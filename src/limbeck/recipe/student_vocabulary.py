"""`[student.vocabulary]`: the tokens of a student, for each way of reading text."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from limbeck.recipe.base import Section
from limbeck.recipe.decisions import by_content


class Vocabulary(Section):
    """The student's tokens, and their maximum number."""

    kind: Literal["words", "pieces"] = "words"
    """Whole words, or those of the teacher's word pieces that occur in the training text."""
    path: Annotated[str | None, by_content()] = None
    """A file with the words, one a line, the most important first; none are counted then (words only)."""
    max_size: int = Field(default=30_000, ge=8)
    """Maximum number of tokens; the most frequent ones are kept. There are fewer if the student would be larger than
    its teacher."""
    min_count: int = Field(default=2, ge=1)
    """Least number of times that a token must occur in the training and transfer text."""
    teacher_words: int = Field(default=0, ge=0)
    """Number of words that are added although the training text lacks them: the first ones that the teacher's tokenizer
    has as whole words, the frequent ones (words only, not for Chinese). Their vectors come from the teacher. With few
    rows this helps with words that appear only in use, most if `tune_vectors` is false."""
    general_words: int = Field(default=0, ge=0)
    """The same from the general student that `student.start` names: its most frequent words, with its vectors, in place
    of `teacher_words`."""
    lowercase: bool = True
    """Convert upper case to lower case (words only; pieces follow the teacher)."""
    segmenter: Literal["longest_match", "jieba"] = "longest_match"
    """How Chinese text is split into words, in training and in use (words only; not used for English). "longest_match":
    by the vocabulary alone; "jieba": by jieba, which every user of the model then has to install."""


class NgramVocabulary(Section):
    """The n-grams of a text, and the number of buckets that they are hashed into."""

    kind: Literal["ngrams"] = "ngrams"
    """Words, runs of words and parts of words, hashed: there is no list of them."""
    words: int = Field(default=2, ge=1, le=5)
    """Runs of up to this many words are n-grams."""
    shortest: int = Field(default=2, ge=1)
    """Characters of the shortest part of a word; its beginning and its end count as a character each."""
    longest: int = Field(default=5, ge=0, le=10)
    """Characters of the longest part of a word; 0: words only."""
    max_size: int = Field(default=262_144, ge=8)
    """Maximum number of buckets. There are fewer if train and transfer text have fewer n-grams, if the exported model
    would be larger than about 8 MB in int8, or if the student would be larger than its teacher."""

    @model_validator(mode="after")
    def _parts_are_possible(self) -> Self:
        if 0 < self.longest < self.shortest:
            raise ValueError(f"longest must be at least shortest: {self.longest} is less than {self.shortest}")
        return self


class TransformerVocabulary(Section):
    """The tokens of a transformer student."""

    kind: Literal["teacher", "pieces"] = "teacher"
    """All of the teacher's tokens, which losses on single tokens need; or those that occur in the training text."""
    max_size: int = Field(default=30_000, ge=8)
    """Maximum number of pieces; the most frequent ones are kept."""
    min_count: int = Field(default=2, ge=1)
    """Least number of times that a piece must occur in the training and transfer text."""
