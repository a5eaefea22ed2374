"""Makes earlier_files/: models as version 0.2.0 saved them, and what they computed.

Made with keras-context-zoo 0.2.0 (commit 08f36b2), TensorFlow 2.20.0, Keras 3.15.1 and
NumPy 2.4.6:

    PYTHONPATH=.:tests:tests/contract python tests/goldens/make_earlier_files.py

Later versions must read these files and compute the same, which
`tests/test_earlier_files.py` checks: do not make them anew with later code. Every
weight is drawn from N(0, 0.3), gains from N(1, 0.3).
"""

import itertools
import json
import lzma
import pathlib
import shutil
import tempfile

import cases as contract
import earlier_files
import keras
import numpy as np
import tiny
from earlier_models import (
    CASED,
    ENDS,
    INPUTS,
    LABELS,
    adagrad,
    adamw,
    bert,
    classifier,
    draw,
    elmo,
    frozen,
    language_model,
    make,
    parts,
    spelling_elmo,
    streams,
    tagger,
    taglm,
    trained,
    with_heads,
)

import zoo
from zoo.registry import build_backbone
from zoo.text import ParsingTokenizer, list_tokens, read_tree, train_sentencepiece

TEXTS, PAIRS = ["answer", "texts"], ["answer_pairs", "pairs"]
TRAIN, MASKED = ["train", "texts", "labels"], ["answer", "masked"]
SENTENCES, TRAIN_TAGS = ["answer", "sentences"], ["train", "tagged", "tags"]
OUTPUT, SHORT = ["sequence_output", "texts"], ["sequence_output", "short"]
PREDICT = ["predict", "batch"]


def bert_files():
    """Name, model and asks of every `.keras` file of a BERT."""
    base = bert()
    task = trained(classifier(base, adamw(base), sequence_length=18, pair=True))
    yield "bert_text_classifier", task, [TEXTS, PAIRS, TRAIN]
    base = bert(pooler=False, attention_dropout=0.1)
    base.trainable = False
    task = make("text_regressor", base, "adam", pooling="mean", head_dropout=0.4)
    yield "bert_text_regressor", task, [TEXTS]
    options = {"mask_rate": 0.3, "max_predictions": 2, "whole_words": True}
    task = make("masked_lm", bert(num_segments=1), adamw(warmup_steps=0), **options)
    yield "bert_masked_lm", task, [MASKED, ["train_texts", "texts"]]
    options = {"next_sentence": True, "head_layer_norm_epsilon": 0.2}
    options["head_activation"] = "relu"
    task = make("masked_lm", bert(), keras.optimizers.SGD(0.1), **options)
    asks = [MASKED, PREDICT, ["train_examples", "examples"]]
    yield "bert_masked_lm_next_sentence", task, asks
    task = make("masked_lm", bert(causal=True, cased=True))
    yield "bert_masked_lm_causal", task, [MASKED, PREDICT]
    options = {"layers": [-2, -1], "pooling": "cls", "normalize": True}
    task = make("text_embedder", bert(activation="gelu_tanh"), **options)
    yield "bert_text_embedder", task, [TEXTS, PAIRS]
    yield "bert_token_classifier", tagger(bert(cased=True), scheme=None), [SENTENCES]
    task = trained(tagger(bert(), adamw(), decoder="crf"), "tags")
    yield "bert_token_classifier_crf", task, [SENTENCES, TRAIN_TAGS]
    base = frozen(bert(), "block_0", "token_embedding")
    task = trained(classifier(base, adamw()))
    yield "bert_frozen_layers", task, [TEXTS, TRAIN]
    task = trained(classifier(bert("mixed_bfloat16"), adamw()))
    yield "bert_mixed_bfloat16", task, [TEXTS, TRAIN]
    yield "bert_backbone", bert(pooler=False, num_heads=2), [OUTPUT]


def elmo_files():
    """Name, model and asks of every `.keras` file of an ELMo."""
    task = trained(classifier(elmo(mix_l2=0.1), adagrad(), pooling="mean"))
    yield "elmo_text_classifier", task, [TEXTS, TRAIN]
    yield "elmo_language_model", language_model(), [TEXTS]
    asks = [["states"], ["evaluate_streams", "streams"], ["train_streams", "streams"]]
    yield "elmo_language_model_rows", language_model(rows=2), asks
    ends = {"labels": ENDS, "decoder": "crf", "scheme": "BIOES"}
    task = tagger(elmo(mix_layer_norm="bilm"), **ends)
    yield "elmo_token_classifier", task, [SENTENCES]
    task = tagger(frozen(elmo(), "forward_0"), adamw(), **ends)
    asks = [SENTENCES, ["train", "tagged", "ends"]]
    yield "elmo_frozen_layer", trained(task, "ends"), asks
    task = make("text_embedder", spelling_elmo(), layers=[0, 2])
    yield "elmo_words_text_embedder", task, [TEXTS, ["answer", "short"]]
    yield "elmo_backbone", elmo(mix_top_only=True, lstm_dim=4), [OUTPUT, SHORT]


def taglm_files():
    """Name, model and asks of every `.keras` file of a TagLM."""
    task = trained(tagger(taglm(parts(), num_layers=1), adamw(), decoder="crf"), "tags")
    yield "taglm_token_classifier", task, [SENTENCES, TRAIN_TAGS]
    options = {"lm_trainable": True, "lm_mix_l2": 0.1, "lm_positions": [1]}
    base = taglm(parts(dropout=0.0), unknown="unk", num_layers=1, **options)
    task = trained(tagger(base, adamw(), decoder="crf"), "tags")
    yield "taglm_trainable_models", task, [SENTENCES, TRAIN_TAGS]
    task = classifier(taglm(num_frozen=0, lm_positions=[]))
    yield "taglm_text_classifier", task, [TEXTS]
    base = taglm(parts(), unknown="random", random_stddev=0.2, lm_layers="top")
    yield "taglm_backbone", base, [OUTPUT]


HEADS = [
    ("text_classifier", "ulmfit", {"labels": LABELS, "head": "concat_pooling"}),
    ("text_regressor", "elmo", {"head": "biattentive", "head_dim": 4, "pair": True}),
    ("text_classifier", "gpt", {"labels": LABELS, "head": "delimiter"}),
    ("multiple_choice", "gpt", {"num_choices": 2}),
    ("summarizer", "transformer", {"generation": {"num_beams": 2}}),
]
# Of `own_family.py`, whose classes are in the tests; and one that is saved above.
LEFT_OUT = ("bag", "pair_ranker", "elmo_words")


def contract_files():
    """Name, model and asks of each family, task and head that others lack."""
    families = {row.name: row for row in contract.FAMILIES if row.name not in LEFT_OUT}
    rows = {}
    for case in contract.TASKS:
        if case.task not in LEFT_OUT:
            rows[case.task, case.family.name] = case.options
    for family in families.values():
        if family.sides == ("",):
            rows.setdefault(("text_classifier", family.name), {"labels": LABELS})
        if family.sides == ("",) and family.tokenizer:
            rows.setdefault(("text_embedder", family.name), {})
    for task, family, options in HEADS:
        rows[task, family] = options
    for (task, family), options in rows.items():
        yield contract_file(task, families[family], options)
    yield "contract_parser", parser(), [["answer", "reviews"]]


def contract_file(task, family, options):
    """Name, model and asks of a task on a family."""
    tokenizers = {row.family: row.tokenizer for row in contract.FAMILIES[::-1]}
    backbone = build_backbone(family.family, family.config)
    backbone.tokenizer = (family.tokenizer or tokenizers[family.family])()
    words = [task, family.name, options.get("head"), options.get("decoder")]
    name = "_".join(["contract", *filter(None, words)])
    asks = [PAIRS if options.get("pair") else ["columns", "reviews"]]
    return name, make(task, draw(backbone), **options), asks


def parser():
    trees = [read_tree("(S (NP (DT the) (NN film)) (VP (VBZ is) (JJ good)) (. .))")]
    model = train_sentencepiece([*INPUTS["texts"], *INPUTS["reviews"]] * 3, 300)
    tokenizer = ParsingTokenizer(model, list_tokens(trees))
    sizes = {
        "vocabulary_size": tokenizer.vocabulary_size,
        "target_vocabulary_size": tokenizer.target_vocabulary_size,
    }
    config = {**tiny.TRANSFORMER_CONFIG, "tied_output": False, **sizes}
    backbone = draw(build_backbone("transformer", config))
    backbone.tokenizer = tokenizer
    return make("parser", backbone, generation={"max_new_tokens": 20})


def presets():
    """Name, model and asks of every preset directory."""
    with tempfile.TemporaryDirectory() as directory:
        with_heads().save_to_preset(directory)
        base = zoo.from_preset(directory, task=None)
    yield "bert_backbone_with_heads", base, [OUTPUT]
    yield "bert_text_classifier", classifier(bert(), pair=True), [TEXTS, PAIRS]
    task = make("masked_lm", bert(cased=True), head_activation="gelu_tanh")
    yield "bert_masked_lm", task, [MASKED, PREDICT]
    task = make("text_embedder", bert(), pooling="cls", normalize=True, layers=[1])
    yield "bert_text_embedder_float16", task, [TEXTS]
    yield "elmo_language_model", language_model(), [TEXTS]
    yield "elmo_words_backbone", spelling_elmo(), [OUTPUT, SHORT]
    task = tagger(taglm(parts(), num_layers=1), decoder="crf")
    yield "taglm_token_classifier", task, [SENTENCES]


def save(directory):
    """Saves every model; returns dict of name to case, and of name to model."""
    cases, models = {}, {}
    for name, model, asks in itertools.chain(
        bert_files(), elmo_files(), taglm_files(), contract_files()
    ):
        path = directory / f"{name}.keras"
        model.save(path)
        packed = path.with_suffix(".keras.xz")
        packed.write_bytes(lzma.compress(path.read_bytes(), preset=9))
        path.unlink()
        cases[name], models[name] = {"path": packed.name, "asks": asks}, model
        if name.endswith("bfloat16"):
            cases[name]["atol"] = 0.03
    for path, model, asks in presets():
        dtype = "float16" if path.endswith("float16") else "float32"
        model.save_to_preset(directory / path, dtype=dtype)
        name = f"preset_{path}"
        cases[name], models[name] = {"path": path, "asks": asks}, model
    options = {"task": "masked_lm", "next_sentence": True}
    case = {"path": "bert_backbone_with_heads", "options": options}
    cases["preset_bert_spare_heads"] = {**case, "asks": [MASKED, PREDICT]}
    models["preset_bert_spare_heads"] = with_heads()
    cases["preset_bert_saved_again"] = {**case, "saved_again": True, "asks": [PREDICT]}
    models["preset_bert_saved_again"] = with_heads()
    return cases, models


def batches():
    """Arrays that are inputs: ids, ids with what masks hide, and streams."""
    ids = np.random.default_rng(4).integers(5, len(CASED), (3, 7))
    ids[:, 0], ids[1, 4:] = 2, 0
    batch = {
        "token_ids": ids,
        "segment_ids": np.array(
            [[0] * 7, [0, 0, 1, 1, 0, 0, 0], [0, 0, 2, 2, 1, 1, 1]]
        ),
        "mask_positions": np.array([[1, 3], [2, 0], [6, 5]]),
    }
    examples = {
        **batch,
        "padding_mask": np.array([[1] * 7, [1] * 4 + [0] * 3, [1] * 7]),
        "mask_ids": np.array([[7, 9], [11, 0], [5, 20]]),
        "mask_weights": np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]], "float32"),
        "next_sentence": np.array([0, 1, 1]),
    }
    x, y, weight = streams(language_model(), 2)[1]
    following = {**x, "y": y, "weight": weight}
    return {"batch": batch, "examples": examples, "streams": following}


def main(directory):
    """Writes the files and what is expected of them; replaces the directory."""
    keras.utils.set_random_seed(5)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    cases, models = save(directory)
    arrays = {
        f"inputs/{name}/{key}": value
        for name, batch in batches().items()
        for key, value in batch.items()
    }
    document = {"inputs": INPUTS, "cases": cases}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (directory / "cases.json").write_text(text + "\n", "utf-8")
    np.savez_compressed(directory / "expected.npz", **arrays)
    inputs = earlier_files.read_inputs(directory)
    for name, case in cases.items():
        model = earlier_files.load(directory, case)
        found = earlier_files.measure(model, case["asks"], inputs)
        answers = earlier_files.measure(models[name], case["asks"], inputs)
        for key, value in answers.items():
            # A preset has other states than the model that it was saved from.
            if "/" in key or not name.startswith("preset"):
                atol = case.get("atol", earlier_files.ATOL)
                earlier_files.compare(found[key], value, key, atol)
        arrays |= {f"{name}/{key}": value for key, value in found.items()}
    np.savez_compressed(directory / "expected.npz", **arrays)


if __name__ == "__main__":
    main(pathlib.Path(__file__).parent / "earlier_files")
