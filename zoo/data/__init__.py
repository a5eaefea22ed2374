"""From files and token ids to batches: packing, batching by length, masking.

Names are imported when they are first used: tables are read without TensorFlow.
"""

from zoo.lazy_names import lazy_names

_MODULES = {
    "COLUMN_PREFIXES": "rows.separate_packing",
    "AlternativesPacker": "rows.alternative_packing",
    "Answer": "files.squad",
    "DocumentStreams": "streams.document_streams",
    "Epoch": "batching",
    "NextWordPacker": "rows.packing",
    "PackedRows": "streams.packed_rows",
    "Packer": "rows.packing",
    "Pair": "streams.pairs",
    "Question": "files.squad",
    "QuestionPacker": "rows.question_packing",
    "SeparatePacker": "rows.separate_packing",
    "SkipGrams": "streams.skipgrams",
    "TableStream": "files.table_streams",
    "TokenStreams": "streams.token_streams",
    "WordCorpus": "files.word_corpus",
    "WordPacker": "rows.packing",
    "WordWindowPacker": "rows.word_windows",
    "as_numbers": "files.labelled_tables",
    "bucket_length": "batching",
    "check_answers": "files.squad",
    "document_batches": "streams.document_streams",
    "draw_pairs": "streams.pairs",
    "epoch_numbers": "batching",
    "features_of": "rows.separate_packing",
    "find_separator": "files.label_set_tables",
    "hash_split": "files.labelled_tables",
    "holds_label_sets": "files.label_set_tables",
    "mask_tokens": "streams.masking",
    "open_table": "files.table_streams",
    "pair_batches": "streams.pairs",
    "plan_batches": "batching",
    "read_bitext": "files.bitext",
    "read_choices": "files.choices",
    "read_conll": "files.conll",
    "read_documents": "files.corpus",
    "read_glue": "files.glue",
    "read_label_sets": "files.label_set_tables",
    "read_labelled": "files.labelled_tables",
    "read_records": "files.tfrecords",
    "read_squad": "files.squad",
    "read_texts": "files.training_texts",
    "read_token_ids": "streams.document_streams",
    "read_word_corpus": "files.word_corpus",
    "split_sentences": "files.corpus",
    "stream_batches": "files.word_corpus",
    "tokenize_documents": "files.corpus",
    "tokenize_texts": "streams.document_streams",
    "unmask": "files.tfrecords",
    "untuned": "batching",
    "write_conll": "files.conll",
    "write_documents": "streams.document_streams",
    "write_records": "files.tfrecords",
    "write_squad": "files.squad",
    "write_squad_predictions": "files.squad",
    "write_table": "files.table_streams",
    "write_token_ids": "streams.document_streams",
    "write_word_corpus": "files.word_corpus",
}

__all__ = list(_MODULES)
__getattr__, __dir__ = lazy_names(
    __name__, {name: f"{__name__}.{module}" for name, module in _MODULES.items()}
)
