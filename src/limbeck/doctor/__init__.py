"""`limbeck doctor`: checks of a recipe or a run. Each finding has the problem, the evidence and what to do."""

from limbeck.doctor.run import doctor

__all__ = ["doctor"]
