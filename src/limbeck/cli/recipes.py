"""`limbeck recipes`: the recipes that come with the package."""

from rich.table import Table

from limbeck.cli.app import app, reported
from limbeck.progress import plain_console


@app.command(epilog="Example: `limbeck recipes` then `limbeck run sst2-small` or `limbeck run sst2-small-tang`")
@reported
def recipes() -> None:
    """List the built-in recipes, and the methods that can be combined with them."""
    from limbeck.recipe.builtin import builtin_methods, builtin_recipes

    console = plain_console()
    table = Table(box=None, header_style="bold")
    for column in ("recipe", "what it does", "run it with"):
        table.add_column(column)
    for recipe in builtin_recipes():
        table.add_row(recipe.name, recipe.summary, recipe.command)
    console.print(table)
    console.print()
    methods = Table(box=None, header_style="bold")
    for column in ("method", "student and objective"):
        methods.add_column(column)
    for method in builtin_methods():
        methods.add_row(method.name, method.summary)
    console.print(methods)
    console.print()
    console.print('Combine a method with any recipe: `limbeck run sst2-spkd`, or `extends = "spkd"` in your own.')
