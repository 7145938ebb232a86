"""Errors about recipes."""

from collections.abc import Sequence

from limbeck.errors.message import LimbeckError, did_you_mean


class RecipeError(LimbeckError):
    """The recipe cannot be used."""


class RecipeNotFound(RecipeError):
    """No recipe file and no built-in recipe has this name."""

    def __init__(self, *, name: str, builtin: Sequence[str], beside: Sequence[str] = ()) -> None:
        self.name = name
        super().__init__(
            f"no recipe '{name}'{did_you_mean(name, [*beside, *builtin])}",
            found=f"looked for a file of that name and among the built-in recipes: {', '.join(builtin)}",
            advice="Give a path to a .toml file, or run `limbeck recipes` for the list.",
        )


class RecipeInvalid(RecipeError):
    """The recipe has problems; all of them are listed."""

    def __init__(self, *, recipe: str, problems: Sequence[str], advice: str = "") -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"{recipe}: {count} in the recipe",
            found="\n".join(problems),
            advice=advice or "Every key is described in docs/recipe.md.",
        )
