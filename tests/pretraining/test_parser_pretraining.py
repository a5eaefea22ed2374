"""Training of parsers by a recipe, from files of trees."""

import gzip
import json

import pytest

import zoo
from zoo import pretraining
from zoo.pretraining import Recipe
from zoo.text import find_leaves, read_tree

TREES = [
    "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sits)) (. .)) )",
    "( (S (NP-SBJ (PRP She)) (VP (VBZ sees) (NP (DT a)\n  (NN dog))) (. .)) )",
    "( (NP (NN Home)) )",
    "( (NP (-NONE- *)) )",
]


def recipe(**options):
    return Recipe(
        family="transformer",
        objective={"name": "parser", **options},
        config={
            "vocabulary_size": 320,
            "hidden_dim": 16,
            "num_encoder_layers": 1,
            "num_decoder_layers": 1,
            "num_heads": 2,
            "intermediate_dim": 32,
            "max_sequence_length": 64,
        },
        train=["train.ptb.gz"],
        valid=["valid.mrg"],
        stages=[[48, 3, 4]],
        warmup_steps=1,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["vinyals", pytest.param("numbered", marks=pytest.mark.slow)]
)
def test_a_recipe_makes_a_parser(tmp_path, kind):
    with gzip.open(tmp_path / "train.ptb.gz", "wt") as file:
        file.write("\n".join(TREES * 3))
    (tmp_path / "valid.mrg").write_text(TREES[0] + "(S (ADJP (JJ New)) (NN cat))")
    run = pretraining.run(
        recipe(linearization=kind), tmp_path, tmp_path / "run", every=4
    )
    parser = zoo.from_preset(tmp_path / "run" / "preset")
    assert type(run) is type(parser) is zoo.Parser
    assert parser.tokenizer.labels == ("NP", "S", "VP")
    assert parser.tokenizer.linearization == kind
    assert parser.backbone.config.target_vocabulary_size == (
        parser.tokenizer.target_vocabulary_size
    )
    (tree,) = parser.parse(["The new cat sits ."])
    assert [word for _, word in find_leaves(read_tree(tree))] == (
        "The new cat sits .".split()
    )
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    scores = report["valid"]["valid.mrg"]
    assert 0 <= scores["f1"] <= 1 and scores["errors"] == 0 and scores["loss"] > 0


def test_the_objective_refuses_the_options_of_others():
    with pytest.raises(ValueError, match="columns"):
        recipe(columns=[0, 1])
