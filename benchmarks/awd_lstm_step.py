"""One step of training an AWD-LSTM language model, on the CPU.

The model has 3 layers of widths 1152, 1152 and 400, and a vocabulary of 30,000 whose
vectors of width 400 are also the matrix of the logits. A step reads 32 streams of 70
tokens. All dropouts of fastai's language model are on, those of the weights included,
and both regularizers of the activations. The optimizer is Adam with decoupled weight
decay, and gradients are clipped to a norm. A call is the forward pass, the backward
pass and the update, and returns the loss. States are carried over from call to call.

The peers begin with the same weights. Their losses of the first batch without dropout
are compared.
"""

from benchmarks.peers import POLICIES, facts_of, require

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH, VOCABULARY = 32, 70, 30000
EMBEDDING, WIDTH, LAYERS = 400, 1152, 3
PAD = 1
LEARNING_RATE, WEIGHT_DECAY, CLIP = 4e-3, 0.01, 0.25
BETAS, EPSILON = (0.8, 0.99), 1e-5  # those of fastai's learners of text
ALPHA, BETA = 2.0, 1.0  # of the activations and of their differences
NEAR = {"float32": 1e-4, "bfloat16": 0.02}  # of the loss, which is about 10


def make_batch():
    """Tokens to read and tokens to predict, int32 (32, 70), without special ones."""
    import numpy as np

    ids = np.random.default_rng(7).integers(9, VOCABULARY, (ROWS, LENGTH + 1), "int32")
    return ids[:, :-1], ids[:, 1:]


def make_arrays():
    """Vectors (V, D), their output bias, and the arrays of each layer.

    These are kernel (I, 4 H), recurrent kernel and bias, with gates i, f, g, o.
    """
    import numpy as np

    random = np.random.default_rng(8)

    def draw(bound, *shape):
        return random.uniform(-bound, bound, shape).astype("float32")

    widths = [EMBEDDING, *[WIDTH] * (LAYERS - 1), EMBEDDING]
    layers = [
        [draw(h**-0.5, size, 4 * h) for size in (i, h)] + [draw(h**-0.5, 4 * h)]
        for i, h in zip(widths, widths[1:], strict=False)
    ]
    return draw(0.1, VOCABULARY, EMBEDDING), draw(0.1, VOCABULARY), layers


def step_facts(parameters, library, loss, dtype):
    """The facts of a peer that returns the loss."""
    result = {"result": [loss], "near": NEAR[dtype]}
    return facts_of([LENGTH] * ROWS, parameters, (), library, **result)


def build_zoo(dtype):
    """Our language model for streams, with the weights of `make_arrays`."""
    import zoo

    config = zoo.models.ulmfit.ULMFiTConfig(
        vocabulary_size=VOCABULARY,
        embedding_dim=EMBEDDING,
        lstm_dim=WIDTH,
        num_layers=LAYERS,
        activation_regularization=ALPHA,
        temporal_regularization=BETA,
        pad_id=PAD,
    )
    backbone = zoo.models.ulmfit.ULMFiT(config, dtype=POLICIES[dtype])
    model = zoo.CausalLM(backbone, rows=ROWS, window=LENGTH)
    vectors, output_bias, layers = make_arrays()
    backbone.named_layers["token_embedding"].set_weights([vectors])
    for i, arrays in enumerate(layers):
        backbone.named_layers[f"rnn_{i}"].set_weights(arrays)
    (bias,) = (v for v in model.head.variables if v.path.endswith("output_bias"))
    bias.assign(output_bias)
    return model


def make_zoo(dtype):
    """Ours: `CausalLM(rows=32)`, `train_on_batch`, which is the step of `fit`."""
    import numpy as np

    import zoo

    model = build_zoo(dtype)
    optimizer = zoo.training.AdamW(
        LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        beta_1=BETAS[0],
        beta_2=BETAS[1],
        epsilon=EPSILON,
        global_clipnorm=CLIP,
    )
    # As in pretraining; fastai computes no metric in training either.
    model.compile(optimizer, weighted_metrics=[])
    ids, following = make_batch()
    weights = np.ones(ids.shape, "float32")

    def batch(fresh):
        starts = np.full(ROWS, fresh, "int32")
        return {"token_ids": ids, "fresh": starts}, following, weights

    (loss,) = np.ravel(model.test_on_batch(*batch(1)))
    model.train_on_batch(*batch(1))
    carried = batch(0)
    parameters = sum(np.prod(v.shape) for v in model.trainable_variables)
    facts = step_facts(parameters, "zoo", loss, dtype)
    return lambda: np.asarray(model.train_on_batch(*carried)), facts


def build_fastai():
    """The language model of fastai 2 with the weights of `make_arrays`, on PyTorch."""
    import torch
    from fastai.text.all import AWD_LSTM, awd_lstm_lm_config, get_language_model

    sizes = {"emb_sz": EMBEDDING, "n_hid": WIDTH, "n_layers": LAYERS, "pad_token": PAD}
    model = get_language_model(AWD_LSTM, VOCABULARY, {**awd_lstm_lm_config, **sizes})
    vectors, output_bias, layers = make_arrays()
    pairs = [(model[0].encoder.weight, vectors), (model[1].decoder.bias, output_bias)]
    for rnn, (kernel, recurrent, bias) in zip(model[0].rnns, layers, strict=True):
        pairs += [
            (rnn.module.weight_ih_l0, kernel.T),
            (rnn.weight_hh_l0_raw, recurrent.T),
            (rnn.module.bias_ih_l0, bias),
            (rnn.module.bias_hh_l0, 0 * bias),
        ]
    with torch.no_grad():
        for tensor, array in pairs:
            tensor.copy_(torch.from_numpy(array))
    return model


def make_learner(dtype):
    """The `Learner` of fastai 2 in the middle of `fit`, before a batch.

    16 bits are those of its `MixedPrecision`, on the CPU; this callback supports CUDA
    only, and so it is written here again.
    """
    import torch
    from fastai.text.all import (
        Adam,
        Callback,
        CrossEntropyLossFlat,
        DataLoaders,
        GradientClip,
        LMLearner,
        to_float,
    )

    class Half(Callback):
        order = 10

        def before_batch(self):
            self.context = torch.autocast("cpu", torch.bfloat16)
            self.context.__enter__()

        def after_pred(self):
            self.learn.pred = to_float(self.pred)

        def after_loss(self):
            self.context.__exit__(None, None, None)

    examples = list(zip(*map(torch.from_numpy, make_batch()), strict=True))
    loaders = DataLoaders.from_dsets(examples, examples, bs=ROWS, device="cpu")
    learner = LMLearner(
        loaders,
        build_fastai(),
        alpha=ALPHA,
        beta=BETA,
        loss_func=CrossEntropyLossFlat(),
        opt_func=Adam,
        lr=LEARNING_RATE,
        wd=WEIGHT_DECAY,
        cbs=[GradientClip(CLIP), *([Half()] if dtype == "bfloat16" else [])],
    )
    shown = [cb for cb in learner.cbs if cb.name in ("progress", "recorder")]
    learner.remove_cbs(shown)
    learner.create_opt()
    learner.opt.set_hypers(
        lr=LEARNING_RATE, wd=WEIGHT_DECAY, mom=BETAS[0], sqr_mom=BETAS[1], eps=EPSILON
    )
    learner.n_epoch, learner.epoch, learner.n_iter = 1, 0, 1
    learner("before_fit")
    return learner


def make_fastai(dtype):
    """The peer fastai 2: `Learner.one_batch` with the callbacks of a language model."""
    require("fastai", "torch")
    import torch

    if dtype == "bfloat16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return None, {"skipped": "PyTorch has no LSTM in bfloat16 on this processor"}
    learner = make_learner(dtype)
    batch = tuple(torch.from_numpy(part).long() for part in make_batch())
    learner("before_validate")
    with torch.no_grad():
        learner.one_batch(0, batch)
    loss = learner.loss.item()
    learner("before_train")

    def call():
        learner.one_batch(0, batch)
        return learner.loss.detach().numpy()

    # The second bias of an LSTM is 0.
    model = learner.model
    biases = sum(rnn.module.bias_hh_l0.numel() for rnn in model[0].rnns)
    parameters = sum(weight.numel() for weight in model.parameters()) - biases
    return call, step_facts(parameters, "fastai", loss, dtype)


PEERS = {"zoo": make_zoo, "fastai": make_fastai}
