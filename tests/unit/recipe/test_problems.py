"""Every problem of a recipe is reported at once, with its path, what was found and the nearest known name."""

from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.load import parse_recipe


def problems(raw: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(RecipeInvalid) as caught:
        parse_recipe(raw, recipe="mine.toml")
    return caught.value.problems


LOSSES = (
    "hard_labels, logit_mse, probability_mse, soft_targets, certain_targets, jensen_shannon, dkd, dist, "
    "standardised_logits, huber, "
    "ranking, hint, feature_cosine, spkd, rkd, factor_transfer, pkt, vid, crd, hidden_mse, hidden_cosine, "
    "attention_mse, attention_kl, pkd, nst, embedding_mse, minilm, minilm_v2, fsp, custom"
)


def with_corpus(**sections: Any) -> dict[str, Any]:
    return {"corpus": {"train": "train.csv"}, **sections}


def test_all_problems_are_reported_at_once() -> None:
    raw = {
        "corpus": {"train": "train.csv", "lable": "y"},
        "distillation": {"epochs": 0, "losses": [{"kind": "logit_mse"}, {"kind": "soft_target"}]},
        "studnet": {},
    }

    assert problems(raw) == (
        "corpus.lable: unknown key (did you mean 'label'?)",
        "distillation.epochs: should be greater than or equal to 1 (found 0)",
        f"distillation.losses.1.kind: unknown kind 'soft_target' (did you mean 'soft_targets'?); known kinds: {LOSSES}",
        "studnet: unknown key (did you mean 'student'?)",
    )


def test_a_key_like_no_other_gets_the_list_of_known_ones() -> None:
    raw = with_corpus(distillation={"losses": [{"kind": "soft_targets", "zebra": 1}]})

    assert problems(raw) == (
        "distillation.losses.0.zebra: unknown key (known: kind, power, row_temperatures, spread, temperature, weight)",
    )


def test_a_key_of_another_kind_of_loss_is_unknown_to_this_one() -> None:
    raw = with_corpus(distillation={"losses": [{"kind": "logit_mse", "temperature": 2.0}]})

    assert problems(raw) == ("distillation.losses.0.temperature: unknown key (known: kind, weight)",)


def test_a_loss_without_a_kind_gets_the_list_of_kinds() -> None:
    raw = with_corpus(distillation={"losses": [{"weight": 1.0}]})

    assert problems(raw) == (f"distillation.losses.0: no `kind` given; known kinds: {LOSSES}",)


def test_the_path_to_a_problem_inside_a_loss_is_the_path_in_the_file() -> None:
    raw = with_corpus(distillation={"losses": [{"kind": "logit_mse"}, {"kind": "hard_labels", "smoothing": 1.0}]})

    assert problems(raw) == ("distillation.losses.1.smoothing: should be less than 1 (found 1.0)",)


@pytest.mark.parametrize(
    ("section", "value", "problem"),
    [
        (
            "student",
            {"kind": "transformer", "width": 100, "heads": 3},
            "student: heads must divide width: 100 is not a multiple of 3",
        ),
        (
            "student",
            {"kind": "transformer", "layers": 2, "teacher_layers": [0, 1, 2]},
            "student: teacher_layers names 3 layers of the teacher for 2 layers",
        ),
        (
            "student",
            {"kind": "transformer", "family": "albert", "teacher_layers": [0, 1]},
            "student: teacher_layers names 2 layers of the teacher for 1 layer_groups",
        ),
        (
            "student",
            {"kind": "transformer", "layer_groups": 2},
            'student: layer_groups and embedding_size need family = "albert": set that, or remove them',
        ),
        (
            "student",
            {"kind": "transformer", "family": "albert", "layers": 2, "layer_groups": 3},
            "student: layer_groups must not be more than layers: 3 is more than 2",
        ),
        (
            "student",
            {"static_channel": True, "tune_vectors": False},
            "student: static_channel adds fixed vectors to trained ones: set tune_vectors = true",
        ),
        (
            "distillation",
            {"losses": [{"kind": "logit_mse", "weight": {"kind": "warm_up", "start": 2.0, "end": 1.0}}]},
            'distillation.losses.0.weight: "warm_up" rises, but start is 2, end 1; '
            'use "linear" or "cosine" for a number that falls',
        ),
        (
            "distillation",
            {"stages": [{"losses": [{"kind": "dkd", "temperature": {"kind": "linear", "end": 1.0}}]}]},
            "distillation.stages.0.losses.0.temperature: should stay above 0 (found 0); "
            "a schedule starts at 0 unless `start` is set",
        ),
        (
            "distillation",
            {"losses": [{"kind": "logit_mse", "weight": {"kind": "linear", "strat": 1.0, "end": 1.0}}]},
            "distillation.losses.0.weight.strat: unknown key (did you mean 'start'?)",
        ),
        (
            "distillation",
            {"losses": [{"kind": "logit_mse", "weight": {"kind": "linear"}}]},
            "distillation.losses.0.weight.end: missing, but required",
        ),
        (
            "distillation",
            {"losses": [{"kind": "logit_mse", "weight": "much"}]},
            "distillation.losses.0.weight: should be a valid number (found 'much')",
        ),
    ],
)
def test_a_rule_that_a_kind_of_table_breaks_is_reported_with_the_path_in_the_file(
    section: str, value: dict[str, Any], problem: str
) -> None:
    """Pydantic names the member of the union, or the tag of a schedule, which nobody wrote."""
    assert problems(with_corpus(**{section: value})) == (problem,)


def test_a_list_in_place_of_a_word_is_reported_by_what_is_wrong_inside_it() -> None:
    raw = with_corpus(distillation={"losses": [{"kind": "hidden_mse", "layers": [[1, 2], [1, 2, 3]]}]})

    (problem,) = problems(raw)

    assert problem.startswith("distillation.losses.0.layers.1: list should have at most 2 items")


def test_only_a_list_of_tables_is_written_with_double_brackets() -> None:
    raw = with_corpus(distillation={"seeds": 3, "losses": {"kind": "hidden_mse"}})

    assert problems(raw) == (
        "distillation.seeds: should be a list (found 3)",
        "distillation.losses: should be a list (of tables: [[double brackets]]) (found {'kind': 'hidden_mse'})",
    )
    word = with_corpus(distillation={"losses": [{"kind": "hidden_mse", "layers": "unifrm"}]})
    assert problems(word) == (
        "distillation.losses.0.layers: should be 'uniform', 'last', 'top', 'skip' or 'every' or a list "
        "(found 'unifrm') (did you mean 'uniform'?)",
    )


@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        (["teacher", "a.txt", "teacher"], "student.word_vectors: 'teacher' appears twice: name each source once"),
        (["teacher", 3], "student.word_vectors.1: should be a valid string (found 3)"),
        ([], "student.word_vectors: should be a valid string or should not be empty (found [])"),
        (3, "student.word_vectors: should be a valid string or a list (found 3)"),
    ],
)
def test_a_list_of_sources_of_word_vectors_is_read_strictly(sources: Any, problem: str) -> None:
    assert problems(with_corpus(student={"word_vectors": sources})) == (problem,)


def test_a_list_of_one_source_means_the_source() -> None:
    one, plain = (
        parse_recipe(with_corpus(student={"word_vectors": sources}), recipe="mine.toml")
        for sources in (["random"], "random")
    )

    assert one == plain


def test_a_table_inside_a_table_has_its_own_keys() -> None:
    raw = with_corpus(student={"vocabulary": {"max_sise": 100}})

    assert problems(raw) == ("student.vocabulary.max_sise: unknown key (did you mean 'max_size'?)",)


def test_a_missing_section_and_a_missing_key_are_named() -> None:
    assert problems({}) == ("corpus: missing, but required",)
    assert problems(with_corpus(transfer={})) == ("transfer: give `files` or `hub`",)


def test_a_choice_shows_what_may_be_chosen() -> None:
    raw = with_corpus(student={"vocabulary": {"kind": "word"}, "pooling": "first"})

    assert problems(raw) == (
        "student.vocabulary.kind: should be 'words' or 'pieces' (found 'word') (did you mean 'words'?)",
        "student.pooling: should be 'max', 'last', 'mean' or 'attention' (found 'first')",
    )


def test_a_key_of_several_types_is_one_problem() -> None:
    raw = {"corpus": {"train": "train.csv", "text": 1.5, "quoting": "maybe"}}

    assert problems(raw) == (
        "corpus.text: should be a valid string or a valid integer (found 1.5)",
        "corpus.quoting: should be 'auto' or true or false (found 'maybe')",
    )


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("distillation", {"epochs": "3"}),
        ("distillation", {"epochs": True}),
        ("distillation", {"epochs": 3.0}),
        ("distillation", {"baseline": "yes"}),
        ("distillation", {"learning_rate": float("inf")}),
        ("distillation", {"learning_rate": float("nan")}),
        ("student", {"word_vectors": 300}),
    ],
)
def test_values_are_not_converted_to_another_type(section: str, value: dict[str, Any]) -> None:
    (problem,) = problems(with_corpus(**{section: value}))

    assert problem.startswith(f"{section}.{next(iter(value))}: should be ")


def test_a_whole_number_will_do_for_a_fraction() -> None:
    recipe = parse_recipe(with_corpus(distillation={"clip_norm": 2}), recipe="mine.toml")

    assert recipe.distillation.clip_norm == 2.0


def test_a_plain_value_in_place_of_a_table_is_noticed() -> None:
    assert problems(with_corpus(teacher=5, labeling="cls")) == (
        "teacher: should be a table (found 5)",
        "labeling: should be a table (found 'cls')",
    )


def test_an_empty_list_is_noticed() -> None:
    assert problems(with_corpus(distillation={"seeds": []})) == ("distillation.seeds: should not be empty (found [])",)


def test_a_long_value_is_cut_short() -> None:
    (problem,) = problems(with_corpus(student={"hidden_size": "x" * 1000}))

    assert len(problem) < 150
    assert problem.endswith("…)")


@pytest.mark.parametrize(
    ("raw", "where", "what"),
    [
        ({"corpus": {}}, "corpus", "give either `train`"),
        ({"corpus": {"train": "a", "hub": "b"}}, "corpus", "give either `train`"),
        ({"corpus": {"hub": "glue/sst2", "dev": "dev.csv"}}, "corpus", "come with the data set"),
        ({"corpus": {"train": "a", "dev_fraction": 0.5, "test_fraction": 0.5}}, "corpus", "leave nothing for train"),
        (with_corpus(transfer={"files": ["a"], "min_words": 9, "max_words": 3}), "transfer", "min_words (9) is larger"),
        (with_corpus(transfer={"files": ["a"], "pair": "b"}), "recipe", "must both be given, or neither"),
        (
            {
                "corpus": {"train": "a", "pair": "b"},
                "transfer": {"files": ["a"], "pair": "b", "split_sentences": True},
            },
            "transfer",
            "are for single texts",
        ),
        (
            with_corpus(transfer={"files": ["a"]}, distillation={"losses": [{"kind": "hard_labels"}]}),
            "recipe",
            "transfer text has no labels",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_refused(raw: dict[str, Any], where: str, what: str) -> None:
    (problem,) = problems(raw)

    assert problem.startswith(f"{where}: ")
    assert what in problem


def test_the_recipe_is_named_in_the_message() -> None:
    with pytest.raises(RecipeInvalid, match=r"^mine\.toml: 1 problem in the recipe\n  corpus: missing"):
        parse_recipe({}, recipe="mine.toml")
