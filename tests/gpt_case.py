"""A tiny GPT-2 of bytes with drawn weights, for TensorFlow and for torch."""

import numpy as np

WIDTH, INNER, LAYERS, HEADS, POSITIONS, TOKENS = 16, 64, 2, 2, 96, 257
END = 256
PROMPTS = ("The old house", "a", "", "It was not, however, the end of it. \u00c9")
# Ours to the options of `transformers`.
SEARCHES = {
    "greedy": ({"max_new_tokens": 24}, {"max_new_tokens": 24}),
    "beams": (
        {"max_new_tokens": 16, "num_beams": 4},
        {"max_new_tokens": 16, "num_beams": 4, "early_stopping": False},
    ),
    "short_beams": (
        {"max_new_tokens": 16, "num_beams": 4, "length_penalty": -1.0},
        {"max_new_tokens": 16, "num_beams": 4, "length_penalty": -1.0},
    ),
}
SAMPLES = {
    "temperature": {"temperature": 0.7},
    "top_k": {"temperature": 1.0, "top_k": 9},
    "top_p": {"temperature": 1.0, "top_p": 0.8},
    "all": {"temperature": 1.5, "top_k": 20, "top_p": 0.9},
}


def draw_weights(seed=11):
    """Draws the weights, dict of Hugging Face's name to float32 array.

    Tokens are clearly more or less likely.
    """
    draw = np.random.default_rng(seed)

    def normal(mean, *shape):
        return draw.normal(mean, 0.3, shape).astype("float32")

    found = {"wte.weight": normal(0, TOKENS, WIDTH)}
    likely = [216, END]  # some texts end early
    found["wte.weight"][likely] = found["wte.weight"][likely[::-1]]
    found["wpe.weight"] = normal(0, POSITIONS, WIDTH)
    dense = {
        "attn.c_attn": (WIDTH, 3 * WIDTH),
        "attn.c_proj": (WIDTH, WIDTH),
        "mlp.c_fc": (WIDTH, INNER),
        "mlp.c_proj": (INNER, WIDTH),
    }
    norms = [f"h.{i}.ln_{n}" for i in range(LAYERS) for n in (1, 2)]
    for name in (*norms, "ln_f"):
        found[f"{name}.weight"] = normal(1, WIDTH)
        found[f"{name}.bias"] = normal(0, WIDTH)
    for i in range(LAYERS):
        for name, shape in dense.items():
            found[f"h.{i}.{name}.weight"] = normal(0, *shape)
            found[f"h.{i}.{name}.bias"] = normal(0, shape[-1])
    return found
