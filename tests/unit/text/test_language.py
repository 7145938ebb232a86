import pytest

from limbeck.text.language import detect_language


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["a gorgeous, witty film", "hide new secretions"], "en"),
        (["房间太小。其他的都一般", "服务吗，一般"], "zh"),
        (["用了两天iPhone 8 Plus 256GB，Wi-Fi偶尔断，其他都不错"], "zh"),
        (["the Chinese title is 卧虎藏龙, which nobody in the audience could read"], "en"),
        (["𠮷野家"], "zh"),
        (["12345 !!!", ""], "en"),
        ([], "en"),
    ],
)
def test_the_share_of_han_letters_decides(texts: list[str], language: str) -> None:
    assert detect_language(texts) == language


def test_the_sample_covers_a_long_list_to_its_end() -> None:
    texts = ["12345"] * 600 + ["房间太小"] * 600

    assert detect_language(texts) == "zh"
