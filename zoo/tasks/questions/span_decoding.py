"""How a question answerer finds answers: in Python, and in an exported graph."""

import functools

import numpy as np
import tensorflow as tf

from zoo.data import plan_batches
from zoo.tasks.answering import as_numpy, compiled_function
from zoo.tasks.blocks import in_blocks
from zoo.tasks.inputs.text_batches import tokenise
from zoo.tasks.inputs.text_input import rows_at_once
from zoo.tasks.questions.answer_spans import best_answers, best_spans, kept_spans

ROWS_IN_BLOCK = 32  # that an export reads together
TOKENS_AT_ONCE = 2048  # that `answer` reads together
BEST_ENDS = 20  # beginnings and ends that are combined, as in the released code of BERT
# Questions and bytes of contexts whose answers are compared together.
QUESTIONS_IN_BLOCK, BYTES_IN_BLOCK = 256, 2**20


def candidate_count(task):
    """The most beginnings and ends of a row that are combined, int."""
    return max(BEST_ENDS, task.options["num_answers"])


def find_spans(task, x):
    """The best spans of rows, in a graph; see `best_spans`."""
    longest = task.options["answer_length"]
    return best_spans(task(x, training=False), x, candidate_count(task), longest)


def no_spans(task):
    """The result of `find_spans` for no rows."""
    dtypes = {"scores": "float32", "begins": "int32", "ends": "int32"}
    width = kept_spans(candidate_count(task))
    empty = {name: tf.zeros((0, width), dtype) for name, dtype in dtypes.items()}
    return {**empty, "null": tf.zeros(0)}


def answers_of_spans(task, spans, windows, contexts, threshold):
    """The best answers to questions, see `best_answers`, as many as the task gives."""
    found = best_answers(spans, windows, contexts, candidate_count(task), threshold)
    count = task.options["num_answers"]
    return {k: v[:, :count] if v.shape.rank == 2 else v for k, v in found.items()}


def answer_questions(task, columns, batch_size, threshold):
    """The best answers to questions, as numpy; see `QuestionAnswerer.answer`."""
    rows = tokenise(task, columns)
    windows = rows.pop("windows")
    select = task.preprocessor.selector(rows, bucketed=bool(task.jit_compile))
    order, parts = [tf.zeros(0, tf.int32)], [no_spans(task)]
    if len(windows):
        lengths = task.preprocessor.lengths(rows)
        budget = TOKENS_AT_ONCE if rows_at_once(batch_size, None) is None else None
        plan = plan_batches(lengths, batch_size, False, token_budget=budget)
        order = [*plan]
        find = functools.partial(find_spans, task)
        find = compiled_function(task, "spans", find, reduce_retracing=True)
        parts = [find(select(index)) for index in order]
    back = tf.argsort(tf.concat(order, 0))
    spans = {
        key: tf.gather(tf.concat([part[key] for part in parts], 0), back)
        for key in parts[0]
    }
    ends = np.cumsum([0, *windows.numpy()])
    found = []
    for block in _blocks(tf.strings.length(columns[1]).numpy()):
        part = {k: v[ends[block.start] : ends[block.stop]] for k, v in spans.items()}
        answers = answers_of_spans(
            task, part, windows[block], columns[1][block], threshold
        )
        found.append({key: as_numpy(value) for key, value in answers.items()})
    return {k: np.concatenate([part[k] for part in found]) for k in found[0]}


def answer_in_graph(task, questions, contexts):
    """The best answers, see `answer_spans.best_answers`, in a graph for an export."""
    rows, _ = task.preprocessor.pack((questions, contexts))
    x, find = task.preprocessor.dense(rows), functools.partial(find_spans, task)
    spans = in_blocks(find, x, ROWS_IN_BLOCK, no_spans(task))
    threshold = task.options["null_threshold"]
    return answers_of_spans(task, spans, rows["windows"], contexts, threshold)


def _blocks(sizes):
    """Slices of contexts of some sizes in bytes, so that they need little memory."""
    starts, total = [0], 0
    for number, size in enumerate(sizes.tolist()):
        total += size
        full = total > BYTES_IN_BLOCK or number - starts[-1] == QUESTIONS_IN_BLOCK
        if full and number > starts[-1]:
            starts.append(number)
            total = size
    return map(slice, starts, [*starts[1:], len(sizes)])
