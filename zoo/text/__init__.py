"""Tokenizers: texts to token ids, inside the TensorFlow graph."""

from zoo.text.bpe_tokenizer import BytePairTokenizer
from zoo.text.bpe_training import train_bpe
from zoo.text.character_tokenizer import CharacterTokenizer
from zoo.text.sentencepiece import SentencePieceTokenizer
from zoo.text.sentencepiece_training import train_sentencepiece
from zoo.text.splitting import split_punctuation, split_words
from zoo.text.tagger_tokenizer import TaggerTokenizer
from zoo.text.tokenizer import Framing, Tokenizer, register_tokenizer
from zoo.text.unicode_tokenizer import UnicodeSpeller
from zoo.text.vocabulary import Vocabulary, save_vocabulary
from zoo.text.word_tokenizer import (
    WordTokenizer,
    count_words,
    extend_tokenizer,
    match_vectors,
)
from zoo.text.wordpiece import WordPieceTokenizer
from zoo.text.wordpiece_training import train_wordpiece

for kind in (
    BytePairTokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
    TaggerTokenizer,
    UnicodeSpeller,
    WordPieceTokenizer,
    WordTokenizer,
):
    register_tokenizer(kind)

__all__ = [
    "BytePairTokenizer",
    "Framing",
    "CharacterTokenizer",
    "SentencePieceTokenizer",
    "TaggerTokenizer",
    "Tokenizer",
    "UnicodeSpeller",
    "Vocabulary",
    "WordPieceTokenizer",
    "WordTokenizer",
    "count_words",
    "extend_tokenizer",
    "match_vectors",
    "register_tokenizer",
    "save_vocabulary",
    "split_punctuation",
    "split_words",
    "train_bpe",
    "train_sentencepiece",
    "train_wordpiece",
]
