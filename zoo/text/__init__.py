"""Text to ids, inside the TensorFlow graph."""

from zoo.text.spelling import CharacterTokenizer
from zoo.text.splitting import split_punctuation, split_words
from zoo.text.tagger_words import TaggerTokenizer
from zoo.text.unicode_spelling import UnicodeSpeller
from zoo.text.vocabulary import Vocabulary, save_vocabulary
from zoo.text.word_ids import (
    WordTokenizer,
    count_words,
    extend_tokenizer,
    match_vectors,
)
from zoo.text.wordpiece import WordPieceTokenizer
from zoo.text.wordpiece_training import train_wordpiece

__all__ = [
    "CharacterTokenizer",
    "TaggerTokenizer",
    "UnicodeSpeller",
    "Vocabulary",
    "WordPieceTokenizer",
    "WordTokenizer",
    "count_words",
    "extend_tokenizer",
    "match_vectors",
    "save_vocabulary",
    "split_punctuation",
    "split_words",
    "train_wordpiece",
]
