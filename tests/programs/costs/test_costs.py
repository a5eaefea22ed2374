"""Memory and operations of a step, from the shapes in its graph."""

import dataclasses

import pytest
import tensorflow as tf
from click.testing import CliRunner

import zoo
from zoo.commands.main import main
from zoo.programs.costs.graph_costs import graph_costs
from zoo.programs.costs.step_costs import MEMORY

BERT = "bert_mini_en_uncased_books"


def costs_of(function, *shapes):
    specs = [tf.TensorSpec(shape) for shape in shapes]
    return graph_costs(tf.function(function).get_concrete_function(*specs).graph)


def test_products_and_peak():
    """While the second product is computed, the first and its input are there."""

    def function(a, b):
        first = tf.matmul(a, b)  # (2, 4): 32 bytes
        second = tf.matmul(first, b, transpose_b=True)  # (2, 3): 24 bytes
        return tf.reduce_sum(tf.nn.relu(second))  # relu in place, a sum of 4 bytes

    costs = costs_of(function, (2, 3), (3, 4))
    assert costs.flops == 2 * (2 * 3 * 4) + 2 * (2 * 4 * 3)
    assert costs.peak == 32 + 24


def test_a_loop_counts_each_of_its_steps():
    def function(x, w):
        steps = tf.TensorArray(tf.float32, 5, element_shape=(2, 3)).unstack(x)
        state = tf.zeros((2, 3))
        loop = lambda i, s: (i + 1, tf.matmul(s + steps.read(i), w))  # noqa: E731
        return tf.while_loop(lambda i, s: i < 5, loop, (0, state))[1]

    assert costs_of(function, (5, 2, 3), (3, 3)).flops == 5 * 2 * 2 * 3 * 3


def test_costs_of_a_preset():
    """The weights are those of the record; a batch in parts needs less."""
    options = {"task": "causal_lm", "num_layers": 3}
    plain = zoo.training_memory("gpt_mini_en_books", 16, 64, **options)
    assert plain.weights == pytest.approx(4 * plain.parameters, rel=1e-3)
    assert plain.optimizer == 8 * plain.trained
    assert plain.gradients == 4 * plain.trained
    assert plain.total == sum(getattr(plain, kind) for kind in MEMORY)
    # All but the positions; the table makes the logits.
    products = 6 * (plain.trained - 256 * 320) * 16 * 64
    attention = 12 * 3 * 320 * 64 * 16 * 64
    assert plain.flops == pytest.approx(products + attention, rel=0.01)
    parts = zoo.training_memory("gpt_mini_en_books", 16, 64, accumulate=4, **options)
    assert parts.activations < plain.activations / 2
    assert parts.flops == plain.flops


def test_recomputed_activations_are_not_kept():
    options = {"task": "text_classifier"}
    kept = zoo.training_memory(BERT, 8, 128, **options)
    less = zoo.training_memory(BERT, 8, 128, remat=True, **options)
    assert less.activations < kept.activations / 2
    assert 1.2 < less.flops / kept.flops < 1.4
    same = {"activations": 0, "allocator": 0, "flops": 0}
    assert dataclasses.replace(less, **same) == dataclasses.replace(kept, **same)


@pytest.mark.parametrize(
    "options, message",
    [
        ("--memory --batch 0x512", "`--batch` must be ROWSxTOKENS with two positive"),
        ("--memory --batch foo", "Received: 'foo'. An example is 32x512."),
        ("--memory", "--memory and --batch must be given together."),
        ("--batch 8x8", "--memory and --batch must be given together."),
        ("--memory --batch 8x4096", "A text must have at most 128 tokens"),
    ],
)
def test_bad_input(options, message):
    result = CliRunner().invoke(main, ["info", BERT, *options.split()])
    assert result.exit_code
    assert message in (result.output + str(result.exception))


def test_the_command_prints_a_table():
    options = "--memory --batch 4x32 --precision mixed_bfloat16 --task masked_lm"
    result = CliRunner().invoke(main, ["info", BERT, *options.split()])
    assert [line.split()[0] for line in result.output.splitlines()[1:]] == [
        *MEMORY,
        "total",
    ]
