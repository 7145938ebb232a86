"""`[student]`: the small model, its vocabulary and its word vectors."""

from typing import Literal, Self

from pydantic import Field

from limbeck.recipe.base import Locate, Section


class Vocabulary(Section):
    """The student's tokens, and how many it may have."""

    kind: Literal["words", "pieces"] = "words"
    """Whole words, or the teacher's word pieces cut down to those the training text uses."""
    max_size: int = Field(default=30_000, ge=8)
    """Most tokens; the frequent ones stay. It is lowered further where the student would outgrow its teacher."""
    min_count: int = Field(default=2, ge=1)
    """A token must be seen this often in the training and transfer text."""
    lowercase: bool = True
    """Fold upper case into lower case (words only; pieces do as the teacher does)."""


class BiLstm(Section):
    """The Bi-LSTM of Tang et al. 2019 (arXiv:1903.12136): word vectors, one Bi-LSTM, a ReLU layer, the classes."""

    kind: Literal["bilstm"] = "bilstm"
    """The kind of student."""
    hidden_size: int = Field(default=150, ge=1)
    """Width of the LSTM in each direction."""
    dense_size: int = Field(default=200, ge=1)
    """Width of the ReLU layer."""
    pooling: Literal["max", "last"] = "max"
    """What the text is read off: the largest value over its words, or the last state of each direction (Tang's)."""
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Dropout on word vectors and on the pooled states."""
    word_vectors: str = "teacher"
    """Where word vectors start: "teacher" (each word through the teacher, then principal components), "random",
    or a word2vec/GloVe file (text or .bin, also gzipped)."""
    embedding_size: int = Field(default=300, ge=1)
    """Width of word vectors from the teacher or from random; a file brings its own."""
    tune_vectors: bool = True
    """Whether word vectors go on learning."""
    max_length: int = Field(default=256, ge=1)
    """Longest input in the student's tokens; the rest of a text is cut off."""
    vocabulary: Vocabulary = Vocabulary()
    """The `[student.vocabulary]` table."""

    def located(self, locate: Locate) -> Self:
        """With a file of word vectors as an absolute path."""
        if self.word_vectors in ("teacher", "random"):
            return self
        return self.model_copy(update={"word_vectors": locate(self.word_vectors)})
