"""Shapes of models that are not built: no memory, no trace, and all families."""

import dataclasses
import random
import resource
import time

import keras
import numpy as np
import own_family
import pytest
import tiny

from zoo.backbone.saving import preset_variables
from zoo.backbone.weight_shapes import find_shapes
from zoo.family import FAMILIES
from zoo.models.bert import BERT, BERTConfig
from zoo.models.taglm import TagLM, TagLMConfig
from zoo.registry import build_backbone
from zoo.registry.checking import check_source
from zoo.registry.sources import Source

BILLION = 960_000_000  # about; heads of attention divide it
# Sizes of each family that may be so large.
HUGE = {
    "bert": ("vocabulary_size", "intermediate_dim", "max_sequence_length"),
    "bag": ("vocabulary_size", "hidden_dim"),
    "cove": ("vocabulary_size", "embedding_dim", "lstm_dim"),
    "elmo": ("embedding_dim", "lstm_dim", "projection_dim"),
    "gpt": ("vocabulary_size", "hidden_dim", "intermediate_dim"),
    "taglm": ("vocabulary_size", "embedding_dim", "character_dim", "lstm_dim"),
    "transformer": ("vocabulary_size", "hidden_dim", "intermediate_dim"),
    "ulmfit": ("vocabulary_size", "embedding_dim", "lstm_dim"),
}


def lm_config(**fields):
    """The config of a tagger that reads language models and nothing else."""
    config = {**tiny.TAGLM_CONFIG, "vocabulary_size": 0, "filters": (), **fields}
    return TagLMConfig(**{**config, "lm_positions": (0, 1), "lm_layers": "mix"})


def make_elmo():
    return build_backbone("elmo", {**tiny.ELMO_CONFIG, "num_layers": 1})


def test_parts_are_included_with_their_names():
    config = lm_config()
    shapes = find_shapes(lambda: TagLM(config, parts={"lm_0": make_elmo()}))
    tagger = TagLM(config, parts={"lm_0": make_elmo()})
    paths = tagger.variable_paths()
    built = {paths.get(id(v), v.path): v.shape for v in preset_variables(tagger)}
    assert shapes == built and {"lm_0/forward_0/bias", "lm_0_mix_1/gamma"} < {*shapes}


@pytest.mark.parametrize("shipped", [False, True])
def test_a_tagger_that_only_reads_language_models_is_checked(shipped, tmp_path):
    """Its width depends on the parts, of which one may be another preset."""
    part = dataclasses.asdict(make_elmo().config)
    record = {"family": "elmo", "backbone": part}
    if shipped:
        record = {"preset": "elmo_mini_en_books", "sha256": ""}
    weights = {"tagger_forward_1/kernel": np.zeros((900, 1000))}
    small, large = map(dataclasses.asdict, (lm_config(), lm_config(lstm_dim=10**5)))
    family, parts = FAMILIES["taglm"], {"lm_0": record}
    check_source(Source(tmp_path, "zoo", family, small, weights, parts=parts))
    with pytest.raises(ValueError, match="`backbone` of .* more than the 900000"):
        check_source(Source(tmp_path, "zoo", family, large, weights, parts=parts))


@pytest.mark.parametrize("family", HUGE)
def test_absurd_sizes_need_neither_memory_nor_time(family):
    assert own_family.Bag is FAMILIES["bag"].backbone
    sizes = dict.fromkeys(HUGE[family], BILLION)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(ValueError, match="the most that zoo builds") as raised:
        build_backbone(family, sizes)
    assert time.process_time() - started < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB
    assert "0000000" in str(raised.value)
    with keras.StatelessScope():
        pass  # would make the variables that wait for values
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_the_seeds_of_layers_stay():
    state = random.getstate()
    BERT.weight_shapes(BERTConfig(**tiny.CONFIG))
    assert random.getstate() == state


def test_the_number_of_plain_layers_of_a_user_is_bounded(tmp_path):
    """A config without declared ranges cannot ask for millions of layers."""
    config = {"vocabulary_size": 60, "num_layers": 10**7}
    source = Source(tmp_path, "zoo", FAMILIES["bag"], config, {})
    with pytest.raises(ValueError, match="`num_layers` of .* must be at most 1000000"):
        check_source(source)
