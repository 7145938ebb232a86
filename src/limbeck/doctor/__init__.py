"""`limbeck doctor`: checks that say what is wrong with a recipe or a run, how they know, and what to do about it."""

from limbeck.doctor.run import doctor

__all__ = ["doctor"]
