"""Drafts the recipe of a file of labelled rows, for `limbeck init` and `limbeck run FILE`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from limbeck.artifacts.disk import refuse_place
from limbeck.artifacts.run_folder import RUNS, refuse_other_data
from limbeck.drafting.draft import draft_recipe, has_gpu
from limbeck.drafting.draft_teacher import chosen_teacher
from limbeck.drafting.draft_transfer import place
from limbeck.drafting.inspection import inspect_file
from limbeck.drafting.unlabelled import is_data_file, look_at_text, own_unlabelled, text_beside
from limbeck.errors import DataError, LimbeckError, PathUnusable, RecipeInvalid, in_shell
from limbeck.recipe.extends import read_recipe
from limbeck.recipe.files import PACKAGE, at_home, expand, find_file, search_roots


class TransferForRecipe(DataError):
    """`--transfer` was given together with a recipe, which has a section for it."""

    def __init__(self, *, recipe: str, files: Sequence[str]) -> None:
        names = ", ".join(json.dumps(file, ensure_ascii=False) for file in files)
        super().__init__(
            f"--transfer is for a file of labelled rows, and '{recipe}' is not one",
            found=f"a recipe names its unlabelled text itself, under [transfer]: files = [{names}]",
            advice=f"Write it there, or for one run: --set 'transfer.files=[{names}]'",
        )


class OptionForRecipe(DataError):
    """An option about a file of labelled rows was given together with a recipe, which has a key for it."""

    def __init__(self, *, recipe: str, key: str, value: str) -> None:
        self.key = key
        text = json.dumps(value, ensure_ascii=False)
        super().__init__(
            f"--{key} is for a file of labelled rows, and '{recipe}' is not one",
            found=f"a recipe says it itself, under [corpus]: {key} = {text}",
            advice=f"Write it there, or for one run: --set {in_shell(f'corpus.{key}={value}')}",
        )


class RecipeInTheWay(DataError):
    """Another file is already where the recipe of a data file would be written."""

    def __init__(self, *, recipe: str, data: str, reason: str, options: Sequence[str] = ()) -> None:
        self.reason = reason
        given = "".join(f" {in_shell(option)}" for option in options)
        super().__init__(
            f"'{recipe}' already exists, and is not the recipe of this run",
            found=reason,
            advice=f"Run it as it is: limbeck run {in_shell(recipe)}; or move it away;\n"
            f"or keep both: limbeck init {in_shell(data)}{given} --out NAME.toml, then limbeck run NAME.toml",
        )


@dataclass(frozen=True)
class Draft:
    """The recipe of a data file, and a summary to print."""

    data: Path
    recipe: Path
    text: str | None  # still to be written; None: the recipe exists and stays as it is
    summary: str

    def refuse_run_of_other_data(self, overrides: Sequence[str] = ()) -> None:
        """Raise RunOfOtherData if the folder of the run, without --out, holds that of another file."""
        if any(override.partition("=")[0].strip() == "name" for override in overrides):
            return  # the run gets another name
        name = self.recipe.stem if self.text is not None else read_recipe(self.recipe).get("name", self.recipe.stem)
        refuse_other_data(RUNS / str(name), train=self.data, recipe=None)

    def write(self) -> None:
        """Write the recipe if it does not exist yet."""
        if self.text is None:
            return
        try:
            self.recipe.write_text(self.text, encoding="utf-8")
        except FileNotFoundError as error:  # a broken link, or a folder in which files cannot be created
            advice = "Remove what is there, or work in another folder."
            raise PathUnusable(path=str(self.recipe), reason="it cannot be created", advice=advice) from error

    def kept_in(self, folder: Path) -> Path:
        """The recipe's file; one that does not exist yet is written to this folder."""
        if self.text is None:
            return self.recipe
        (folder / self.recipe.name).write_text(self.text, encoding="utf-8")
        return folder / self.recipe.name


def recipe_of(data: Path) -> Path:
    """Where the recipe of a data file is kept: in the current folder, under the file's name."""
    return Path(data.name.partition(".")[0] + ".toml")


def draft_for(
    data: Path,
    *,
    recipe: Path,
    transfer: Sequence[Path] = (),
    held_out: Mapping[str, Path] | None = None,
    encoding: str | None = None,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
) -> Draft:
    """Inspect the data and the unlabelled text, and draft a recipe; nothing is written yet.

    `held_out` are files of dev and test, by split. What is None is guessed.
    """
    found = inspect_file(data, text=text, pair=pair, label=label, given=held_out, encoding=encoding)
    given = look_at_text(transfer, found) if transfer else own_unlabelled(found)
    beside = None if given else text_beside(found)
    refuse_place(recipe)
    folder = recipe.parent
    files = [data, *found.given.values(), *(path for text in (given, beside) if text for path in text.files)]
    _refuse_names([place(path, folder=folder) for path in files])
    teacher = None if found.scores and not given else chosen_teacher(found, gpu=has_gpu())
    drafted = draft_recipe(
        data,
        found,
        teacher=teacher,
        data_path=place(data, folder=folder),
        recipe_path=str(recipe),
        folder=folder,
        transfer=given,
        beside=beside,
    )
    lines = [found.summary(), *([given.summary()] if given else []), *([beside.offer()] if beside else [])]
    lines += [teacher.note(found)] if teacher and teacher.note(found) else []
    return Draft(data, recipe, drafted, "\n".join(lines))


def draft_to_run(
    name: str,
    *,
    transfer: Sequence[Path] = (),
    held_out: Mapping[str, Path | None] | None = None,
    encoding: str | None = None,
) -> Draft | None:
    """The recipe with which to run a data file: the existing one, or a draft; None if `name` is not a data file.

    Raises RecipeInTheWay if the existing recipe is not for this data, this unlabelled text, and these files of dev and
    test (`held_out`, by split).
    """
    files = {split: file for split, file in (held_out or {}).items() if file is not None}
    given = {split: str(file) for split, file in files.items()} | ({"encoding": encoding} if encoding else {})
    if not is_data_file(name):
        if transfer:
            raise TransferForRecipe(recipe=name, files=[str(path) for path in transfer])
        for key, value in given.items():
            raise OptionForRecipe(recipe=name, key=key, value=value)
        return None
    data = at_home(Path(name))
    recipe = recipe_of(data)
    recipe_exists = recipe.exists() and data.exists()
    reason = _why_not_its_recipe(recipe, data, transfer, files, encoding) if recipe_exists else ""
    if not recipe_exists or (reason and (transfer or given) and _is_untouched(recipe, data)):
        draft = draft_for(data, recipe=recipe, transfer=transfer, held_out=files, encoding=encoding)
        again = f" again, as {reason}, and nobody had changed the draft" if reason else ""
        written = f"Wrote {recipe}{again}; changes to it apply from the next run on\n"
        return replace(draft, summary=f"{draft.summary}\n{written}")
    if reason:
        options = [word for path in transfer for word in ("--transfer", str(path))]
        options += [word for key, value in given.items() for word in (f"--{key}", value)]
        raise RecipeInTheWay(recipe=str(recipe), data=str(data), reason=reason, options=options)
    return Draft(data, recipe, None, f"{recipe} already exists, for {data.name}: it is used as it is")


def _refuse_names(paths: Sequence[str]) -> None:
    """A file name may be any bytes on some systems; a recipe is UTF-8."""
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = path.encode(errors="backslashreplace").decode()
            advice = "Rename the file or the folder, then run the same command again."
            raise PathUnusable(
                path=shown, reason="a recipe cannot name it, because it is not UTF-8", advice=advice
            ) from None


def _is_untouched(recipe: Path, data: Path) -> bool:
    """Whether it is exactly what would be drafted with the files it names, so that it can be overwritten."""
    if _why_not_its_recipe(recipe, data):
        return False
    raw = read_recipe(recipe)
    corpus, text = raw["corpus"], raw.get("transfer")
    try:
        named = text.get("files", []) if isinstance(text, dict) else []
        files = [Path(file) for file in named if not file.startswith(PACKAGE)]  # a draft names such a file itself
        transfer = [file for file in files if not _names([str(file)], data, recipe=recipe)]  # its own documents
        held_out = {split: Path(corpus[split]) for split in ("dev", "test") if split in corpus}
        drafts = [
            draft_for(data, recipe=recipe, transfer=transfer, held_out=held_out, encoding=encoding)
            for encoding in dict.fromkeys((None, corpus.get("encoding")))  # guessed, or given
        ]
    except (LimbeckError, TypeError, AttributeError):
        return False  # a file is missing, or a key is not a path: the user has edited it
    return any(draft.text is not None and recipe.read_bytes() == draft.text.encode() for draft in drafts)


def _why_not_its_recipe(
    recipe: Path,
    data: Path,
    transfer: Sequence[Path] = (),
    held_out: Mapping[str, Path] | None = None,
    encoding: str | None = None,
) -> str:
    """Why the recipe is not the one for this data; empty if it is."""
    try:
        raw = read_recipe(recipe)
    except RecipeInvalid as error:
        return f"it cannot be read: {error.problems[0]}"
    text = raw.get("transfer")
    corpus = raw["corpus"] if isinstance(raw.get("corpus"), dict) else {}
    for split, path in {"train": data, **(held_out or {})}.items():
        named = corpus.get(split)
        if not _names([named], path, recipe=recipe):
            return f"its corpus.{split} is '{named}'" if named else f"it has no corpus.{split}"
    if encoding is not None and corpus.get("encoding", "utf-8") != encoding:
        return f"its corpus.encoding is '{corpus.get('encoding', 'utf-8')}'"
    files = text.get("files") if isinstance(text, dict) else None
    for path in transfer:
        if not _names(files if isinstance(files, list) else [], path, recipe=recipe):
            return f"its transfer.files do not name '{path}'"
    return ""


def _names(paths: Sequence[object], file: Path, *, recipe: Path) -> bool:
    """Whether one of the paths, as a recipe names them, is this file."""
    for path in paths:
        try:
            found = expand(find_file(str(path), search_roots(recipe.parent)))
        except FileNotFoundError:
            continue
        if file.exists() and any(one.samefile(file) for one in found):
            return True
    return False
