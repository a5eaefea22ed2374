"""Writes texts by compiled functions, each of which serves many options."""

import concurrent.futures

import numpy as np
import tensorflow as tf

from zoo.generation import GenerationOptions, first_row, next_token
from zoo.tasks.answering import as_numpy, compiled_function
from zoo.tasks.writers.sample_numbers import sample_numbers
from zoo.tasks.writers.stop_texts import stop_patterns

BATCHES_AT_ONCE = 2  # while one waits for memory, the other one computes


def write_texts(writer, texts, repeats, lengths, size, options):
    """What is written for each text (N,): list of (list of str, list of float).

    Batches have `size` texts of similar `lengths`, int (N,). `repeats`, int32 (N,), are
    those of `sample_numbers`.
    """
    order = np.argsort(-lengths, kind="stable")
    values = _values(writer, options)
    begin, search, decode = _compile(writer, options, values)

    def write(rows):
        batch, grows = tf.gather(texts, rows), tf.constant(True)
        inputs, begun, numbers = begin(batch, tf.gather(repeats, rows), grows, values)
        tokens, scores = search(begun, numbers, values)
        written, scores = decode(tokens, scores, inputs, batch, values)
        return as_numpy(written).tolist(), as_numpy(scores).tolist()

    parts = [order[start : start + size] for start in range(0, len(order), size)]
    found = [None] * len(order)
    with concurrent.futures.ThreadPoolExecutor(BATCHES_AT_ONCE) as pool:
        for rows, written in zip(parts, pool.map(write, parts), strict=True):
            for row, *pair in zip(rows, *written, strict=True):
                found[row] = pair
    return found


def _values(writer, options):
    """What compiled functions take of the options, dict of tensors."""
    values = options.inputs(writer.task.output.shape[-1])
    seed = tf.constant(values.pop("seed"), tf.int64)
    values = {name: tf.constant(value) for name, value in values.items()}
    return {**values, "seed": seed, "stop": tf.constant(stop_patterns(options.stop))}


def _compile(writer, options, values):
    """Compiled functions that begin, search and decode.

    The first and the last serve all options, and the second all of a structure.
    """
    task, spec = writer.task, tf.TensorSpec
    begin = _compile_begin(writer, values)
    inputs, begun, numbers = _specs(begin.get_concrete_function().structured_outputs)
    structure = options.structure()

    def search(begun, numbers, values):
        return writer.search(begun, structure.with_inputs(values), numbers)

    def decode(tokens, scores, inputs, texts, values):
        options = GenerationOptions().with_values(values)
        return writer.decode(tokens, scores, inputs, texts, options)

    tokens = spec((None, None, None), tf.int32), spec((None, None), tf.float32)
    texts, values = spec((None,), tf.string), _specs(values)
    signature = [*tokens, inputs, texts, values]
    return (
        begin,
        compiled_function(
            task, (structure, "search"), search, [begun, numbers, values]
        ),
        compiled_function(task, "decode", decode, signature),
    )


def _compile_begin(writer, values):
    """A compiled function: inputs, what a search begins with, and random numbers.

    It takes texts, `repeats` of `sample_numbers`, whether caches may grow, and values.
    """

    def begin(texts, repeats, grows, values):
        options = GenerationOptions().with_values(values)
        inputs = writer.encode_prompt(texts, options)
        begun = writer.init_search(inputs, options, grows)
        return inputs, begun, sample_numbers(texts, options, repeats)

    vectors = [tf.TensorSpec((None,), kind) for kind in (tf.string, tf.int32)]
    signature = [*vectors, tf.TensorSpec((), tf.bool), _specs(values)]
    return compiled_function(writer.task, "begin", begin, signature)


def stream_rows(writer, texts, rows, options):
    """Yields the texts after every token, sentence after sentence of `SentenceRows`."""
    repeats, owners = rows.repeats(texts), rows.owners.numpy()
    separators = as_numpy(rows.separators)
    finished = np.full(len(texts), "", object)
    for chosen in rows.columns():
        sentences, here = tf.gather(rows.sentences, chosen), owners[chosen]
        for parts in stream_texts(writer, sentences, repeats[chosen], options):
            written = finished.copy()
            written[here] += np.array(parts, object)
            yield written.tolist()
        written[here] += separators[chosen]
        finished = written


def stream_texts(writer, texts, repeats, options):
    """Yields the texts after every token; see `write_texts` for the arguments."""
    grows = tf.constant(False)
    values = _values(writer, options)
    begin = _compile_begin(writer, values)
    inputs, begun, numbers = begin(texts, tf.constant(repeats, tf.int32), grows, values)
    write = writer.text_maker(inputs, texts, options)
    row, _ = first_row(
        **begun, options=options, end=writer.tokenizer.end_id, numbers=numbers
    )
    states = begin.get_concrete_function().structured_outputs[1]["states"]
    advance = _compile_step(writer, options, row, states, values)
    number, alive = tf.constant(0), tf.constant(len(texts))
    while int(alive):
        number, alive, row = advance(number, alive, row, values)
        yield as_numpy(write(row["tokens"], row["done"])).tolist()


def _compile_step(writer, options, row, states, values):
    """The compiled step of a stream; unknown dimensions of `states` may change."""
    structure, end = options.structure(), writer.tokenizer.end_id

    def advance(number, alive, row, values):
        options = structure.with_inputs(values)
        ended = writer.stop_finder(options)
        return next_token(writer.next_logits, options, end, ended)(number, alive, row)

    spec = {
        name: _specs(states)
        if name == "states"
        else tf.TensorSpec([None] * value.shape.rank, value.dtype)
        for name, value in row.items()
    }
    scalar = tf.TensorSpec((), tf.int32)
    signature = [scalar, scalar, spec, _specs(values)]
    return compiled_function(writer.task, (structure, "advance"), advance, signature)


def _specs(tensors):
    """The shapes and dtypes of a nest of tensors."""
    return tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype), tensors)
