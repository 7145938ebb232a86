"""Errors about recipes."""

from collections.abc import Sequence

from limbeck.errors.message import LimbeckError, did_you_mean


class RecipeError(LimbeckError):
    """The recipe cannot be used."""


class RecipeNotFound(RecipeError):
    """No recipe file and no built-in recipe goes by this name."""

    def __init__(self, *, name: str, builtin: Sequence[str], beside: Sequence[str] = ()) -> None:
        self.name = name
        hint = did_you_mean(name, [*beside, *builtin])
        super().__init__(
            f"no recipe '{name}'{hint}\n"
            f"  looked for a file of that name and among the built-in recipes: {', '.join(builtin)}\n"
            f"Give a path to a .toml file, or run `limbeck recipes` for the list."
        )


class RecipeInvalid(RecipeError):
    """The recipe has problems; all of them are listed."""

    def __init__(self, *, recipe: str, problems: Sequence[str], advice: str = "") -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = "\n".join(f"  {problem}" for problem in problems)
        advice = advice or "Every key is described in docs/recipe.md."
        super().__init__(f"{recipe}: {count} in the recipe\n{lines}\n{advice}")
