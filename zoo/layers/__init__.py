"""Layers shared by the families, usable in any Keras model."""

from zoo.layers.activations import get_activation
from zoo.layers.alternatives import MergeRows, SplitRows
from zoo.layers.attention.attention import MultiHeadAttention
from zoo.layers.attention.attentional_decoder import AttentionalDecoder
from zoo.layers.attention.caching import empty_cache, entry_index, visible_entries
from zoo.layers.attention.causal_mask import CausalMask
from zoo.layers.attention.encoder_decoder import EncoderDecoder
from zoo.layers.attention.position_embedding import (
    PositionEmbedding,
    SinusoidalPositions,
    sinusoids,
)
from zoo.layers.attention.transformer import (
    TransformerBlock,
    TransformerEncoderBlock,
    WithScores,
)
from zoo.layers.biattention import AttentivePooling, Biattention
from zoo.layers.character_cnn import CharacterCNN, Highway
from zoo.layers.concat_pooling import ConcatPooling
from zoo.layers.crf import CRF
from zoo.layers.frozen_models import FirstPieces, InferenceModel
from zoo.layers.heads import (
    ComparedSegments,
    ComparedTexts,
    Pooling,
    output_layer,
)
from zoo.layers.lora import (
    enable_lora,
    is_lora,
    lora_layers,
    merged_weights,
    restart_lora,
)
from zoo.layers.maxout import Maxout
from zoo.layers.normalization import LayerNorm
from zoo.layers.quantization import (
    apply_quantization,
    quantization_configs,
    quantization_record,
    quantization_words,
    quantize_again,
    quantize_layers,
    quantize_model,
    quantized_layers,
)
from zoo.layers.recomputation import RecomputedLayer, recompute_layers
from zoo.layers.recurrent.awd import EmbeddingDropout, RegularizedLogits
from zoo.layers.recurrent.carried_state import CarriedState, KeepState, StatefulModel
from zoo.layers.recurrent.lstm import LSTM
from zoo.layers.recurrent.qrnn import QRNN
from zoo.layers.sampled_softmax import SampledSoftmax
from zoo.layers.scalar_mix import ScalarMix
from zoo.layers.token_scores import MaskedLMHead, TokenLogits
from zoo.layers.word_embedding import WordEmbedding

__all__ = [
    "AttentionalDecoder",
    "AttentivePooling",
    "Biattention",
    "CRF",
    "CarriedState",
    "CausalMask",
    "CharacterCNN",
    "ComparedSegments",
    "ComparedTexts",
    "ConcatPooling",
    "EmbeddingDropout",
    "EncoderDecoder",
    "FirstPieces",
    "Highway",
    "InferenceModel",
    "KeepState",
    "LSTM",
    "LayerNorm",
    "MaskedLMHead",
    "Maxout",
    "MergeRows",
    "MultiHeadAttention",
    "Pooling",
    "PositionEmbedding",
    "SinusoidalPositions",
    "QRNN",
    "RecomputedLayer",
    "RegularizedLogits",
    "SampledSoftmax",
    "ScalarMix",
    "SplitRows",
    "StatefulModel",
    "TokenLogits",
    "TransformerBlock",
    "TransformerEncoderBlock",
    "WithScores",
    "WordEmbedding",
    "apply_quantization",
    "empty_cache",
    "enable_lora",
    "entry_index",
    "get_activation",
    "is_lora",
    "lora_layers",
    "merged_weights",
    "output_layer",
    "quantization_configs",
    "quantization_record",
    "quantization_words",
    "quantize_again",
    "quantize_layers",
    "quantize_model",
    "quantized_layers",
    "recompute_layers",
    "restart_lora",
    "sinusoids",
    "visible_entries",
]
