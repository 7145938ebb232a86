"""Errors about students: their parts, their training, their export."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.errors.message import LimbeckError


class StudentError(LimbeckError):
    """The student cannot be built as asked."""


class VectorsMalformed(StudentError):
    """A file of word vectors cannot be read."""

    def __init__(self, *, path: Path, line: int, reason: str) -> None:
        super().__init__(
            f"'{path}', line {line:,}: {reason}\n"
            f"Word vectors are read as GloVe or word2vec text, or as word2vec binary (.bin), each also gzipped."
        )


class TokenizerUnsupported(StudentError):
    """The teacher's tokenizer is of a kind that cannot be cut down for a student."""

    def __init__(self, *, found: str, known: Sequence[str]) -> None:
        self.found = found
        super().__init__(
            f"the teacher's tokenizer cannot be cut down to a student's vocabulary\n"
            f"  its model: {found}; known: {', '.join(known)}\n"
            f'Set student.vocabulary.kind = "words".'
        )


class BudgetTooSmall(StudentError):
    """The student without any word is already larger than it may be."""

    def __init__(self, *, without_words: int, budget: int) -> None:
        super().__init__(
            f"the student has {without_words:,} parameters before its first word; its teacher has {budget:,}\n"
            f"A student may not be larger than its teacher: lower student.hidden_size or student.embedding_size."
        )


class TrainingDiverged(LimbeckError):
    """The loss is infinite or no number any more, so nothing is left to learn from."""

    def __init__(self, *, what: str, epoch: int, learning_rate: float) -> None:
        self.what, self.epoch = what, epoch
        super().__init__(
            f"{what}: the loss is no number any more, in epoch {epoch}\n"
            f"  the learning rate rises to {learning_rate:g}\n"
            f'Lower learning_rate (a third is a good next try), or set precision = "fp32".'
        )


class ExportRefused(LimbeckError):
    """The exported file does not say what the trained student says."""

    def __init__(self, *, student: Path, precision: str, measure: str, found: str, allowed: str, rows: int) -> None:
        self.measure, self.found = measure, found
        super().__init__(
            f"export of '{student}' as {precision} refused: it does not match the trained student\n"
            f"  {measure} on {rows:,} rows: {found}; allowed: {allowed}\n"
            f"Leave {precision} out of export.precisions, or loosen the limit in [export] if you can accept that."
        )
