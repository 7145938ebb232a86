from limbeck.augmentation.masked_lm import Column, HanWords

DICTIONARY = {
    "好": 5,
    "很": 9,
    "酒": 2,
    "酒店": 7,
    "酒吧": 3,
    "早": 1,
    "早餐": 4,
    "一": 3,
    "一塌": 0,
    "一塌糊": 0,
    "一塌糊涂": 2,
}


def test_only_words_are_combined() -> None:
    first, second = Column("酒早一", [3.0, 2.0, 1.0]), Column("餐店吧", [3.0, 2.5, 1.0])

    assert HanWords(DICTIONARY, ()).combined([first, second], most=9) == ["酒店", "早餐", "酒吧"]


def test_those_with_the_highest_sum_of_logits_come_first() -> None:
    words = HanWords(DICTIONARY, ())

    found = words.combined([Column("酒早", [1.0, 5.0]), Column("店餐", [9.0, 1.0])], most=1)

    assert found == ["酒店"]


def test_words_that_were_seen_count_as_words() -> None:
    columns = [Column("小酒", [2.0, 1.0]), Column("店米", [2.0, 1.0])]

    assert HanWords(DICTIONARY, ()).combined(columns, most=9) == ["酒店"]
    assert HanWords(DICTIONARY, ["小米", "小米粥"]).combined(columns, most=9) == ["小米", "酒店"]


def test_the_prefix_of_a_word_is_not_a_word() -> None:
    words = HanWords(DICTIONARY, ["小米粥"])
    columns = [Column("一小", [1.0, 1.0]), Column("塌米", [1.0, 1.0]), Column("糊粥", [1.0, 1.0])]

    assert words.combined(columns[:2], most=9) == []
    assert words.combined(columns, most=9) == ["小米粥"]
    assert words.combined([*columns, Column("涂", [1.0])], most=9) == ["一塌糊涂"]


def test_a_single_character_is_a_word_if_it_is_one() -> None:
    assert HanWords(DICTIONARY, ()).combined([Column("店好很", [3.0, 2.0, 1.0])], most=9) == ["好", "很"]
