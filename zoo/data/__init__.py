"""Token ids to batches: packing, batching by length, masking, corpora."""

from zoo.data.batching import Epoch, bucket_length, plan_batches, untuned
from zoo.data.corpus import block_dataset, read_documents
from zoo.data.glue import read_glue
from zoo.data.masking import mask_tokens
from zoo.data.packing import Packer
from zoo.data.tables import hash_split, read_labelled

__all__ = [
    "Epoch",
    "Packer",
    "block_dataset",
    "bucket_length",
    "hash_split",
    "mask_tokens",
    "plan_batches",
    "read_documents",
    "read_glue",
    "read_labelled",
    "untuned",
]
