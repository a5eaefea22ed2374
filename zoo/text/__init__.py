"""Tokenizers: texts to token ids, inside the TensorFlow graph."""

from zoo.text.character_tokenizer import CharacterTokenizer
from zoo.text.marian_tokenizer import MarianTokenizer
from zoo.text.sentencepiece import SentencePieceTokenizer
from zoo.text.sentencepiece_training import train_sentencepiece
from zoo.text.splitting import split_punctuation, split_words
from zoo.text.subword_tokenizer import SubwordTokenizer
from zoo.text.tagger_tokenizer import TaggerTokenizer
from zoo.text.token_list_tokenizer import TokenListTokenizer
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
    CharacterTokenizer,
    MarianTokenizer,
    SentencePieceTokenizer,
    SubwordTokenizer,
    TaggerTokenizer,
    TokenListTokenizer,
    UnicodeSpeller,
    WordPieceTokenizer,
    WordTokenizer,
):
    register_tokenizer(kind)

__all__ = [
    "Framing",
    "CharacterTokenizer",
    "MarianTokenizer",
    "SentencePieceTokenizer",
    "SubwordTokenizer",
    "TaggerTokenizer",
    "TokenListTokenizer",
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
    "train_sentencepiece",
    "train_wordpiece",
]
