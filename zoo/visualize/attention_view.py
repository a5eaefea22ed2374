"""A page of the attention weights of a model: HTML that needs no network."""

import base64
import hashlib
import json
import pathlib
import re
import reprlib
from typing import NamedTuple

import numpy as np

from zoo.visualize.given_values import to_numbers
from zoo.visualize.pages import escape, write_page

TEMPLATE = pathlib.Path(__file__).with_name("attention_view.html")
SCRIPT = TEMPLATE.with_suffix(".js")
# A weight is stored in 16 bits, so it is off by at most 1 / 131070.
WEIGHT_STEPS = 65535
SHAPE = ("layers", "heads", "tokens", "attended tokens")
TOLERANCE = 1e-3  # of weights that were rounded, outside of [0, 1]


class Kind(NamedTuple):
    """What the page says about a kind of attention."""

    label: str
    from_name: str
    to_name: str
    note: str


# In the order of the page.
KINDS = {
    "self": Kind(
        "self",
        "text",
        "the same text",
        "Self-attention: the tokens of the text attend to each other.",
    ),
    "encoder": Kind(
        "encoder",
        "source",
        "the same source",
        "Attention of the encoder: the tokens of the source attend to each other.",
    ),
    "decoder": Kind(
        "decoder",
        "target",
        "the same target",
        "Attention of the decoder: each token of the target attends to itself and to "
        "earlier tokens, and then predicts the next token.",
    ),
    "cross": Kind(
        "cross",
        "target",
        "source",
        "Cross-attention: each token of the target attends to the tokens of the "
        "source, and then predicts the next token of the target.",
    ),
}


class Attention(NamedTuple):
    """Attention weights and their tokens.

    Args:
        weights: float (N, H, T, L), of N layers and H heads: how much each of the T
            tokens attends to each of L tokens. Between 0 and 1.
        tokens: sequence of str (T,), the tokens that attend.
        attended: sequence of str (L,), the tokens that they attend to.
    """

    weights: np.ndarray
    tokens: tuple
    attended: tuple


def attention_page(attention, title="Attention", model=""):
    """Makes a page on which attention weights can be explored.

    Lines join the tokens to those that they attend to. The opacity of a line is the
    weight. Kind, layer and heads are chosen with the mouse or the keyboard. The page
    is one file, which loads nothing. Its weights differ by less than 1e-5 from those
    of the model. A weight takes 8 / 3 bytes: a text of 200 tokens in a base BERT makes
    a page of 15 MB.

    Source: the idea is from tensor2tensor (Vaswani et al. 2018) and BertViz (Vig 2019).

    Args:
        attention: dict of kind to `Attention`. The kinds are "self" for a model with
            one text, and "encoder", "decoder" and "cross" for a source and a target.
        title: str.
        model: str, name of the model.

    Returns:
        str, HTML.

    Raises:
        TypeError: if it is no dict of `Attention`, or a token is not a str.
        ValueError: if a kind is unknown, the weights do not fit the tokens, or a weight
            is not in [0, 1].
    """
    if not isinstance(attention, dict):
        raise TypeError(
            "`attention` must be a dict of kind to `Attention`. Received: "
            f"{reprlib.repr(attention)}."
        )
    unknown = [str(kind) for kind in attention if kind not in KINDS]
    if unknown or not attention:
        raise ValueError(
            f"`attention` must have at least one of the kinds {', '.join(KINDS)}. "
            f"Received: {', '.join(unknown) or 'none'}."
        )
    data = [_entry(kind, attention[kind]) for kind in KINDS if kind in attention]
    # "<" could end the element that holds the data.
    text = json.dumps(data).replace("<", "\\u003c")
    script = SCRIPT.read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {
        "title": escape(title),
        "model": escape(model),
        "data": text,
        "script": script,
        "policy": "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'",
    }
    template = TEMPLATE.read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def save_attention_page(path, attention, title="Attention", model=""):
    """Writes the page of `attention_page`, whose arguments it takes, to an HTML file.

    Returns:
        pathlib.Path of the file.
    """
    return write_page(path, attention_page(attention, title, model))


def _entry(name, attention):
    """What the page holds about a kind, plain values."""
    weights, tokens, attended = check_attention(name, attention)
    steps = np.rint(np.clip(weights, 0, 1) * WEIGHT_STEPS).astype("<u2")
    kind = KINDS[name]
    return {
        "name": name,
        "label": kind.label,
        "note": kind.note,
        "fromName": kind.from_name,
        "toName": kind.to_name,
        "from": tokens,
        "to": attended,
        "layers": weights.shape[0],
        "heads": weights.shape[1],
        "weights": base64.b64encode(steps.tobytes()).decode(),
    }


def check_attention(name, attention):
    """The weights float64, tokens and attended tokens; errors of `attention_page`."""
    sides = attention[1:] if isinstance(attention, (list, tuple)) else ()
    if len(sides) != 2 or not all(hasattr(side, "__iter__") for side in sides):
        raise TypeError(
            f"The attention {name!r} must be an `Attention`. Received: "
            f"{reprlib.repr(attention)}."
        )
    tokens, attended = ([*side] for side in sides)
    weights = to_numbers(f"weights of {name}", attention[0], SHAPE, gaps=True)
    wrong = [token for token in (*tokens, *attended) if not isinstance(token, str)]
    if wrong:
        raise TypeError(
            f"The tokens of {name!r} must be str. Received: {wrong[0]!r}. Decode bytes "
            "and convert ids to tokens first."
        )
    sides = len(tokens), len(attended)
    if weights.shape[2:] != sides or not weights.size:
        raise ValueError(
            f"The weights of {name!r} must have the shape (layers, heads, tokens, "
            f"attended tokens). Received: {weights.shape} for {sides[0]} tokens and "
            f"{sides[1]} attended tokens."
        )
    outside = ~((weights >= -TOLERANCE) & (weights <= 1 + TOLERANCE))
    if outside.any():
        raise ValueError(
            f"The weights of {name!r} must be in [0, 1]. Received: "
            f"{weights[outside][0]}. Use the output of the softmax."
        )
    return weights, tokens, attended
