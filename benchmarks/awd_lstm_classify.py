"""Raw text to label: 256 reviews of IMDb through an AWD-LSTM classifier, on the CPU.

The model has 3 layers of widths 1152, 1152 and 400, and ULMFiT's head. The weights are
random. The tokens are those of fastai, and the vocabulary has the tokens of the first
4,000 reviews for training. The reviews are the first 256 of the test part by a hash of
their text. Without `--data`, the texts are made of random English words.

Another process prepares the files that both peers read. No text is truncated. The
probabilities of the peers are compared. Those of fastai are computed text by text for
this: in a batch, it leaves out the last tokens of a text if longer ones end in an
earlier chunk. The note says how many probabilities that changes.
"""

import contextlib
import functools
import gzip
import json
import pathlib
import random
import sys

from benchmarks.peers import facts_of, prepared_files, require

UNIT = "texts"
NEEDS = ()
OPTIONAL = ("data",)
COUNT, FOR_VOCABULARY = 256, 4000  # texts
SIZES = {"embedding_dim": 400, "lstm_dim": 1152, "num_layers": 3}
LABELS = 2
NEAR = 1e-4  # of the probabilities
# Random texts have as many words as reviews: a log-normal distribution around 180.
MEDIAN, DEVIATION, LONGEST = 180, 0.6, 1500
WORDS = (
    "the of and a to in is it that this was film movie with as for but on are his not "
    "you have be he one all at by they who from like so or just about her out has if "
    "what some there good more very when she up can time no even would my really story "
    "which only see their had we were well me than much get bad people been other will "
    "do into because great first how most made way them make could too any then think "
    "character watch acting never little years don't it's I'm can't wasn't actors plot"
).split()


def read_texts(data, part, count):
    """The first texts for training, those of the test by a hash, or random ones."""
    if data is None:
        draw = random.Random(part)
        return [random_text(draw) for _ in range(count)]
    from benchmarks.tables.labelled_sets import choose

    with gzip.open(pathlib.Path(data) / f"imdb/{part}.tsv.gz", "rt", "utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1)[::-1] for line in file]
    rows = choose(rows, count) if part == "test" else rows[:count]
    return [text for text, _ in rows]


def random_text(draw):
    """A text of random words, some of them frequent, in sentences."""
    words = draw.choices(WORDS, [1 / (10 + i) for i in range(len(WORDS))], k=LONGEST)
    words = words[: max(5, round(draw.lognormvariate(0, DEVIATION) * MEDIAN))]
    for i in range(0, len(words), 17):
        words[i] = words[i].capitalize()
        words[i - 1] += draw.choice([".", ".", "!", ",", "...", ".<br /><br />"])
    return " ".join(words)


def prepare(data, directory):
    """Writes classifier/, encoder/ in fastai 2's layout, head.npz and texts.json."""
    import numpy as np

    import zoo

    directory = pathlib.Path(directory)
    texts = read_texts(data or None, "test", COUNT)
    tokens = zoo.text.train_fastai_vocabulary(
        read_texts(data or None, "train", FOR_VOCABULARY)
    )
    tokenizer = zoo.text.FastaiTokenizer(tokens)
    config = zoo.models.ulmfit.ULMFiTConfig(vocabulary_size=len(tokens), **SIZES)
    model = zoo.TextClassifier(
        zoo.models.ulmfit.ULMFiT(config),
        tokenizer,
        labels=LABELS,
        head="concat_pooling",
        head_dropout=0.4,
    )
    draw_weights(model)
    model.save_to_preset(directory / "classifier")
    model.backbone.save_to_preset(directory / "encoder", layout="fastai")
    np.savez(directory / "head.npz", **fastai_head(model))
    (directory / "texts.json").write_text(json.dumps(texts), "utf-8")


def draw_weights(model):
    """Draws all weights, so that no part of the computation is without influence."""
    import numpy as np

    random = np.random.default_rng(7)
    arrays = []
    for weight in model.weights:
        scale = 0.1 if len(weight.shape) < 2 else 2 * weight.shape[0] ** -0.5
        if "embeddings" in weight.path:
            scale = 1.0
        drawn = random.normal(0, scale, weight.shape)
        if weight.path.endswith(("gamma", "moving_variance")):
            drawn = random.uniform(0.1, 0.3, weight.shape)
        arrays.append(drawn)
    model.set_weights(arrays)
    # The last layer of fastai has no bias if batch norm is before it.
    last = model.get_layer("classifier")
    last.bias.assign(0 * last.bias)


def fastai_head(model):
    """The arrays of the head by the names of fastai's `PoolingLinearClassifier`."""
    arrays = {"layers.0.2.weight": model.get_layer("hidden").kernel.numpy().T}
    names = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean"}
    names["running_var"] = "moving_variance"
    for i, name in enumerate(("pooled_norm", "hidden_norm")):
        norm = model.get_layer(name)
        for theirs, ours in names.items():
            arrays[f"layers.{i}.0.{theirs}"] = getattr(norm, ours).numpy()
    arrays["layers.1.2.weight"] = model.get_layer("classifier").kernel.numpy().T
    return arrays


@contextlib.contextmanager
def prepared(data):
    """A context with the directory that `prepare` writes, and the texts."""
    with prepared_files("awd_lstm_classify", data or "") as directory:
        yield directory, json.loads((directory / "texts.json").read_text("utf-8"))


def classify_facts(lengths, parameters, shares, library, note=""):
    """The facts of a peer; `shares` are its probabilities (B, 2) of each text."""
    options = {"result": shares[:, 1], "near": NEAR, "note": note}
    return facts_of(lengths, parameters, shares.shape, library, **options)


def make_zoo(data):
    """Ours: `TextClassifier.answer` on a list of str."""
    import numpy as np

    import zoo

    with prepared(data) as (directory, texts):
        model = zoo.from_preset(str(directory / "classifier"), "text_classifier")

    def call():
        return np.asarray(model.answer(texts)["scores"])

    lengths = model.tokenizer(texts).row_lengths().numpy() + 1
    parameters = sum(np.prod(weight.shape) for weight in model.trainable_weights)
    return call, classify_facts(lengths, parameters, call(), "zoo")


def with_spaces(token):
    """The form of a token that fastai looks up when it predicts.

    It writes spaces in tokens of white space as `▁` when it trains, but not when it
    predicts from a str, where such a token would be unknown.
    """
    spaces = token.replace("▁", " ")
    return spaces if spaces.isspace() else token


def make_learner(directory):
    """The learner of fastai 2 with the weights of the files."""
    import numpy as np
    import pandas as pd
    import torch
    from fastai.text.all import (
        AWD_LSTM,
        TextDataLoaders,
        awd_lstm_clas_config,
        load_pickle,
        text_classifier_learner,
    )

    (tokens,) = (directory / "encoder").glob("*_itos.pkl")
    columns = {"text": ["a"] * 4, "label": [0, 1, 0, 1], "valid": [0, 0, 1, 1]}
    loaders = TextDataLoaders.from_df(
        pd.DataFrame(columns),
        text_col="text",
        label_col="label",
        valid_col="valid",
        text_vocab=[with_spaces(token) for token in load_pickle(tokens)],
        device="cpu",
    )
    names = {"embedding_dim": "emb_sz", "lstm_dim": "n_hid", "num_layers": "n_layers"}
    config = awd_lstm_clas_config | {names[k]: size for k, size in SIZES.items()}
    # By default, it pools the last 1440 tokens of a text only.
    options = {"config": config, "pretrained": False, "max_len": None}
    learner = text_classifier_learner(loaders, AWD_LSTM, **options)
    learner.path = directory
    learner.model_dir = "encoder"
    (path,) = (directory / "encoder").glob("*.pth")
    learner.load_encoder(path.stem)
    with np.load(directory / "head.npz") as arrays:
        state = {name: torch.from_numpy(arrays[name]) for name in arrays}
    missing, unexpected = learner.model[1].load_state_dict(state, strict=False)
    wrong = [n for n in missing if not n.endswith("num_batches_tracked")] + unexpected
    if wrong:
        raise ValueError(f"The head of fastai must have our arrays. Received: {wrong}.")
    return learner


def start_fastai(data):
    """A learner of fastai, the texts, and a function that makes the facts of a peer.

    The function takes the probabilities (B, 2) of each text, and a note.
    """
    require("fastai", "spacy", "torch")
    with prepared(data) as (directory, texts):
        learner = make_learner(directory)
    lengths = [len(row[0]) for row in learner.dls.test_dl(texts).dataset]
    model = learner.model
    biases = sum(rnn.module.bias_hh_l0.numel() for rnn in model[0].module.rnns)
    parameters = sum(weight.numel() for weight in model.parameters()) - biases
    # Our last layer has a bias, which is 0.
    counts = (lengths, parameters + LABELS)
    facts = functools.partial(classify_facts, *counts, library="fastai_text")
    return learner, texts, facts


def make_fastai(data):
    """The peer fastai 2: `Learner.get_preds` on a test loader of a list of str.

    It tokenises every text twice: once to sort them by length, and once to read them.
    """
    learner, texts, facts = start_fastai(data)

    def call(**options):
        with learner.no_bar():
            loader = learner.dls.test_dl(texts, **options)
            return learner.get_preds(dl=loader)[0].numpy()

    shares = call(bs=1)
    distances = abs(call() - shares).max(axis=1)
    note = f"{(distances > NEAR).sum()} texts differ in a batch, by up to "
    note += f"{distances.max():.2g}"
    return call, facts(shares, note=note)


def make_fastai_predict(data):
    """The peer fastai 2: `Learner.predict` on one text after the other."""
    learner, texts, facts = start_fastai(data)
    import numpy as np

    def call():
        with learner.no_bar(), learner.no_logging():
            return np.stack([learner.predict(text)[2].numpy() for text in texts])

    return call, facts(call())


PEERS = {
    "zoo": make_zoo,
    "fastai": make_fastai,
    "fastai_predict": make_fastai_predict,
}

if __name__ == "__main__":
    prepare(*sys.argv[1:])
