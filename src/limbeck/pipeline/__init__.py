"""The flow, from files to report; the only room that knows the order of the stages."""

from limbeck.pipeline.flow import run
from limbeck.pipeline.teachers import teacher_sources

__all__ = ["run", "teacher_sources"]
