import pytest

from limbeck.text.language import detect_language, language_name


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


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The soup was cold and nobody came to ask us about it.", "English"),
        ("gorgeous film", "English"),
        ("", "English"),
        ("Die Suppe war kalt, und es hat sich niemand um uns gekümmert.", "German"),
        ("La soupe était froide et le serveur ne nous a pas vus.", "French"),
        ("La sopa estaba fría y no vino nadie a la mesa para preguntar.", "Spanish"),
        ("La zuppa era fredda e non è venuto nessuno, ma il pane era buono.", "Italian"),
        ("A sopa estava fria e não veio ninguém, mas o pão é muito bom.", "Portuguese"),
        ("De soep was koud en er is niemand bij ons aan tafel geweest.", "Dutch"),
        ("Soppan var kall och det kom inte någon till bordet för att fråga.", "Swedish"),
        ("Zupa była zimna i nie było nikogo, ale chleb jest bardzo dobry.", "Polish"),
        ("Çorba soğuktu ve kimse gelmedi ama ekmek çok güzel bir şeydi.", "Turkish"),
        ("Sriuba buvo šalta, niekas neatėjo, bet duona skani.", "Latin-script"),
        ("a dull film about war, number 3", "English"),
        ("Суп был холодным, и никто не пришёл.", "Russian"),
        ("Суп був холодний, і ніхто не прийшов до нас.", "Ukrainian"),
        ("Супата беше студена и никой не дойде да ни обслужи.", "Bulgarian"),
        ("Фильм", "Cyrillic-script"),
        ("الطعام كان باردا في هذا المطعم ولم يأت أحد", "Arabic"),
        ("غذا سرد بود و کسی به ما سر نزد، این خوب نیست", "Persian"),
        ("सूप ठंडा था और कोई हमारे पास नहीं आया।", "Hindi"),
        ("Η σούπα ήταν κρύα.", "Greek"),
        ("スープが冷たくて、誰も来なかった。", "Japanese"),
        ("수프가 차가웠어요.", "Korean"),
        ("汤是凉的，没有人来。", "Chinese"),
        ("الحساء بارد", "Arabic-script"),
    ],
)
def test_other_languages_are_named_by_function_words_or_script(text: str, language: str) -> None:
    assert language_name([text, text]) == language


def test_the_sample_covers_a_long_list_to_its_end() -> None:
    texts = ["12345"] * 600 + ["房间太小"] * 600

    assert detect_language(texts) == "zh"
