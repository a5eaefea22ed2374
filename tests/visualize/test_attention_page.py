"""The page of attention weights: what it contains, and what a browser shows."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from zoo.visualize import Attention, attention_page, save_attention_page

BREAKING = "</script><img src=x onerror=alert(1)>"
SOURCE = (BREAKING, "a\nb", "", "<!--", "&lt;", "שלום")
TARGET = ("<s>", "\ud800", "é")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


def make(rows, columns, seed=0, layers=2, heads=3):
    """Random weights between two lists of tokens."""
    ones = np.ones(len(columns))
    shape = (layers, heads, len(rows))
    weights = np.random.default_rng(seed).dirichlet(ones, shape)
    return Attention(weights.astype("float32"), rows, columns)


@pytest.fixture
def attention():
    """All three kinds of an encoder-decoder."""
    return {
        "cross": make(TARGET, SOURCE),
        "encoder": make(SOURCE, SOURCE, 1),
        "decoder": make(TARGET, TARGET, 2),
    }


def read_data(page):
    """The data of a page by kind; a browser ends it at the first `</script`."""
    element = '<script type="application/json" id="data">'
    kinds = json.loads(page.split(element)[1].split("</script")[0])
    return {kind["name"]: kind for kind in kinds}


def test_the_weights_and_tokens_are_those_of_the_model(attention):
    data = read_data(attention_page(attention))
    assert list(data) == ["encoder", "decoder", "cross"]
    for name, (weights, rows, columns) in attention.items():
        kind = data[name]
        assert (kind["from"], kind["to"]) == ([*rows], [*columns])
        shape = kind["layers"], kind["heads"], len(rows), len(columns)
        numbers = np.frombuffer(base64.b64decode(kind["weights"]), "<u2") / 65535
        np.testing.assert_allclose(numbers.reshape(shape), weights, rtol=0, atol=1e-5)


def test_texts_are_escaped_and_only_one_script_may_run(attention):
    name = f'{BREAKING}" {{{{data}}}} \ud800'
    page = attention_page(attention, title=name, model=name)
    assert "<img" not in page and page.count("<script") == page.count("</script") == 2
    assert page.count('id="data"') == 1
    assert page.encode("utf-8").count(b"&#55296;") == 3  # what UTF-8 cannot write
    policy = re.search('Policy" content="(.*?)"', page)[1]
    script = re.search("<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith(f"script-src 'sha256-{digest}'")
    assert not re.search(r"https?:|@import|url\(", page)


def test_a_file_is_written_completely_or_not_at_all(attention, tmp_path):
    path = save_attention_page(tmp_path / "a" / "page.html", attention, "Title", "tiny")
    content = path.read_bytes().decode("utf-8")
    assert content == attention_page(attention, "Title", "tiny")
    assert "<title>Title</title>" in content and ">tiny<" in content
    with pytest.raises(ValueError, match="at least one of the kinds"):
        save_attention_page(path, {})
    assert path.read_bytes().decode("utf-8") == content
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]


def test_weights_and_tokens_are_checked():
    weights, rows, columns = make(TARGET, SOURCE)
    for wrong, message in (
        ({}, "Received: none"),
        ({"both": (weights, rows, columns)}, "self, encoder, decoder, .*: both"),
        ({"cross": (weights, columns, rows)}, r"\(2, 3, 3, 6\) for 6 tokens and 3"),
        ({"cross": (weights[None], rows, columns)}, r"attended tokens\). .*\(1, 2"),
        ({"self": (weights[:0], rows, columns)}, r"Received: \(0, 3, 3, 6\)"),
        ({"self": (weights * 2 - 1, rows, columns)}, r"in \[0, 1\]. Received: -"),
        ({"self": (np.where(weights > 0.5, np.nan, weights), rows, columns)}, "nan"),
    ):
        with pytest.raises(ValueError, match=message):
            attention_page(wrong)
    with pytest.raises(TypeError, match="must be str. Received: b'a'"):
        attention_page({"self": (weights, [b"a"] * 3, columns)})
    almost = np.full((1, 1, 1, 1), 1.00001)  # as softmax rounds it
    assert read_data(attention_page({"self": (almost, "a", "b")}))


def test_a_page_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from zoo.visualize import attention_page, Attention\n"
        "attention_page({'self': Attention([[[[1.0]]]], ['a'], ['b'])})\n"
        "assert 'tensorflow' not in sys.modules\n"
        "from zoo.visualize import plot_curves\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError")
    assert "line 5" in done.stderr and "needs matplotlib. Run `pip install" in last


# What a browser shows -----------------------------------------------------------


def open_page(path, state):
    """The document after its script ran, as text."""
    profile = f"--user-data-dir={path.parent / 'profile'}"
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", profile)
    address = f"{path.as_uri()}#{state}"
    command = [BROWSER, *options, "--virtual-time-budget=3000", address]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def column(document, side):
    """The tokens and the numbers of a column."""
    body = re.search(f'<ol id="{side}".*?</ol>', document, re.DOTALL)[0]
    items = re.findall(r"<li.*?<b.*?>(.*?)</b><small.*?>(.*?)</small>", body, re.DOTALL)
    return [(html.unescape(token), number) for token, number in items]


@pytest.mark.skipif(BROWSER is None, reason="needs the browser Chromium")
def test_a_browser_shows_the_weights_of_a_token(attention, tmp_path):
    path = save_attention_page(tmp_path / "page.html", attention)
    document = open_page(path, "kind=cross&layer=1&heads=0,2&token=2")
    shown = [BREAKING, "a↵b", "∅", "<!--", "&lt;", "שלום"]
    means = attention["cross"].weights[1, [0, 2], 2].mean(0)
    numbers = [f"{mean:.3f}" for mean in means]
    assert column(document, "to") == [*zip(shown, numbers, strict=True)]
    assert "<img" not in document
    best = int(np.argmax(means))
    status = re.sub("<.*?>", "", re.search('<p id="status".*?</p>', document)[0])
    message = f"é (token 2) attends most to: {shown[best]} ({best}) {numbers[best]}, "
    assert html.unescape(status).startswith(message)
    assert [token for token, _ in column(document, "from")] == ["<s>", "\ufffd", "é"]
    document = open_page(path, "kind=cross&layer=0&heads=1&side=to&token=5")
    expected = [f"{weight:.3f}" for weight in attention["cross"].weights[0, 1, :, 5]]
    assert [number for _, number in column(document, "from")] == expected
