"""A tiny vocabulary, tiny texts and a tiny BERT, for tests and their subprocesses."""

import random

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
GOOD = ["good", "great", "fine", "lovely", "superb"]
BAD = ["bad", "awful", "poor", "dull", "boring"]
PLAIN = (
    "the a an of and or but with for to in on at by it is was this that film movie "
    "plot actor music story scene end start very not so too one two three , . !"
).split()
PIECES = ["##s", "##ly", "##ing", "##ed", "##er", "##est"]
VOCABULARY = [*SPECIALS, *GOOD, *BAD, *PLAIN, *PIECES]
LABELS = ["bad", "good"]

CONFIG = {
    "vocabulary_size": 64,
    "hidden_dim": 16,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_dim": 32,
    "max_sequence_length": 32,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "initializer_range": 0.2,
}


def make_texts(count, seed=0, longest=12):
    """Reviews of 2 to `longest` words, and the name of the label of each."""
    draw = random.Random(seed)
    texts, labels = [], []
    for _ in range(count):
        label = draw.choice(LABELS)
        words = draw.choices(PLAIN, k=draw.randrange(1, longest))
        words.insert(
            draw.randrange(len(words) + 1),
            draw.choice(GOOD if label == "good" else BAD),
        )
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels
