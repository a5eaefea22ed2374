"""Answers to 200 questions of SQuAD 1.1, from raw text, on the CPU.

The model has the shape of MiniLM, 6 layers of width 384, and random weights, which both
peers share. The questions are the first ones of the dev set whose row of tokens has at
most 384. Batches have rows of similar length: 32 rows for transformers, about 2,048
tokens for zoo, which are its defaults. Both peers tokenize, compute, and
search the best answer of at most 30 tokens among 20 beginnings and 20 ends.
"""

import pathlib
import tempfile

import numpy as np

from benchmarks.peers import facts_of, transformers_model, write_transformers

UNIT = "questions"
NEEDS = ("data", "vocabulary")
ROWS, LENGTH, BATCH_SIZE = 200, 384, 32
BEST, LONGEST = 20, 30  # beginnings and ends; tokens of an answer
KIND, SIZES = "BertForQuestionAnswering", (6, 384, 12, 1536)


def read_rows(data, vocabulary):
    """Questions and contexts, two lists, and the lengths of their rows in tokens."""
    import zoo

    found = pathlib.Path(data) / "squad1.1"
    path = next(p for p in sorted(found.glob("dev.json*")))
    rows = zoo.data.read_squad(path)
    tokenizer = zoo.text.WordPieceTokenizer(vocabulary)
    questions, contexts = (
        tokenizer([getattr(row, name) for row in rows]).row_lengths().numpy()
        for name in ("question", "context")
    )
    lengths = np.minimum(questions, 64) + contexts + 3
    chosen = np.flatnonzero((lengths <= LENGTH) & (questions <= 64))[:ROWS]
    texts = ([rows[i].question for i in chosen], [rows[i].context for i in chosen])
    return *texts, lengths[chosen]


def make_zoo(data, vocabulary):
    """Ours: `QuestionAnswerer.answer` on lists of str."""
    import zoo

    with tempfile.TemporaryDirectory() as directory:
        write_transformers(vocabulary, KIND, SIZES, directory)
        model = zoo.from_preset(directory)
    questions, contexts, lengths = read_rows(data, vocabulary)

    def call():
        found = model.answer((questions, contexts))
        return np.stack([found["begin"], found["end"]], axis=1)

    return call, _facts(call(), lengths, model.count_params(), "zoo")


def make_transformers(data, vocabulary):
    """Hugging Face on PyTorch, with the steps of its example `run_qa.py`.

    Its rows are sorted by length, so that they have little padding.
    """
    import torch

    model, tokenizer = transformers_model(vocabulary, KIND, SIZES)
    questions, contexts, lengths = read_rows(data, vocabulary)

    def call():
        rows = tokenizer(
            questions,
            contexts,
            truncation="only_second",
            max_length=LENGTH,
            return_offsets_mapping=True,
        )
        sizes = [len(ids) for ids in rows["input_ids"]]
        order = np.argsort(sizes, kind="stable")[::-1]
        names = [name for name in rows if name != "offset_mapping"]
        found = np.zeros((len(questions), 2), "int64")
        for start in range(0, len(order), BATCH_SIZE):
            index = order[start : start + BATCH_SIZE]
            batch = {name: [rows[name][i] for i in index] for name in names}
            batch = tokenizer.pad(batch, return_tensors="pt")
            with torch.no_grad():
                outputs = model(**batch)
            logits = outputs.start_logits.numpy(), outputs.end_logits.numpy()
            for place, row in enumerate(index):
                inside = [part == 1 for part in rows.sequence_ids(row)]
                own = [side[place][: sizes[row]] for side in logits]
                first, last = best_span(*own, np.array(inside))
                spans = rows["offset_mapping"][row]
                found[row] = spans[first][0], spans[last][1]
        return found

    return call, _facts(call(), lengths, model.num_parameters(), "transformers")


def best_span(begins, ends, inside):
    """The first and the last token of the best answer of a row, as in `run_qa.py`."""
    first = np.argsort(np.where(inside, begins, -np.inf))[: -BEST - 1 : -1]
    last = np.argsort(np.where(inside, ends, -np.inf))[: -BEST - 1 : -1]
    sums = begins[first][:, None] + ends[last][None]
    size = last[None] - first[:, None]
    fits = (size >= 0) & (size < LONGEST) & inside[first][:, None] & inside[last][None]
    sums = np.where(fits, sums, -np.inf)
    i, j = np.unravel_index(sums.argmax(), sums.shape)
    return first[i], last[j]


def _facts(found, lengths, parameters, library):
    options = {"result": np.ravel(found), "near": 0}
    return facts_of(lengths, parameters, found.shape, library, **options)


PEERS = {"zoo": make_zoo, "transformers": make_transformers}
