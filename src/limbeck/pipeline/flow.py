"""All stages in order: what each is built from, and the key that decides whether it is rebuilt."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.disk import disk_errors_as_user_errors
from limbeck.artifacts.foreign import Foreign
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.report import Report
from limbeck.artifacts.run_folder import RUNS, Run, RunFolder, open_run, refuse_other_data
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.corpus.run import read_corpus
from limbeck.distillation.objective import empty_losses
from limbeck.distillation.refuse_impossible import refuse_general, refuse_the_impossible
from limbeck.drafting.frames import DataFrame, keep_frame
from limbeck.drafting.run import draft_to_run
from limbeck.errors import some
from limbeck.labeling.source import Runner
from limbeck.pipeline.budget import PLANNED_KEYS, NothingToPlan, kept_plan, planned_overrides
from limbeck.pipeline.cards import write_cards, write_teacher_card
from limbeck.pipeline.corrections import corrections_in, corrections_key, labelled_by, labelled_by_key
from limbeck.pipeline.evaluation import evaluate, int8_teacher, rival_of
from limbeck.pipeline.exports import Exports, exports_of, ship_best
from limbeck.pipeline.extra_text import ChosenText, choose_text, copies_of, transfer_of
from limbeck.pipeline.foreign import fingerprints_of, foreign_of, taught_of
from limbeck.pipeline.kept_teacher import kept_teacher_of, names_to_keep
from limbeck.pipeline.keys import input_fingerprints, settings_of, texts
from limbeck.pipeline.pretraining import pretrained_of
from limbeck.pipeline.report_page import complete_report_page
from limbeck.pipeline.students import size_limit_of, students_of, vocabularies_of
from limbeck.pipeline.teachers import Teachers, labels_of, teachers_of
from limbeck.pretraining.run import refuse_pretraining
from limbeck.progress import Reporter, TerminalReporter
from limbeck.recipe.calls import allowing_custom_code
from limbeck.recipe.load import LoadedRecipe, load_recipe, recipe_source
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.stages import Stage
from limbeck.recipe.toml import to_toml
from limbeck.teacher.run import refuse_unusable
from limbeck.timing.machine import machine_facts
from limbeck.training.tracks import Tracks, refuse_unknown_trackers


def run(
    recipe: str | Path | DataFrame,
    *,
    name: str = "frame",
    overrides: Sequence[str] = (),
    out: str | Path | None = None,
    until: Stage | None = None,
    reporter: Reporter | None = None,
    transfer: Sequence[str | Path] = (),
    test: str | Path | DataFrame | None = None,
    dev: str | Path | DataFrame | None = None,
    encoding: str | None = None,
    minutes: float | None = None,
    allow_custom_code: bool = False,
    runner: Runner | None = None,
) -> Run:
    """Run a recipe and reuse all artifacts that are up to date; the same as `limbeck run`.

    `recipe` may also be a file of labelled rows: a recipe for it is written first, as `limbeck init` does, with the
    files `transfer` as unlabelled text, and `test` and `dev` as rows that are held out. These three may be data frames
    (pandas, polars, pyarrow): they are kept beside the run folder under `name`, which also names recipe and run.
    With `minutes`, rows, epochs and copies are planned so that the run takes about so long here
    (limbeck.pipeline.budget). A recipe may call functions of the user only with `allow_custom_code`.
    A `runner` asks the teacher in place of this process.
    """
    reporter = reporter or TerminalReporter()
    beside = Path(out).parent if out else RUNS
    held_out = {
        split: None if rows is None else _as_file(rows, name=f"{name}-{split}", folder=beside)
        for split, rows in (("dev", dev), ("test", test))
    }
    if not isinstance(recipe, str | Path):
        recipe = keep_frame(recipe, name=name, folder=beside)
    texts_given = [Path(file) for file in transfer]
    if draft := draft_to_run(str(recipe), transfer=texts_given, held_out=held_out, encoding=encoding):
        if not out:
            draft.refuse_run_of_other_data(overrides)
        draft.write()
        reporter.note(draft.summary)
        recipe = draft.recipe
    loaded = load_recipe(recipe, overrides=overrides)
    for note in loaded.notes:
        reporter.note(note)
    folder = Path(out) if out else run_folder_of(recipe, name=loaded.name)
    source = recipe_source(recipe).resolve()
    if not out and loaded.recipe.corpus.train:  # a folder that the user names is the user's choice
        refuse_other_data(folder, train=Path(loaded.recipe.corpus.train), recipe=source)
    refuse_unknown_trackers(loaded.recipe.tracking.trackers)
    with allowing_custom_code(allow_custom_code):
        for one in loaded.recipe.for_each_student():
            refuse_the_impossible(one, size_limit=size_limit_of(one))
        refuse_unusable(loaded.recipe.teacher, recipe=str(recipe))
        refuse_pretraining(loaded.recipe.teacher)
        machine, seeds = machine_facts(threads=loaded.recipe.evaluation.threads), loaded.recipe.distillation.seeds
        facts = {"name": loaded.name, "recipe": str(source), "seeds": seeds, "machine": machine}
        advice = "Correct that, or give another folder with --out."
        with disk_errors_as_user_errors(folder, advice=advice), open_run(folder, reporter=reporter, facts=facts) as run:
            planned = loaded.recipe
            if until not in (Stage.CORPUS, Stage.TRANSFER):  # they need neither a teacher nor a plan
                planned = _planned(loaded, recipe, overrides=overrides, minutes=minutes, run=run)
            run.write("recipe.toml", to_toml(planned))
            _flow(planned, name=loaded.name, until=until, run=run, runner=runner)
    return Run(folder)


def _planned(
    loaded: LoadedRecipe, recipe: str | Path, *, overrides: Sequence[str], minutes: float | None, run: RunFolder
) -> Recipe:
    """The recipe, cut to the time that it may take.

    The planned one has no `minutes`: the run folder's copy would be planned again when the run is continued from there.
    """
    asked, limit = loaded.recipe, minutes or loaded.recipe.minutes
    if limit is None:
        return asked
    fixed = sorted({override.partition("=")[0].strip() for override in overrides} & PLANNED_KEYS)
    if minutes is None and fixed:
        run.reporter.note(f"  minutes = {limit:g} in the recipe is not kept to, as --set gives {some(fixed)}")
        return asked.model_copy(update={"minutes": None})
    may_grow = minutes is not None
    planned = kept_plan(asked, run, minutes=limit, may_grow=may_grow)
    if planned is None:
        corpus = _corpus(asked, loaded.name, run)
        gathered = transfer_of(asked, corpus, run)
        try:
            planned = planned_overrides(asked, corpus, gathered, run, minutes=limit, may_grow=may_grow)
        except NothingToPlan as error:
            if may_grow:
                raise
            run.reporter.note(f"  minutes = {limit:g} in the recipe is not kept to: {error.found}")
            planned = []
    if fixed:
        run.reporter.note(f"  the plan takes the place of --set {some(fixed)}", style="warning")
    return load_recipe(recipe, overrides=[*overrides, *planned]).recipe.model_copy(update={"minutes": None})


def _as_file(rows: str | Path | DataFrame, *, name: str, folder: Path) -> Path:
    return Path(rows) if isinstance(rows, str | Path) else keep_frame(rows, name=name, folder=folder)


def run_folder_of(recipe: str | Path, *, name: str) -> Path:
    """The folder of a run without --out: a run folder given as the recipe is continued in place."""
    return Path(recipe) if Path(recipe).is_dir() else RUNS / name


def _flow(recipe: Recipe, *, name: str, until: Stage | None, run: RunFolder, runner: Runner | None = None) -> None:
    """All stages in order; each is built from the artifacts before it, or reused."""
    corpus = _corpus(recipe, name, run)
    if until == Stage.CORPUS:
        return
    gathered = transfer_of(recipe, corpus, run)
    if until == Stage.TRANSFER:
        return
    extra = {**gathered, **copies_of(recipe, corpus, gathered, run)}
    if until == Stage.AUGMENTATION:
        return
    tracks = Tracks(recipe.tracking.trackers, recipe.tracking.project, run.folder / "tracking")
    pretrained = pretrained_of(recipe, corpus, gathered, run, tracks=tracks)
    teachers = teachers_of(recipe, corpus, pretrained, run, tracks=tracks)
    if until == Stage.TEACHER:
        return
    labels = labels_of(recipe, corpus, extra, teachers, run, runner=runner)
    chosen_text = choose_text(recipe, corpus, extra, labels, run)
    if until == Stage.LABELING:
        return
    foreign = foreign_of(recipe, corpus, extra, run)
    chosen_text = replace(chosen_text, taught=taught_of(foreign, run))
    vocabularies = vocabularies_of(recipe, corpus, chosen_text, teachers, run)
    teachers = teachers.unloaded()  # students need the memory
    students = students_of(recipe, corpus, chosen_text, labels, vocabularies, teachers, run, tracks=tracks)
    if until == Stage.DISTILLATION:
        return
    exports = exports_of(recipe, corpus, labels, students, run, foreign=foreign.dev)
    kept = kept_teacher_of(recipe, corpus, teachers.teacher, labels, run, members=teachers.folders)
    if until == Stage.EXPORT:
        return
    report = _report(recipe, name, corpus, chosen_text, teachers, labels, exports, run, kept=kept, foreign=foreign.test)
    complete_report_page(run.folder)
    best = ship_best(report, exports.candidates, run, others=names_to_keep(recipe))
    write_cards(recipe, report, [*(candidate.shipped for candidate in exports.candidates), *best])
    write_teacher_card(report, kept)


def _corpus(recipe: Recipe, name: str, run: RunFolder) -> Corpus:
    corpus = run.step(
        "corpus",
        kind="corpus",
        key=Key(section=settings_of(recipe, "corpus"), inputs=input_fingerprints(recipe.corpus)),
        load=Corpus,
        make=lambda out, key: read_corpus(recipe.corpus, name=name, out=out, key=key, reporter=run.reporter),
    )
    for one in recipe.for_each_student():
        refuse_general(one.student, corpus.language)
    for note in empty_losses(recipe.distillation.every_loss, classes=len(corpus.labels)):
        run.reporter.note(f"  {note}")
    return corpus


def _report(
    recipe: Recipe,
    name: str,
    corpus: Corpus,
    chosen_text: ChosenText,
    teachers: Teachers,
    labels: TeacherLabels,
    exports: Exports,
    run: RunFolder,
    *,
    kept: ModelFolder | None = None,
    foreign: Foreign | None = None,
) -> Report:
    teacher, members = teachers.teacher, teachers.folders
    rival = rival_of(recipe, corpus, run)

    def make(out: Path, key: Key) -> None:
        with int8_teacher(recipe.evaluation, teacher, corpus, run, kept=kept, members=members) as file:
            evaluate(
                recipe.evaluation,
                corpus=corpus,
                transfer=chosen_text.quality("transfer"),
                augmentation=chosen_text.quality("augmented"),
                teacher=teacher,
                members=members,
                labels=labels,
                candidates=exports.candidates,
                refused=exports.refused,
                foreign=foreign,
                taught=chosen_text.taught.quality["sources"] if chosen_text.taught else None,
                run_name=name,
                out=out,
                key=key,
                reporter=run.reporter,
                teacher_int8=file,
                rival=rival,
                max_size_mb=recipe.student.max_size_mb,
                corrections=corrections_in(recipe.corpus),
                labelled_by=labelled_by(recipe.corpus),
            )

    models = {
        f"{candidate.name}/{seed}": read_manifest(export.folder, kind="model").fingerprint
        for candidate in exports.candidates
        for seed, export in candidate.exports.items()
    }
    return run.step(
        "report",
        kind="report",
        key=Key(
            section=settings_of(recipe, "report"),
            inputs={
                "labels": labels.fingerprint,
                "teacher": f"{teacher.facts.name} {teacher.fingerprint}",
                **texts(corpus, chosen_text.parts),
                **({"rival": rival.fingerprint} if rival else {}),
                **corrections_key(recipe.corpus),
                **labelled_by_key(recipe.corpus),
                **fingerprints_of(foreign),
                **models,
                **{f"refused {one.name}": one.key for one in exports.refused},
            },
        ),
        load=Report,
        make=make,
    )
