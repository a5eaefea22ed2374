"""From files and token ids to batches: packing, batching by length, masking."""

from zoo.data.batching import Epoch, bucket_length, epoch_numbers, plan_batches, untuned
from zoo.data.files.bitext import read_bitext
from zoo.data.files.choices import read_choices
from zoo.data.files.conll import read_conll, write_conll
from zoo.data.files.corpus import read_documents, split_sentences, tokenize_documents
from zoo.data.files.glue import read_glue
from zoo.data.files.label_set_tables import find_separator, read_classes
from zoo.data.files.labelled_tables import as_numbers, hash_split, read_labelled
from zoo.data.files.squad import (
    Answer,
    Question,
    check_answers,
    read_squad,
    write_squad,
    write_squad_predictions,
)
from zoo.data.files.table_files import open_table
from zoo.data.files.table_writing import write_table
from zoo.data.files.tfrecords import read_records, unmask, write_records
from zoo.data.files.training_texts import read_texts
from zoo.data.files.word_corpus import (
    WordCorpus,
    read_word_corpus,
    stream_batches,
    write_word_corpus,
)
from zoo.data.rows.alternative_packing import AlternativesPacker
from zoo.data.rows.packing import NextWordPacker, Packer, WordPacker
from zoo.data.rows.question_packing import QuestionPacker
from zoo.data.rows.separate_packing import COLUMN_PREFIXES, SeparatePacker, features_of
from zoo.data.rows.word_windows import WordWindowPacker
from zoo.data.streams.document_streams import (
    DocumentStreams,
    document_batches,
    read_token_ids,
    tokenize_texts,
    write_documents,
    write_token_ids,
)
from zoo.data.streams.masking import mask_tokens
from zoo.data.streams.packed_rows import PackedRows
from zoo.data.streams.pairs import Pair, draw_pairs, pair_batches
from zoo.data.streams.skipgrams import SkipGrams
from zoo.data.streams.token_streams import TokenStreams

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
    "find_separator",
    "hash_split",
    "mask_tokens",
    "open_table",
    "pair_batches",
    "plan_batches",
    "read_choices",
    "read_classes",
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
    "write_table",
    "write_squad_predictions",
    "write_token_ids",
    "write_word_corpus",
]
