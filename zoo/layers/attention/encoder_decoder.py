"""An encoder and a decoder layer that read a source and write a target."""

from keras import Input, ops

SOURCE_PREFIX = "encoder_"  # how the names of the encoder's inputs begin
TARGET_INPUT = "decoder_token_ids"
READ_OUTPUTS = ("memory", "last_hidden", "last_cell")  # what the decoder reads


class EncoderDecoder:
    """An encoder with a decoder, which reads its last layer and its last states.

    It takes the place of a backbone with a decoder, and holds no weights itself.

    Args:
        encoder: `zoo.backbone.Backbone` with the outputs memory, last_hidden and
            last_cell, see `zoo.models.cove.CoVe`.
        layer: `zoo.layers.AttentionalDecoder`.

    Inputs:
        dict of the inputs of the encoder, with the prefix "encoder_", such as
        encoder_word_ids int (B, L), and decoder_token_ids int (B, T).

    Returns:
        dict of decoder_sequence_output (B, T, W).
    """

    def __init__(self, encoder, layer):
        self.encoder = encoder
        self.layer = layer
        self.encode = encoder.with_outputs(*READ_OUTPUTS)

    def make_inputs(self, config):
        """Makes the symbolic inputs, int32."""
        names = [f"{SOURCE_PREFIX}{name}" for name in self.encoder.make_inputs(config)]
        return {
            name: Input((None,), dtype="int32", name=name)
            for name in (*names, TARGET_INPUT)
        }

    def complete(self, inputs):
        """Adds the mask of the source, see `zoo.backbone.token_inputs.TokenInputs`."""
        if TARGET_INPUT not in inputs:
            raise ValueError(
                f"The decoder needs `{TARGET_INPUT}`. Received: {sorted(inputs)}."
            )
        source = self.encoder.complete(_source(inputs))
        source = {f"{SOURCE_PREFIX}{name}": value for name, value in source.items()}
        return {
            **source,
            TARGET_INPUT: ops.convert_to_tensor(inputs[TARGET_INPUT], "int32"),
        }

    def __call__(self, inputs):
        """Connects encoder and decoder; see the class."""
        source = _source(inputs)
        found = self.encode(source)
        memory, *states = (found[name] for name in READ_OUTPUTS)
        mask = source["padding_mask"]
        vectors = self.layer(inputs[TARGET_INPUT], memory, mask, *states)
        return {"decoder_sequence_output": vectors}

    def make_states(self, rows, length=None, source=None, beams=1):
        """See `Steps.make_states`. The encoder runs once; the states do not grow."""
        source = self.encoder.complete(_source(source))
        found = self.encode(source, training=False)
        memory, *states = (found[name] for name in READ_OUTPUTS)
        states = self.layer.first_states(*states)
        states = {key: ops.repeat(v, beams, axis=0) for key, v in states.items()}
        memory = self.layer.read_source(memory, source["padding_mask"])
        return {**states, "source": memory}

    def fuse(self):
        """No weights; see `zoo.backbone.Backbone.fuse`."""
        return None

    def step(
        self, inputs, states, outputs=("decoder_sequence_output",), beams=1, fused=None
    ):
        """See `Steps.step`. The inputs are int32 (R, T), or a dict with them."""
        tokens = inputs[TARGET_INPUT] if isinstance(inputs, dict) else inputs
        source = states["source"]
        vectors, after = self.layer.step(tokens, states, source, beams)
        return {"decoder_sequence_output": vectors}, {**after, "source": source}


def _source(inputs):
    """The inputs of the encoder, without their prefix."""
    return {
        name.removeprefix(SOURCE_PREFIX): value
        for name, value in inputs.items()
        if name.startswith(SOURCE_PREFIX)
    }
