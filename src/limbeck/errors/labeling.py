"""Errors about rows that a teacher has no answer for."""

from collections.abc import Mapping, Sequence

from limbeck.errors.message import some
from limbeck.errors.teacher import TeacherError


class RowsUncovered(TeacherError):
    """The teacher has no answer for some rows, and the recipe does not allow to skip them."""

    def __init__(self, *, teacher: str, uncovered: Mapping[str, int], rows: int, texts: Sequence[str]) -> None:
        self.uncovered = {split: count for split, count in uncovered.items() if count}
        splits = ", ".join(f"{count:,} of {split}" for split, count in self.uncovered.items())
        super().__init__(
            f"'{teacher}' has no answer for {sum(self.uncovered.values()):,} of {rows:,} rows: {splits}",
            found=f"first texts without one: {some([_in_short(text) for text in texts])}",
            advice='Complete the file, or go on without these rows: uncovered = "skip" in its table of the recipe.',
        )


class NothingCovered(TeacherError):
    """The teacher has no answer for any row that the student could learn from."""

    def __init__(self, *, teacher: str, rows: int, texts: Sequence[str]) -> None:
        super().__init__(
            f"'{teacher}' has no answer for any of the {rows:,} rows of train and transfer text",
            found=f"they begin with: {some([_in_short(text) for text in texts])}",
            advice="Give a file about exactly these texts, character for character; or correct the columns `text` and "
            "`pair`.",
        )


def _in_short(text: str) -> str:
    return f"'{text}'" if len(text) <= 40 else f"'{text[:39]}…'"
