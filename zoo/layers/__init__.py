"""Layers shared by the families, usable in any Keras model."""

from zoo.layers.attention import MultiHeadAttention
from zoo.layers.carrying import CarriedState, KeepState, StatefulModel
from zoo.layers.characters import CharacterCNN, Highway
from zoo.layers.crf import CRF
from zoo.layers.embeddings import PositionEmbedding
from zoo.layers.frozen_models import AsInUse, AtWords
from zoo.layers.heads import MaskedLMHead, Pooling
from zoo.layers.mixing import ScalarMix
from zoo.layers.normalization import LayerNorm
from zoo.layers.recurrent import LSTM
from zoo.layers.softmax import SampledSoftmax
from zoo.layers.transformer import TransformerEncoderBlock, WithScores, get_activation
from zoo.layers.words import WordEmbedding

__all__ = [
    "AsInUse",
    "AtWords",
    "CRF",
    "CarriedState",
    "CharacterCNN",
    "Highway",
    "KeepState",
    "LSTM",
    "LayerNorm",
    "MaskedLMHead",
    "MultiHeadAttention",
    "Pooling",
    "PositionEmbedding",
    "SampledSoftmax",
    "ScalarMix",
    "StatefulModel",
    "TransformerEncoderBlock",
    "WithScores",
    "WordEmbedding",
    "get_activation",
]
