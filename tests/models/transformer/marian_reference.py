"""A forward pass of Marian's Transformer in float64, and arrays for it.

It follows `src/models/transformer.h` of marian-nmt/marian-dev. No program of Marian was
available to compare it with.
"""

import functools

import numpy as np
from foreign_files import draw_weights

SIZE, WIDTH, HEADS, INNER, ENCODER, DECODER = 13, 8, 2, 10, 2, 1
OPTIONS = {
    "type": "transformer",
    "dim-vocabs": [SIZE, SIZE],
    "dim-emb": WIDTH,
    "enc-depth": ENCODER,
    "dec-depth": DECODER,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": INNER,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "swish",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False,
    "tied-embeddings-all": True,
    "tied-embeddings-src": False,
    "tied-embeddings": False,
    "version": "v1.9.0 1234abc 2020-02-26 10:00:00 +0000",
}


def write_yaml(options):
    """The text of a model.yml, as yaml-cpp writes it."""
    lines = []
    for name, value in options.items():
        if isinstance(value, list):
            lines += [f"{name}:", *(f"  - {v}" for v in value)]
            lines += [] if value else ["  []"]
        else:
            word = str(value).lower() if isinstance(value, bool) else value
            lines.append(f"{name}: {word}" if word != "" else f'{name}: ""')
    return "\n".join(lines) + "\n"


def shapes(options):
    """The name and the shape of every array of a model."""
    if options["tied-embeddings-all"] or options["tied-embeddings-src"]:
        yield "Wemb", (SIZE, WIDTH)
    else:
        yield "encoder_Wemb", (SIZE, WIDTH)
        yield "decoder_Wemb", (SIZE, WIDTH)
    if not (options["tied-embeddings-all"] or options["tied-embeddings"]):
        yield "decoder_ff_logit_out_W", (WIDTH, SIZE)
    yield "decoder_ff_logit_out_b", (1, SIZE)
    before = options["transformer-preprocess"] == "n"
    norms = []
    for side, depth in (("encoder", ENCODER), ("decoder", DECODER)):
        if "n" in options["transformer-postprocess-emb"]:
            norms.append((f"{side}_emb", "_pre"))
        if "n" in options["transformer-postprocess-top"]:
            norms.append((f"{side}_top", ""))
        for i in range(1, depth + 1):
            layer, suffix = f"{side}_l{i}", "_pre" if before else ""
            for part in ("self", "context")[: 1 + (side == "decoder")]:
                for name in "qkvo":
                    yield f"{layer}_{part}_W{name}", (WIDTH, WIDTH)
                    yield f"{layer}_{part}_b{name}", (1, WIDTH)
                norms.append((f"{layer}_{part}_Wo", suffix))
            yield f"{layer}_ffn_W1", (WIDTH, INNER)
            yield f"{layer}_ffn_b1", (1, INNER)
            yield f"{layer}_ffn_W2", (INNER, WIDTH)
            yield f"{layer}_ffn_b2", (1, WIDTH)
            norms.append((f"{layer}_ffn_ffn", suffix))
    for name, suffix in norms:
        yield f"{name}_ln_scale{suffix}", (1, WIDTH)
        yield f"{name}_ln_bias{suffix}", (1, WIDTH)


def draw(options):
    """Random arrays: N(0, 0.3), gains of norms N(1, 0.3)."""
    return draw_weights(dict(shapes(options)), 3)


def positions(length):
    """Sinusoids (L, D): all sines, then all cosines."""
    found = np.zeros((length, WIDTH))
    half = WIDTH // 2
    for place in range(length):
        for i in range(half):
            angle = place * np.exp(-i * np.log(10000.0) / (half - 1.0))
            found[place, i], found[place, half + i] = np.sin(angle), np.cos(angle)
    return found


class Reference:
    """A model of Marian.

    Args:
        arrays: dict of name to array.
        options: dict of its options.
    """

    def __init__(self, arrays, options):
        self.arrays = {k: v.astype("float64") for k, v in arrays.items()}
        self.options = options

    def norm(self, x, name):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        scale, bias = (
            self.arrays[name.replace("*", part)][0] for part in ("scale", "bias")
        )
        return (x - mean) / np.sqrt(variance + 1e-6) * scale + bias

    def layer(self, name, x, compute):
        y = x
        if self.options["transformer-preprocess"] == "n":
            y = self.norm(y, f"{name}_ln_*_pre")
        y = compute(y) + x
        if self.options["transformer-postprocess"] == "dan":
            y = self.norm(y, f"{name}_ln_*")
        return y

    def attention(self, name, query, keys, mask):
        """Attention of one row (L, D) to another one (M, D); mask (L, M)."""

        def project(x, part):
            return x @ self.arrays[f"{name}_W{part}"] + self.arrays[f"{name}_b{part}"]

        width = WIDTH // HEADS
        q, k, v = project(query, "q"), project(keys, "k"), project(keys, "v")
        heads = []
        for h in range(HEADS):
            part = slice(h * width, (h + 1) * width)
            z = q[:, part] @ k[:, part].T / np.sqrt(width) + (1 - mask) * -99999999.0
            z = np.exp(z - z.max(-1, keepdims=True))
            heads.append(z / z.sum(-1, keepdims=True) @ v[:, part])
        return project(np.concatenate(heads, axis=-1), "o")

    def network(self, name, x):
        x = x @ self.arrays[f"{name}_W1"] + self.arrays[f"{name}_b1"]
        relu = self.options["transformer-ffn-activation"] == "relu"
        x = np.maximum(x, 0) if relu else x / (1 + np.exp(-x))
        return x @ self.arrays[f"{name}_W2"] + self.arrays[f"{name}_b2"]

    def begin(self, side, x):
        x = np.sqrt(WIDTH) * x + positions(len(x))
        if "n" in self.options["transformer-postprocess-emb"]:
            x = self.norm(x, f"{side}_emb_ln_*_pre")
        return x

    def block(self, name, x, mask, memory=None):
        """A layer; that of a decoder attends to a memory, too."""

        def attend(y):
            return self.attention(f"{name}_self", y, y, mask)

        def read(y):
            whole = np.ones((len(y), len(memory)))
            return self.attention(f"{name}_context", y, memory, whole)

        x = self.layer(f"{name}_self_Wo", x, attend)
        if memory is not None:
            x = self.layer(f"{name}_context_Wo", x, read)
        network = functools.partial(self.network, f"{name}_ffn")
        return self.layer(f"{name}_ffn_ffn", x, network)

    def end(self, side, x):
        if self.options["transformer-postprocess-top"] == "n":
            x = self.norm(x, f"{side}_top_ln_*")
        return x

    def table(self, side):
        return self.arrays.get("Wemb", self.arrays.get(f"{side}_Wemb"))

    def logits(self, source, target):
        """Logits (T + 1, V) after the start and after each token of the target."""
        x = self.begin("encoder", self.table("encoder")[source])
        for i in range(1, ENCODER + 1):
            x = self.block(f"encoder_l{i}", x, np.ones((len(x), len(x))))
        memory = self.end("encoder", x)
        # The decoder starts with a vector of zeros.
        y = np.concatenate([np.zeros((1, WIDTH)), self.table("decoder")[target]])
        y = self.begin("decoder", y)
        for i in range(1, DECODER + 1):
            y = self.block(f"decoder_l{i}", y, np.tri(len(y)), memory)
        y = self.end("decoder", y)
        kernel = self.arrays.get("decoder_ff_logit_out_W", self.table("decoder").T)
        return y @ kernel + self.arrays["decoder_ff_logit_out_b"]
