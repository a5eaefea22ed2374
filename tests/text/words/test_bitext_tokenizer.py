"""Words of a source without markers, and pieces of a target."""

import pytest
import tensorflow as tf
from tiny_cove import tiny_bitext_tokenizer

from zoo.data import Packer
from zoo.text import BitextTokenizer


def test_a_source_has_words_in_lower_case_and_no_markers():
    tokenizer = BitextTokenizer(["the", "film", "."])
    features = Packer(tokenizer, None)((["The FILM ended.", ""],))
    assert features["word_ids"][:, :5].numpy().tolist() == [[4, 5, 1, 6, 0], [0] * 5]
    assert tf.reduce_sum(features["padding_mask"], 1).numpy().tolist() == [4, 0]
    plain = BitextTokenizer(["the"], lowercase=False, punctuation=False)
    assert plain(["So: the."]).to_list() == [[b"So:", b"the."]]


def test_a_target_has_pieces_that_can_be_joined():
    tokenizer = tiny_bitext_tokenizer()
    texts = ["FILM THE", "É !"]
    ids = tokenizer.targets(texts)
    ended = tf.concat([ids, tf.fill([2, 1], tokenizer.end_id)], axis=1)
    found = tokenizer.detokenize(ended.to_tensor(tokenizer.target_pad_id))
    assert [text.decode() for text in found.numpy()] == texts
    assert tokenizer.target_vocabulary_size == 320
    assert len({tokenizer.start_id, tokenizer.end_id, tokenizer.target_pad_id}) == 3


def test_a_tokenizer_of_sources_only():
    sources_only = BitextTokenizer(["a"])
    assert [*sources_only.to_files()[1]] == ["vocabulary.txt"]
    with pytest.raises(ValueError, match="needs a `target_model`"):
        sources_only.targets(["a"])
