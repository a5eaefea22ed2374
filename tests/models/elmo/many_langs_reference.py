"""ELMoForManyLangs: a random model's files, and what it computes, in plain NumPy.

The program's terms throughout: its names, its orientation of matrices, its ids.
"""

import numpy as np
from elmo_reference import sigmoid
from foreign_files import draw_weights, write_json
from torch_pickles import write_state

DIM, OUT, WORD_DIM, CHARACTER_DIM, LAYERS = 10, 6, 4, 5, 2
FILTERS = [[1, 3], [2, 4], [3, 5]]
WIDTH = sum(number for _, number in FILTERS)
LONGEST = 12
CHARACTERS = {
    name: i
    for i, name in enumerate(
        ["<bos>", "<eos>", *"aehtcs.\u00e9\u4e2d", "\u3000", "<oov>", "<pad>"]
        + ["<bow>", "<eow>", "\U0001f600"]
    )
}
WORDS = {
    name: i
    for i, name in enumerate(
        ["<oov>", "<bos>", "<eos>", "<pad>", "the", "cat", "\u4e2d", "ttttttttt"]
        + ["tttttttttt", "."]
    )
}
OPTIONS = {
    "encoder": {
        "name": "elmo",
        "projection_dim": OUT,
        "cell_clip": 0.3,
        "proj_clip": 0.15,
        "dim": DIM,
        "n_layers": LAYERS,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": FILTERS,
        "n_highway": 2,
        "word_dim": WORD_DIM,
        "char_dim": CHARACTER_DIM,
        "max_characters_per_token": LONGEST,
    },
    "classifier": {"name": "sampled_softmax", "n_samples": 8192},
    "dropout": 0.1,
}


def make_options(**fields):
    """The configuration with other values in the section of the token embedder."""
    return {**OPTIONS, "token_embedder": {**OPTIONS["token_embedder"], **fields}}


def make_states(options=OPTIONS):
    """Both state dicts, every number from N(0, 0.3)."""
    cnn, encoder = options["token_embedder"], options["encoder"]
    shapes = {"char_emb_layer.embedding.weight": (len(CHARACTERS), CHARACTER_DIM)}
    if cnn["word_dim"]:
        shapes["word_emb_layer.embedding.weight"] = (len(WORDS), cnn["word_dim"])
    for i, (size, number) in enumerate(FILTERS):
        shapes[f"convolutions.{i}.weight"] = (number, CHARACTER_DIM, size)
        shapes[f"convolutions.{i}.bias"] = (number,)
    for i in range(cnn["n_highway"]):
        shapes[f"highways._layers.{i}.weight"] = (2 * WIDTH, WIDTH)
        shapes[f"highways._layers.{i}.bias"] = (2 * WIDTH,)
    shapes["projection.weight"] = (OUT, cnn["word_dim"] + WIDTH)
    shapes["projection.bias"] = (OUT,)
    cells = {}
    for i in range(encoder["n_layers"]):
        for side in ("forward", "backward"):
            layer = f"{side}_layer_{i}"
            cells[f"{layer}.input_linearity.weight"] = (4 * DIM, OUT)
            cells[f"{layer}.state_linearity.weight"] = (4 * DIM, OUT)
            cells[f"{layer}.state_linearity.bias"] = (4 * DIM,)
            cells[f"{layer}.state_projection.weight"] = (OUT, DIM)
    arrays = draw_weights({**shapes, **cells}, 5)
    return {k: arrays[k] for k in shapes}, {k: arrays[k] for k in cells}


def format_dictionary(entries):
    """The lines of entries and ids, of an ideographic space only the id."""
    lines = [f"{'' if k == chr(0x3000) else k + chr(9)}{i}" for k, i in entries.items()]
    return "".join(f"{line}\n" for line in lines)


def write_model(directory, options=OPTIONS, legacy=True, states=None):
    """Writes a model as the program leaves it; config.json names another machine."""
    directory.mkdir(parents=True)
    path = "/users/me/configs/cnn_sample.json"
    write_json(directory / "config.json", config_path=path, seed=1)
    write_json(directory / "configs" / "cnn_sample.json", **options)
    (directory / "char.dic").write_text(format_dictionary(CHARACTERS), "utf-8")
    if options["token_embedder"]["word_dim"]:
        (directory / "word.dic").write_text(format_dictionary(WORDS), "utf-8")
    states = states or make_states(options)
    for name, arrays in zip(("token_embedder", "encoder"), states, strict=True):
        write_state(directory / f"{name}.pkl", arrays, legacy)


def token_vector(word, weights):
    """The vector of one word, (OUT,)."""
    word = word[: LONGEST - 2]
    # What the program calls the begin of a word has the id of <eow>, and vice versa.
    ids = [CHARACTERS["<eow>"]]
    if word in ("<bos>", "<eos>"):
        ids.append(CHARACTERS[word])
    else:
        ids += [CHARACTERS.get(c, CHARACTERS["<oov>"]) for c in word]
    ids.append(CHARACTERS["<bow>"])
    ids += [CHARACTERS["<pad>"]] * (LONGEST - len(ids))
    x = weights["char_emb_layer.embedding.weight"][ids].T  # channels first
    parts = []
    for i, (size, _) in enumerate(FILTERS):
        kernel = weights[f"convolutions.{i}.weight"]
        windows = [x[:, t : t + size] for t in range(LONGEST - size + 1)]
        responses = [np.einsum("ncw,cw->n", kernel, window) for window in windows]
        responses = np.array(responses) + weights[f"convolutions.{i}.bias"]
        parts.append(np.maximum(responses.max(axis=0), 0))
    x = np.concatenate(parts)
    for i in range(2):
        both = weights[f"highways._layers.{i}.weight"] @ x
        both = both + weights[f"highways._layers.{i}.bias"]
        transformed, gate = np.maximum(both[:WIDTH], 0), sigmoid(both[WIDTH:])
        x = gate * x + (1 - gate) * transformed
    if "word_emb_layer.embedding.weight" in weights:
        number = WORDS.get(word, WORDS["<oov>"])
        x = np.concatenate([weights["word_emb_layer.embedding.weight"][number], x])
    return weights["projection.weight"] @ x + weights["projection.bias"]


def run_cell(steps, weights, layer):
    """The outputs of one LSTM over the steps, in their order."""
    bounds = OPTIONS["encoder"]["cell_clip"], OPTIONS["encoder"]["proj_clip"]
    w = {k.removeprefix(f"{layer}."): v for k, v in weights.items() if layer in k}
    c, h, outputs = np.zeros(DIM), np.zeros(OUT), []
    for x in steps:
        z = w["input_linearity.weight"] @ x + w["state_linearity.weight"] @ h
        i, f, g, o = np.split(z + w["state_linearity.bias"], 4)
        c = sigmoid(i) * np.tanh(g) + sigmoid(f) * c
        c = np.clip(c, -bounds[0], bounds[0])
        h = w["state_projection.weight"] @ (sigmoid(o) * np.tanh(c))
        h = np.clip(h, -bounds[1], bounds[1])
        outputs.append(h)
    return np.array(outputs)


def reference(words, states):
    """All layers of a sentence with its markers, (LAYERS + 1, T + 2, 2 OUT)."""
    embedder, encoder = ({k: v.astype("float64") for k, v in s.items()} for s in states)
    words = ["<bos>", *words, "<eos>"]
    x = np.array([token_vector(word, embedder) for word in words])
    layers, forward, backward = [np.concatenate([x, x], axis=-1)], x, x[::-1]
    for i in range(LAYERS):
        y = run_cell(forward, encoder, f"forward_layer_{i}")
        z = run_cell(backward, encoder, f"backward_layer_{i}")
        forward, backward = (y + forward, z + backward) if i else (y, z)
        layers.append(np.concatenate([forward, backward[::-1]], axis=-1))
    return np.array(layers)
