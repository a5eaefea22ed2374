"""From files and token ids to batches: packing, batching by length, masking."""

from zoo.data.alternative_packing import AlternativesPacker
from zoo.data.batching import (
    Epoch,
    bucket_length,
    epoch_numbers,
    plan_batches,
    untuned,
)
from zoo.data.bitext import read_bitext
from zoo.data.choices import read_choices
from zoo.data.conll import read_conll, write_conll
from zoo.data.corpus import read_documents, split_sentences, tokenize_documents
from zoo.data.document_streams import (
    DocumentStreams,
    document_batches,
    read_token_ids,
    tokenize_texts,
    write_documents,
    write_token_ids,
)
from zoo.data.glue import read_glue
from zoo.data.labelled_tables import (
    as_numbers,
    hash_split,
    read_labelled,
)
from zoo.data.masking import mask_tokens
from zoo.data.packed_rows import PackedRows
from zoo.data.packing import NextWordPacker, Packer, WordPacker
from zoo.data.pairs import Pair, draw_pairs, pair_batches
from zoo.data.question_packing import QuestionPacker
from zoo.data.separate_packing import COLUMN_PREFIXES, SeparatePacker, features_of
from zoo.data.skipgrams import SkipGrams
from zoo.data.squad import (
    Answer,
    Question,
    check_answers,
    read_squad,
    write_squad,
    write_squad_predictions,
)
from zoo.data.tfrecords import read_records, unmask, write_records
from zoo.data.token_streams import TokenStreams
from zoo.data.training_texts import read_texts
from zoo.data.word_corpus import (
    WordCorpus,
    read_word_corpus,
    stream_batches,
    write_word_corpus,
)
from zoo.data.word_windows import WordWindowPacker

__all__ = [
    "COLUMN_PREFIXES",
    "AlternativesPacker",
    "Answer",
    "DocumentStreams",
    "Epoch",
    "NextWordPacker",
    "PackedRows",
    "Packer",
    "Pair",
    "Question",
    "QuestionPacker",
    "SeparatePacker",
    "SkipGrams",
    "TokenStreams",
    "WordCorpus",
    "WordPacker",
    "WordWindowPacker",
    "as_numbers",
    "bucket_length",
    "check_answers",
    "document_batches",
    "draw_pairs",
    "epoch_numbers",
    "features_of",
    "hash_split",
    "mask_tokens",
    "pair_batches",
    "plan_batches",
    "read_choices",
    "read_conll",
    "read_documents",
    "read_glue",
    "read_labelled",
    "read_records",
    "read_squad",
    "read_bitext",
    "read_texts",
    "read_token_ids",
    "read_word_corpus",
    "split_sentences",
    "stream_batches",
    "tokenize_documents",
    "tokenize_texts",
    "unmask",
    "untuned",
    "write_conll",
    "write_documents",
    "write_records",
    "write_squad",
    "write_squad_predictions",
    "write_token_ids",
    "write_word_corpus",
]
