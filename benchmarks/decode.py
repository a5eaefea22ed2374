"""Translation: 32 sources of 20 tokens, 30 new tokens each, on the CPU.

The model is the base Transformer: 6 + 6 blocks of width 512, 8 heads, inner width 2048,
one vocabulary of 32,000 tokens for source, target and output, and random weights. No
sequence may end before its 30th token, so all peers do the same number of steps. Ours
also splits and joins texts; the other peers take and give tokens.

keras-nlp has no such model. Its peer is BART of the same size, which has learned
positions, biases and a norm after the embeddings. Hugging Face's is Marian's.
CTranslate2 is measured with each number of workers that the threads allow; its results
are those of "ctranslate2" and "ctranslate2_workers".

The peer `matmul` is a lower bound of the time: the time of the matrix products of the
model at the rate of 2048 x 2048 products, measured in the same run.
"""

import pathlib
import tempfile

from benchmarks.circumstances import counted
from benchmarks.peers import facts_of, make_products
from benchmarks.same_work import new_tokens

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH, NEW = 32, 20, 30
BLOCKS, WIDTH, INNER, HEADS, VOCABULARY = 6, 512, 2048, 8, 32000
PAD, END, START = 0, 1, 2


def operations(beams):
    """The number of floating-point operations in the matrix products, int."""
    dense, inner = WIDTH * WIDTH, 2 * WIDTH * INNER
    source = ROWS * LENGTH * BLOCKS * (4 * dense + inner + 2 * dense)
    target = ROWS * beams * NEW * (BLOCKS * (6 * dense + inner) + WIDTH * VOCABULARY)
    lengths = ROWS * LENGTH * LENGTH + ROWS * beams * NEW * (LENGTH + NEW / 2)
    return int(2 * (source + target + BLOCKS * lengths * 2 * WIDTH))


def make_sources():
    """Token ids, numpy int32 (32, 20), without special tokens but the end."""
    import numpy as np

    ids = np.random.default_rng(7).integers(3, VOCABULARY, (ROWS, LENGTH), "int32")
    ids[:, -1] = END
    return ids


def decode_facts(parameters, library, note=""):
    """The facts of a peer that returns the new tokens of the best sequences.

    The peers' models differ in biases and positions, less than 1 % of the parameters.
    """
    note = f"{parameters / 1e6:.1f}M parameters{note}"
    return facts_of([LENGTH] * ROWS, None, (ROWS, NEW), library, note=note)


def make_zoo(dtype, beams):
    """Ours, from texts of numbers to such texts."""
    import zoo

    config = zoo.models.transformer.TransformerConfig(
        vocabulary_size=VOCABULARY, max_sequence_length=64, attention_bias=True
    )
    backbone = zoo.models.transformer.Transformer(config, dtype=dtype)
    tokens = ["<blank>", "</s>", "<s>", *map(str, range(3, VOCABULARY))]
    tokenizer = zoo.text.TokenListTokenizer(tokens, unknown="3", source_end=True)
    model = zoo.Translator(backbone, tokenizer)
    texts = [" ".join(map(str, row[:-1])) for row in make_sources()]
    limits = {"min_new_tokens": NEW, "max_new_tokens": NEW, "num_beams": beams}
    limits["suppressed"] = [PAD, START]  # they would not be in the text

    def call():
        translations = model.translate(texts, **limits)
        return new_tokens([len(text.split()) for text in translations], NEW)

    return call, decode_facts(backbone.count_params(), "zoo")


def marian(**options):
    """Hugging Face's Marian of the same size, on PyTorch."""
    import transformers

    sizes = {}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": BLOCKS, f"{side}_attention_heads": HEADS}
        sizes[f"{side}_ffn_dim"] = INNER
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=64,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
        **sizes,
        **options,
    )
    return transformers.MarianMTModel(config)


def make_transformers(dtype, beams):
    """Hugging Face's Marian on PyTorch, `generate`."""
    import torch

    model = marian().eval().to(getattr(torch, dtype))
    ids = torch.from_numpy(make_sources()).long()
    limits = {"min_new_tokens": NEW, "max_new_tokens": NEW, "num_beams": beams}

    def call():
        with torch.no_grad():
            found = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, **limits
            )
        return found[:, 1:]

    return call, decode_facts(model.num_parameters(), "transformers")


def make_keras_nlp(dtype, beams):
    """keras-nlp's `BartSeq2SeqLM` without a preprocessor."""
    import keras_nlp
    import numpy as np

    backbone = keras_nlp.models.BartBackbone(
        vocabulary_size=VOCABULARY,
        num_layers=BLOCKS,
        num_heads=HEADS,
        hidden_dim=WIDTH,
        intermediate_dim=INNER,
        max_sequence_length=64,
        dtype=dtype,
    )
    model = keras_nlp.models.BartSeq2SeqLM(backbone=backbone, preprocessor=None)
    sampler = "greedy"
    if beams > 1:
        sampler = keras_nlp.samplers.BeamSampler(num_beams=beams)
    model.compile(sampler=sampler)
    written = np.full((ROWS, NEW + 1), PAD, "int32")
    written[:, 0] = START
    inputs = {
        "encoder_token_ids": make_sources(),
        "encoder_padding_mask": np.ones((ROWS, LENGTH), "int32"),
        "decoder_token_ids": written,
        "decoder_padding_mask": (written != PAD).astype("int32"),
    }

    def call():
        found = model.generate(inputs, stop_token_ids=None)
        return np.asarray(found["decoder_token_ids"])[:, 1:]

    return call, decode_facts(backbone.count_params(), "keras_nlp")


def ctranslate2_model(directory):
    """Writes a model of CTranslate2 with random weights; returns its parameters."""
    import ctranslate2
    import numpy as np

    draw, counted = np.random.default_rng(7), []

    def random(*shape):
        counted.append(int(np.prod(shape)))
        return draw.normal(0, 0.02, shape).astype("float32")

    def dense(spec, rows, columns):
        spec.weight = random(rows, columns)
        spec.bias = random(rows)

    def norm(spec):
        spec.gamma, spec.beta = np.ones(WIDTH, "float32"), random(WIDTH)

    def attention(spec, *rows):
        for linear, count in zip(spec.linear, rows, strict=True):
            dense(linear, count * WIDTH, WIDTH)
        norm(spec.layer_norm)

    spec = ctranslate2.specs.TransformerSpec.from_config(
        (BLOCKS, BLOCKS),
        HEADS,
        pre_norm=False,
        activation=ctranslate2.specs.Activation.RELU,
    )
    table = random(VOCABULARY, WIDTH)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = True
    spec.decoder.projection.weight = table
    for side in (spec.encoder, spec.decoder):
        for layer in side.layer:
            attention(layer.self_attention, 3, 1)
            if side is spec.decoder:
                attention(layer.attention, 1, 2, 1)
            dense(layer.ffn.linear_0, INNER, WIDTH)
            dense(layer.ffn.linear_1, WIDTH, INNER)
            norm(layer.ffn.layer_norm)
    tokens = ["<blank>", "</s>", "<s>", *map(str, range(3, VOCABULARY))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.save(directory)
    return sum(counted)


def run_ctranslate2(dtype, beams, threads, workers):
    """CTranslate2's `translate_batch`, whose rows are divided among workers."""
    import ctranslate2

    if dtype not in ctranslate2.get_supported_compute_types("cpu"):
        return None, {"skipped": f"it has no {dtype} on this processor"}
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder) / "model"
        directory.mkdir()
        parameters = ctranslate2_model(str(directory))
        translator = ctranslate2.Translator(
            str(directory),
            compute_type=dtype,
            inter_threads=workers,
            intra_threads=max(threads // workers, 1),
        )
    rows = [[str(i) for i in row[:-1]] + ["</s>"] for row in make_sources()]
    limits = {"min_decoding_length": NEW, "max_decoding_length": NEW}

    def call():
        found = translator.translate_batch(
            rows, beam_size=beams, max_batch_size=ROWS // workers, **limits
        )
        return new_tokens([len(row.hypotheses[0]) for row in found], NEW)

    note = f", {counted(workers, 'worker')}"
    return call, decode_facts(parameters, "ctranslate2", note)


def make_ctranslate2(dtype, beams, threads):
    """CTranslate2 with one worker for all threads."""
    return run_ctranslate2(dtype, beams, threads, 1)


def make_ctranslate2_workers(dtype, beams, threads):
    """CTranslate2 with a worker for each thread."""
    return run_ctranslate2(dtype, beams, threads, threads)


def make_matmul(dtype, beams):
    """The bound: the time of the products of the model at the rate of large ones."""
    return make_products(dtype, operations(beams), ROWS)


PEERS = {
    "zoo": make_zoo,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
    "ctranslate2": make_ctranslate2,
    "ctranslate2_workers": make_ctranslate2_workers,
    "matmul": make_matmul,
}
