"""The classes, their order and their names."""

from limbeck.corpus.labelled import name_classes


def test_integer_labels_are_in_numeric_order() -> None:
    assert name_classes(["10", "2", "-1", "2"], label_names={}).names == ["-1", "2", "10"]


def test_other_labels_are_in_alphabetical_order() -> None:
    assert name_classes(["pos", "neg", "10", "2"], label_names={}).names == ["10", "2", "neg", "pos"]


def test_an_order_that_the_source_has_is_kept() -> None:
    classes = name_classes(["neg", "pos"], label_names={}, order=["pos", "neg", "mixed"])

    assert classes.names == ["pos", "neg"]


def test_names_follow_the_order_of_the_raw_labels() -> None:
    classes = name_classes(["1", "0", "2"], label_names={"0": "zero", "1": "one", "2": "both"})

    assert classes.names == ["zero", "one", "both"]
    assert classes.class_of == {"0": 0, "1": 1, "2": 2}


def test_labels_with_the_same_name_become_one_class() -> None:
    classes = name_classes(["1", "2", "5"], label_names={"1": "bad", "2": "bad", "5": "good"})

    assert classes.names == ["bad", "good"]
    assert classes.class_of == {"1": 0, "2": 0, "5": 1}


def test_names_that_do_not_fit_the_data_are_reported() -> None:
    classes = name_classes(["0", "1"], label_names={"1": "one", "2": "two"})

    assert classes.names == ["0", "one"]
    assert classes.unused_names == ["2"]
    assert classes.unnamed == ["0"]


def test_names_that_only_join_labels_need_not_name_the_others() -> None:
    classes = name_classes(["Refund", "refund", "praise"], label_names={"refund": "Refund"})

    assert classes.names == ["Refund", "praise"]
    assert classes.unnamed == []
