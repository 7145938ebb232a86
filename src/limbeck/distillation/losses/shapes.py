"""Student and teacher must have one shape: broadcasting would stretch a single head over twelve in silence."""

from torch import Tensor


def must_match(student: Tensor, teacher: Tensor) -> None:
    """Raise ValueError unless both have the same shape."""
    if student.shape != teacher.shape:
        raise ValueError(f"student {tuple(student.shape)} and teacher {tuple(teacher.shape)} must have one shape")
