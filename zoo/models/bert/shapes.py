"""The shapes of the weights of a BERT with its heads."""

from zoo.models.bert.model import BERT


def shapes(config, heads=(), num_classes=0):
    """The shapes of the weights of a BERT that is not built, by their paths."""
    hidden, found = config.hidden_dim, BERT.weight_shapes(config)
    if "masked_lm_head" in heads:
        name = "masked_lm_head"
        found[f"{name}/transform/kernel"] = (hidden, hidden)
        for leaf in ("transform/bias", "layer_norm/gamma", "layer_norm/beta"):
            found[f"{name}/{leaf}"] = (hidden,)
        found[f"{name}/output_bias"] = (config.vocabulary_size,)
    logits = {"next_sentence": 2, "classifier": num_classes, "spans": 2}
    for name in filter(heads.__contains__, logits):
        found[f"{name}/kernel"] = (hidden, logits[name])
        found[f"{name}/bias"] = (logits[name],)
    return found
