"""Tokenizers: texts to token ids, inside the TensorFlow graph."""

from zoo.text.byte_pairs.bpe_tokenizer import BytePairTokenizer
from zoo.text.byte_pairs.gpt2_tokenizer import GPT2Tokenizer
from zoo.text.english.fastai_tokenizer import FastaiTokenizer
from zoo.text.english.fastai_training import train_fastai_vocabulary
from zoo.text.english.gpt1_tokenizer import GPT1Tokenizer
from zoo.text.learning.bpe_training import train_bpe
from zoo.text.learning.gpt2_training import train_byte_bpe
from zoo.text.learning.sentencepiece_training import train_sentencepiece
from zoo.text.learning.wordpiece_training import train_wordpiece
from zoo.text.parsing.linear_trees import find_labels, linearize, list_tokens, to_tree
from zoo.text.parsing.parsing_tokenizer import ParsingTokenizer
from zoo.text.parsing.trees import (
    clean_tree,
    find_leaves,
    phrase_spans,
    read_tree,
    read_trees,
    write_tree,
)
from zoo.text.subwords.marian_tokenizer import MarianTokenizer
from zoo.text.subwords.sentencepiece import SentencePieceTokenizer
from zoo.text.subwords.subword_tokenizer import SubwordTokenizer
from zoo.text.subwords.token_list_tokenizer import TokenListTokenizer
from zoo.text.tokenizer import Framing, Tokenizer, register_tokenizer
from zoo.text.vocabulary import Vocabulary, save_vocabulary
from zoo.text.white_space import split_words
from zoo.text.wordpieces.wordpiece import WordPieceTokenizer
from zoo.text.words.bitext_tokenizer import BitextTokenizer
from zoo.text.words.character_tokenizer import CharacterTokenizer
from zoo.text.words.splitting import split_punctuation
from zoo.text.words.tagger_tokenizer import TaggerTokenizer
from zoo.text.words.unicode_tokenizer import UnicodeSpeller
from zoo.text.words.word_tokenizer import (
    WordTokenizer,
    count_words,
    extend_tokenizer,
    match_vectors,
)

for kind in (
    BitextTokenizer,
    BytePairTokenizer,
    CharacterTokenizer,
    FastaiTokenizer,
    GPT1Tokenizer,
    GPT2Tokenizer,
    MarianTokenizer,
    ParsingTokenizer,
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
    "BitextTokenizer",
    "BytePairTokenizer",
    "Framing",
    "CharacterTokenizer",
    "FastaiTokenizer",
    "GPT1Tokenizer",
    "GPT2Tokenizer",
    "MarianTokenizer",
    "ParsingTokenizer",
    "SentencePieceTokenizer",
    "SubwordTokenizer",
    "TaggerTokenizer",
    "TokenListTokenizer",
    "Tokenizer",
    "UnicodeSpeller",
    "Vocabulary",
    "WordPieceTokenizer",
    "WordTokenizer",
    "clean_tree",
    "count_words",
    "extend_tokenizer",
    "find_labels",
    "find_leaves",
    "linearize",
    "list_tokens",
    "match_vectors",
    "phrase_spans",
    "read_tree",
    "read_trees",
    "register_tokenizer",
    "save_vocabulary",
    "split_punctuation",
    "split_words",
    "to_tree",
    "train_bpe",
    "train_byte_bpe",
    "train_fastai_vocabulary",
    "train_sentencepiece",
    "train_wordpiece",
    "write_tree",
]
