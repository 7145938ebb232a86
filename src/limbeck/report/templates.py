"""Rendering of the pages' templates: all text from outside is escaped, and a missing value is an error."""

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from limbeck.progress import visible
from limbeck.report import wording


def rendered(template: str, **content: Any) -> str:
    """The page from a template of this room and its content."""
    environment = Environment(
        loader=FunctionLoader(lambda name: (files("limbeck.report") / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["wording"] = wording
    return environment.get_template(template).render(**content)


def _shown(value: Any) -> Any:
    """Control characters of a text, and signs that reorder it, as pictures; markup is our own."""
    return visible(value) if type(value) is str else value


def pictures(drawn: Iterable[str | None]) -> list[Markup]:
    """The plots that exist, as markup."""
    return [Markup(picture) for picture in drawn if picture]
