"""The page in a real Chromium: everything a visitor does, against a scripted server and against `limbeck serve`."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.unit.serving.chromium import BROWSER, Chromium, Tab

PHONE, DESKTOP = 390, 1280
NUMBERS = count()
ALL_MODELS = ["feelings", "questions", "intents", "films"]  # the last one is the default
GORGEOUS = "a gorgeous, witty film that stays with you"
ANSWERED = "document.querySelectorAll('#bars li').length > 0"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the path"),
]


class Visit:
    """A page that is open, and its server."""

    def __init__(self, tab: Tab, address: str) -> None:
        self.tab, self.address = tab, address

    def seen(self) -> list[Any]:
        """The bodies that the scripted server answered."""
        with urlopen(f"{self.address}seen") as response:
            return list(json.load(response))


Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    browser = Chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def scripted() -> Iterator[str]:
    """The scripted server, in a process of its own; its address."""
    command = [sys.executable, "-m", "tests.unit.serving.scripted_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.kill()


@pytest.fixture
def visit(chromium: Chromium, scripted: str) -> Iterator[Open]:
    """visit(models=[…], width=…, scheme=…, **settings): the page of a site of the scripted server, once it is complete.

    In the end, whatever was done: nothing is on the console, and nobody but the server was asked for anything.
    """
    tabs: list[Tab] = []

    def open_page(*, width: int = DESKTOP, scheme: str = "light", until: str = ANSWERED, **settings: Any) -> Visit:
        address = f"{scripted}site-{next(NUMBERS)}/"
        content = json.dumps({"models": ALL_MODELS, **settings}).encode()
        urlopen(Request(address, content, method="PUT")).close()
        tab = chromium.open(address, width=width, scheme=scheme)
        tabs.append(tab)
        tab.wait(until)
        return Visit(tab, address)

    yield open_page
    for tab in tabs:
        assert tab.complaints() == []
        assert tab.hosts() <= {scripted.split("/")[2]}
        tab.close()


@contextmanager
def real(model: Path) -> Iterator[str]:
    """`limbeck serve` in a process of its own; its address."""
    command = [sys.executable, "-m", "limbeck", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = "".join(iter(process.stdout.readline, "Stop it with Ctrl-C.\n"))
            found = re.search(r"page +(http://127\.0\.0\.1:\d+/)", printed)
            assert found, printed
            yield found[1]
        finally:
            process.kill()


def verdict(tab: Tab) -> str:
    return " ".join(tab.text("#verdict").split())


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def labelled(tab: Tab, path: Path, folder: Path) -> str:
    """What can be downloaded after a file was dropped and labelled."""
    tab.drop(path)
    tab.wait(f"!part('table').hidden && part('file-name').textContent === {json.dumps(path.name)}")
    tab.click("#label")
    tab.wait("!part('download').hidden")
    return tab.downloaded("#download", folder).read_bytes().decode()


@pytest.mark.parametrize("folder", ["model_folder", "pair_model_folder", "multi_label_folder"])
def test_the_page_of_the_real_server_answers(chromium: Chromium, request: pytest.FixtureRequest, folder: str) -> None:
    with real(request.getfixturevalue(folder)) as address:
        tab = chromium.open(address)
        tab.wait("model !== null")
        tab.click("#text")
        tab.type("a gorgeous film")
        tab.wait(ANSWERED)

        assert tab.text("#name") == "bilstm"
        assert {text.split("\n")[0] for text in tab.texts("#bars li")} == {"negative", "neutral", "positive"}
        assert tab.is_shown("#pair") == (folder == "pair_model_folder")
        assert tab.complaints() == []


def test_an_example_is_answered_at_once_and_the_others_by_a_click(visit: Open) -> None:
    page = visit()
    assert verdict(page.tab) == "positive 90.0 %"
    assert page.tab.evaluate("part('text').value") == GORGEOUS

    page.tab.click("#examples button:nth-child(2)")
    page.tab.wait("part('verdict').textContent.startsWith('negative')")

    assert page.tab.evaluate("part('text').value") == "two dreadful hours"
    assert [body["texts"] for body in page.seen()] == [[GORGEOUS], ["two dreadful hours"]]
    assert page.tab.texts("#bars li") == ["negative\n90.0 %", "positive\n10.0 %"]


def test_what_is_typed_is_answered_without_a_click_and_never_as_html(visit: Open) -> None:
    page = visit(models=["intents"], until="model !== null")
    assert not page.tab.is_shown("#examples")
    assert verdict(page.tab) == "No text yet"

    page.tab.click("#text")
    page.tab.type("<img src=x onerror='fail()'> & more")
    page.tab.wait(ANSWERED)
    page.tab.click("#explain")
    page.tab.wait("!part('why').hidden")

    assert page.tab.evaluate("document.querySelectorAll('img').length") == 0
    assert page.tab.text("#pieces") == "<img src=x onerror='fail()'> & more"
    assert "model" not in page.seen()[0]


def test_why_shows_what_speaks_for_and_against(visit: Open) -> None:
    page = visit()
    page.tab.evaluate("fillIn('gorgeous,  dreadful   hours')")
    page.tab.click("#explain")
    page.tab.wait("!part('why').hidden && part('pieces').textContent.startsWith('gorgeous')")

    marks = "[...document.querySelectorAll('#pieces span')].map(one => [one.textContent, one.className, one.title])"
    assert page.tab.evaluate(marks) == [
        ["gorgeous", "for", "+2.50"],
        ["dreadful", "against", "−2.00"],
        ["hours", "against", "−0.300"],
    ]
    assert page.tab.evaluate("part('pieces').textContent") == "gorgeous,  dreadful   hours"
    style = "getComputedStyle(document.querySelector('#pieces .{}')).textDecorationStyle"
    assert [page.tab.evaluate(style.format(sign)) for sign in ("for", "against")] == ["solid", "wavy"]
    assert "for and against “negative”" in page.tab.text("#legend")
    assert page.seen()[-1] == {"texts": ["gorgeous,  dreadful   hours"], "model": "films", "explain": True}

    page.tab.click("#explain")
    page.tab.wait("part('why').hidden")


def test_models_are_chosen_and_a_text_of_ones_own_stays(visit: Open) -> None:
    page = visit()
    assert page.tab.texts("#models option") == ALL_MODELS
    choose = "part('models').value = '{0}'; part('models').onchange()"

    page.tab.evaluate(choose.format("questions"))
    page.tab.wait("part('verdict').textContent.startsWith('same')")
    assert page.tab.is_shown("#pair")
    assert page.seen()[-1]["rows"] == [
        {"text": "How do I learn to swim?", "pair": "What is the best way to learn swimming?"}
    ]

    page.tab.evaluate(choose.format("feelings"))
    page.tab.wait("part('verdict').textContent.startsWith('thanks')")
    assert not page.tab.is_shown("#pair")
    page.tab.evaluate("part('text').value = 'no joy, unsure'")
    page.tab.evaluate(choose.format("intents"))
    page.tab.wait("part('verdict').textContent.startsWith('intent')")
    assert page.seen()[-1] == {"texts": ["no joy, unsure"], "model": "intents"}


def test_pairs_are_explained_text_by_text(visit: Open) -> None:
    page = visit(models=["questions"])

    page.tab.click("#explain")
    page.tab.wait("!part('why').hidden")

    assert page.tab.texts("#pieces p") == ["How do I learn to swim?", "What is the best way to learn swimming?"]
    assert page.tab.text("#curl").endswith(
        """-d '{"rows":[{"text":"How do I learn to swim?","pair":"What is the best way to learn swimming?"}]}'"""
    )


def test_a_refusal_of_a_file_is_shown_and_the_rest_can_be_tried_again(visit: Open, tmp_path: Path) -> None:
    page = visit(models=["films"])

    page.tab.drop(written(tmp_path / "a.txt", "fine\nfine\nrefuse\n"))
    page.tab.wait("!part('table').hidden")
    page.tab.click("#label")
    page.tab.wait("!part('file-problem').hidden && labelling === null")

    assert page.tab.text("#file-problem") == "<b>texts[0]</b> is refused"
    assert page.tab.text("#state") == ""
    assert not page.tab.evaluate("part('label').disabled")


def test_several_labels_and_none(visit: Open) -> None:
    page = visit(models=["feelings"])
    assert verdict(page.tab) == "thanks, joy"
    assert page.tab.texts("#bars .predicted") == ["joy\n90.0 %", "thanks\n90.0 %"]

    page.tab.evaluate("fillIn('a table')")
    page.tab.wait("document.querySelectorAll('.predicted').length === 0")

    assert verdict(page.tab) == "no label"


def test_many_classes_are_shown_on_demand(visit: Open) -> None:
    page = visit(models=["intents"], until="model !== null")
    page.tab.evaluate("fillIn('unsure')")
    page.tab.wait(ANSWERED)
    assert len(page.tab.texts("#bars li")) == 8
    assert verdict(page.tab) == "intent number 149 90.0 % answered by fallback"

    page.tab.click("#more")
    assert len(page.tab.texts("#bars li")) == 150
    assert page.tab.evaluate("part('more').getAttribute('aria-expanded')") == "true"
    page.tab.click("#more")
    assert len(page.tab.texts("#bars li")) == 8


def test_a_server_without_a_list_of_models_is_asked_about_its_one(visit: Open) -> None:
    page = visit(models=["films"], is_old=True)

    assert page.tab.text("#name") == "films"
    assert not page.tab.is_shown("#choice")


def test_a_refusal_is_shown_as_it_is(visit: Open) -> None:
    page = visit()

    page.tab.evaluate("fillIn('refuse')")
    page.tab.wait("!part('problem').hidden")

    assert page.tab.text("#problem") == "<b>texts[0]</b> is refused"
    assert page.tab.texts("#bars li") == []


def test_a_key_is_asked_for_used_and_never_kept(visit: Open) -> None:
    page = visit(key="top secret", until="!part('access').hidden")
    assert page.tab.text("#problem") == "a key is needed"
    assert not page.tab.is_shown("#files")

    page.tab.type("wrong")  # the field has the focus
    page.tab.press("Enter")
    page.tab.wait("document.activeElement === part('key') && part('key').value === ''")
    page.tab.type("top secret")
    page.tab.press("Enter")
    page.tab.wait(ANSWERED)

    assert verdict(page.tab) == "positive 90.0 %"
    assert not page.tab.is_shown("#access")
    assert page.tab.text("#curl").count('"authorization: Bearer $KEY"') == 1
    assert "top secret" not in page.tab.evaluate("document.documentElement.outerHTML")
    assert page.tab.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_a_busy_server_is_asked_again(visit: Open) -> None:
    page = visit(busy=3)

    assert verdict(page.tab) == "positive 90.0 %"
    assert len(page.seen()) == 1


def test_a_dropped_table_is_labelled_and_given_back(visit: Open, tmp_path: Path) -> None:
    """Slices of two rows, between them a busy server; cells stay as they are, and what needs quotes has them."""
    page = visit(busy=2)
    rows = [
        ["id", "review", "label"],
        ["01", 'a gorgeous, "witty" film', "?"],
        ["02", "two dreadful\r\nhours", "=1+1"],
        ["03", "café 电影 🙂 unsure", ""],
        ["04", "x" * 1_500, " spaces "],
        ["05", "", "-"],
    ]
    with (tmp_path / "re views.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(rows)

    found = labelled(page.tab, tmp_path / "re views.csv", tmp_path)

    negative, positive = ["negative", "0.9", ""], ["positive", "0.9", ""]
    said = [["predicted_label", "probability", "answered_by"], positive, negative, [*positive[:2], "fallback"]]
    expected = [[*row, *added] for row, added in zip(rows, [*said, positive, positive], strict=True)]
    assert list(csv.reader(found.splitlines(keepends=True))) == expected
    assert (tmp_path / "re views.labelled.csv").exists()
    sent = [body["texts"] for body in page.seen()[1:]]
    assert [len(texts) for texts in sent] == [2, 2, 1]
    assert sent[1] == ["café 电影 🙂 unsure", "x" * 1_000]
    assert page.tab.text("#state") == "5 rows are labelled."
    assert not page.tab.is_shown("#progress")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "two dreadful hours\nfine, very\n", "text,label,probability\ntwo dreadful hours,negative,0.9\n"
         '"fine, very",positive,0.9\n'),
        ("a.tsv", "1\tit's 5\" long\r\n2\tdreadful\r\n", '1,"it\'s 5"" long",positive,0.9\n2,dreadful,negative,0.9\n'),
        ("a.csv", "Nr;Text\n1;dreadful, too\n2;ok\n", 'Nr,Text,label,probability\n1,"dreadful, too",negative,0.9\n'
         "2,ok,positive,0.9\n"),
        ("a.csv", "text\nfine\n\ndreadful", "text,label,probability\nfine,positive,0.9\ndreadful,negative,0.9\n"),
        ("a.csv", "text,n\nfine\ndreadful,1,2\n", "text,n,,label,probability\nfine,,,positive,0.9\n"
         "dreadful,1,2,negative,0.9\n"),
        ("a.csv", b"text,n\ncaf\xe9,1\n", "text,n,label,probability\ncafé,1,positive,0.9\n"),
        ("a.csv", "text,n\ncafé,1\n".encode("utf-16"), "text,n,label,probability\ncafé,1,positive,0.9\n"),
        ("a.jsonl", '{"id": 12345678901234567890, "text": "dreadful"}\n\n{"text": "ok", "label": 1.0 }\n{}\n',
         '{"id": 12345678901234567890, "text": "dreadful", "predicted_label": "negative", "probability": 0.9}\n'
         '{"text": "ok", "label": 1.0, "predicted_label": "positive", "probability": 0.9}\n'
         '{"predicted_label": "positive", "probability": 0.9}\n'),
        ("a.json", '[{"text": "dreadful"}]', '{"text":"dreadful", "label": "negative", "probability": 0.9}\n'),
    ],
)  # fmt: skip
def test_files_of_all_kinds_are_read(
    visit: Open, tmp_path: Path, name: str, content: str | bytes, expected: str
) -> None:
    page = visit(models=["films"])
    (tmp_path / "out").mkdir()

    found = labelled(page.tab, written(tmp_path / name, content), tmp_path / "out")

    assert found == expected


def test_cells_are_cut_with_care(visit: Open) -> None:
    page = visit(models=["films"])
    expected = {
        'a,"b,""c"""\n"d\ne",f': [["a", 'b,"c"'], ["d\ne", "f"]],
        'a,b"c"\n"d" e,f\n': [["a", 'b"c"'], ['"d" e', "f"]],
        'a,"b\nc,d\ne,"f': [["a", '"b'], ["c", "d"], ["e", '"f']],
        "a,\n,\r\n\r\nb,c\rd,e": [["a", ""], ["", ""], ["b", "c"], ["d", "e"]],
        '""\n"",': [["", ""]],
        "a,b,": [["a", "b", ""]],
        "": [],
    }

    found = {text: page.tab.evaluate(f"cellsOf({json.dumps(text)}, ',')") for text in expected}

    assert found == expected


def test_the_guess_can_be_put_right(visit: Open, tmp_path: Path) -> None:
    page = visit(models=["films"])
    path = written(tmp_path / "notes.csv", "short,a very long cell that looks like the text itself\ndreadful,x\n")
    page.tab.choose("#file", path)
    page.tab.wait("!part('table').hidden")
    assert not page.tab.evaluate("part('header').checked")
    assert page.tab.evaluate("part('text-column').value") == "1"
    assert page.tab.texts("#preview tr")[0] == "column 1\tcolumn 2"

    page.tab.click("#header")
    page.tab.evaluate("part('text-column').value = '0'; part('text-column').onchange()")
    assert page.tab.texts("#preview .chosen") == ["short", "dreadful"]
    page.tab.click("#label")
    page.tab.wait("!part('download').hidden")

    found = page.tab.downloaded("#download", tmp_path).read_text(encoding="utf-8")
    assert found.splitlines()[1] == "dreadful,x,negative,0.9"
    page.tab.evaluate("part('kind').value = 'json'; part('kind').onchange()")
    assert page.tab.text("#file-problem") == "Line 1 is not a JSON object."
    assert page.tab.evaluate("part('kind').value") == ","


def test_two_columns_are_chosen_for_pairs(visit: Open, tmp_path: Path) -> None:
    page = visit(models=["questions"])
    path = written(tmp_path / "pairs.tsv", "id\tquestion1\tquestion2\n7\tHow to swim?\tWhere?\n")

    found = labelled(page.tab, path, tmp_path)

    assert page.seen()[-1]["rows"] == [{"text": "How to swim?", "pair": "Where?"}]
    assert found.splitlines()[1] == "7,How to swim?,Where?,same,0.9"


def test_labels_of_a_row_are_joined(visit: Open, tmp_path: Path) -> None:
    page = visit(models=["feelings"])

    found = labelled(page.tab, written(tmp_path / "a.txt", "joy and anger\nnothing\n"), tmp_path)

    assert found.splitlines()[1:] == ["joy and anger,joy|anger,0.9", "nothing,,0.1"]


@pytest.mark.parametrize("how", ["key", "button"])
def test_labelling_is_cancelled(visit: Open, tmp_path: Path, how: str) -> None:
    page = visit(busy=0)
    page.tab.drop(written(tmp_path / "many.txt", "a line\n" * 5_000))
    page.tab.wait("!part('table').hidden")
    page.tab.click("#label")
    page.tab.wait("part('progress').value > 0")

    page.tab.press("Escape") if how == "key" else page.tab.click("#cancel")
    page.tab.wait("labelling === null")

    assert re.fullmatch(r"Cancelled after [\d,]+ rows\.", page.tab.text("#state"))
    assert not page.tab.is_shown("#download")
    assert not page.tab.is_shown("#cancel")
    assert not page.tab.evaluate("part('label').disabled")


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_rows_is_said(visit: Open, tmp_path: Path, content: str) -> None:
    page = visit(models=["films"])

    page.tab.drop(written(tmp_path / "empty.csv", content))
    page.tab.wait("!part('file-problem').hidden")

    assert page.tab.text("#file-problem") == "The file has no rows."
    assert not page.tab.is_shown("#table")


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_nothing_sticks_out(visit: Open, tmp_path: Path, width: int) -> None:
    page = visit(width=width)
    long = "an-extremely-long-word-" * 20
    page.tab.evaluate(f"part('pair').value = 'x'; part('text').value = '{long}'; part('explain').checked = true; ask()")
    table = written(tmp_path / f"{'long' * 40}.csv", f"text,{long}\n{long},{long}\n{long},{long}\n")
    outside = "[...document.querySelectorAll('main *')].filter(one => !one.closest('.wide') && !one.closest('select')"

    for model in ALL_MODELS:
        page.tab.evaluate(f"part('models').value = '{model}'; part('models').onchange()")
        page.tab.wait("asking === null")
        labelled(page.tab, table, tmp_path)

        scroll = page.tab.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
        found = page.tab.evaluate(
            f"{outside} && one.getBoundingClientRect().right > innerWidth).map(one => one.tagName)"
        )
        assert (model, scroll, found) == (model, width, [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(visit: Open, scheme: str) -> None:
    """Contrast of every text against what is behind it, as WCAG 2 computes it: 4.5 at least."""
    page = visit(scheme=scheme)
    page.tab.evaluate("fillIn('gorgeous dreadful hours'); part('explain').checked = true; ask()")
    page.tab.wait("document.querySelectorAll('#pieces span').length === 3")

    found = dict(page.tab.evaluate(CONTRASTS))

    assert len(found) > 15
    assert {text: contrast for text, contrast in found.items() if contrast < 4.5} == {}
    luminance = page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert luminance == ("rgb(20, 23, 27)" if scheme == "dark" else "rgb(251, 251, 249)")


CONTRASTS = r"""
(() => {
  const numbers = (color) => color.match(/[\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], back) => [r, g, b].map((c, i) => c * a + back[i] * (1 - a));
  const behind = (one) => {
    const layers = [];
    for (let up = one; up; up = up.parentElement) layers.push(numbers(getComputedStyle(up).backgroundColor));
    return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255]);
  };
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const shown = [...document.querySelectorAll("main *")].filter((one) => one.getClientRects().length
    && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return shown.map((one) => {
    const back = behind(one), style = getComputedStyle(one), front = numbers(style.color);
    const color = over([...front.slice(0, 3), (front[3] ?? 1) * Number(style.opacity)], back);
    const [light, dark] = [luminance(color), luminance(back)].sort((a, b) => b - a);
    return [`${one.tagName} ${one.id} ${one.textContent.slice(0, 30)}`, (light + 0.05) / (dark + 0.05)];
  });
})()
"""


def test_everything_can_be_done_with_the_keyboard(visit: Open, tmp_path: Path) -> None:
    page = visit()
    tab = page.tab
    tab.drop(written(tmp_path / "a.csv", "text,n\nfine,1\ndreadful,2\n"))
    tab.wait("!part('table').hidden")
    tab.evaluate("part('text').focus(); part('text').select()")
    tab.type("two dreadful hours")
    tab.press("Enter", ctrl=True)
    tab.wait("part('verdict').textContent.startsWith('negative')")
    assert tab.evaluate("part('text').value") == "two dreadful hours"

    order = []
    for _ in range(14):
        tab.press("Tab")
        order.append(tab.evaluate("document.activeElement.id || document.activeElement.tagName"))
        width = tab.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert width == "2px", order[-1]
        if order[-1] == "explain":
            tab.press(" ")
        if order[-1] == "label":
            tab.press("Enter")
            tab.wait("!part('download').hidden && document.activeElement === part('download')")
            order.append("download")

    assert order[:5] == ["ask", "explain", "BUTTON", "BUTTON", "BUTTON"]
    assert order[5:13] == ["choose", "kind", "header", "text-column", "DIV", "label", "download", "copy"]
    assert order[13:15] == ["curl", "A"]
    tab.wait("document.querySelectorAll('#pieces span').length === 2")
    assert tab.evaluate("part('verdict').getAttribute('aria-live')") == "polite"


def test_every_field_has_a_name_for_those_who_do_not_see_it(visit: Open, tmp_path: Path) -> None:
    page = visit()
    page.tab.drop(written(tmp_path / "a.csv", "text,n\nfine,1\n"))
    page.tab.wait("!part('table').hidden")

    nodes = page.tab.send("Accessibility.getFullAXTree")["nodes"]

    roles = ("button", "checkbox", "combobox", "textbox", "link", "progressbar", "region", "group")
    named = [
        (node["role"]["value"], node["name"]["value"]) for node in nodes if node.get("role", {}).get("value") in roles
    ]
    assert ("textbox", "Text") in named
    assert ("combobox", "Model") in named
    assert [role for role, name in named if not name.strip()] == []


def test_a_server_that_is_gone_is_said(visit: Open) -> None:
    page = visit(models=["films"])
    page.tab.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    page.tab.evaluate("fillIn('fine')")
    page.tab.wait("!part('problem').hidden")

    assert page.tab.text("#problem") == "The server does not answer. Is it still running?"


def test_faults_that_are_planted_are_found(chromium: Chromium, scripted: str) -> None:
    """An exception, a message, and a picture from elsewhere, which the policy forbids."""
    urlopen(Request(f"{scripted}planted/", b'{"models": ["films"]}', method="PUT")).close()
    tab = chromium.open(f"{scripted}planted/")
    tab.evaluate("setTimeout(() => { console.error('a fault'); undefined.nothing })")
    tab.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.invalid/picture.png'}))")
    tab.wait(ANSWERED)

    found = "".join(tab.complaints())

    assert "a fault" in found
    assert "TypeError" in found
    assert "Content Security Policy" in found
    tab.close()
