from limbeck.text.readable import readable


def test_ordinary_text_passes_unchanged() -> None:
    assert readable("a film 电影 🎬", most_characters=100) == "a film 电影 🎬"


def test_lone_surrogates_are_replaced() -> None:
    assert readable("a\ud800b\udfff", most_characters=100) == "a\ufffdb\ufffd"


def test_surrogate_pairs_become_the_character_they_mean() -> None:
    assert readable("\ud83c\udfac!", most_characters=100) == "🎬!"


def test_a_long_text_is_cut_after_its_leading_white_space() -> None:
    assert readable(" " * 50 + "abcdef", most_characters=3) == "abc"
