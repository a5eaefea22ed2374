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
WORDS = ["<S>", "</S>", "<UNK>", *PLAIN, *GOOD, *BAD]
LABELS = ["bad", "good"]
TAGS = ["O", "B-GOOD", "I-GOOD"]
WEIRD = {
    "empty": "",
    "blank": " \t\n\r\u3000",
    "long": "good film " * 10_000,
    "one long word": "a" * 100_000,
    "invalid UTF-8": b"good \xff\xfe\x80 film",
    "cut UTF-8": "caf\u00e9".encode()[:-1],
    "NUL bytes": "good\x00 film\x00",
    "surrogates": "good \ud800 film",
    "markup": "[CLS] [MASK] [SEP] [PAD] <s>",
    "right to left": "\u202e\u05d0\u05d1 film",
}

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
ELMO_CONFIG = {
    "embedding_dim": 4,
    "filters": [[1, 6], [2, 6], [3, 6]],
    "num_highways": 1,
    "max_characters": 12,
    "lstm_dim": 12,
    "projection_dim": 8,
    "dropout": 0.0,
    "initializer_range": 0.2,
}

TAGLM_CONFIG = {
    "vocabulary_size": 60,
    "embedding_dim": 6,
    "character_dim": 4,
    "filters": [[2, 5], [3, 5]],
    "max_characters": 12,
    "lstm_dim": 8,
    "num_layers": 3,
    "lm_positions": [1],
    "dropout": 0.0,
    "lm_dropout": 0.0,
    "initializer_range": 0.2,
}


ULMFIT_CONFIG = {
    "vocabulary_size": 64,
    "embedding_dim": 16,
    "lstm_dim": 12,
    "num_layers": 2,
    "pad_id": 0,
    **dict.fromkeys(("embedding_dropout", "input_dropout", "weight_dropout"), 0.0),
    **dict.fromkeys(("hidden_dropout", "output_dropout"), 0.0),
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


def make_tags(texts, labels=None):
    """A tag for every word: good words are spans."""
    rows = []
    for text in texts:
        tags, before = [], False
        for word in text.split():
            tags.append(("I-GOOD" if before else "B-GOOD") if word in GOOD else "O")
            before = word in GOOD
        rows.append(tags)
    return rows


def make_questions(count, seed=0, question="how is it", unanswered=False):
    """Questions on reviews, whose answer is the good or bad word.

    Every fourth has no answer if `unanswered`.
    """
    from zoo.data import Answer, Question

    rows = []
    for number, context in enumerate(make_texts(count, seed, 20)[0]):
        (word,) = {*GOOD, *BAD} & {*context.split()}
        answers = (Answer(word, f" {context} ".index(f" {word} ")),)
        if unanswered and number % 4 == 3:
            context, answers = context.replace(word, "it"), ()
        rows.append(Question(str(number), question, context, answers))
    return rows


def write_corpus(path, documents=40):
    """A text file of reviews, ten to a document; beside it valid.txt, the same."""
    texts, _ = make_texts(10 * documents, longest=9)
    tens = [texts[i : i + 10] for i in range(0, len(texts), 10)]
    for copy in (path, path.with_name("valid.txt")):
        copy.write_text("\n\n".join("\n".join(lines) for lines in tens), "utf-8")


def recipe(options=(), **fields):
    """A recipe of four updates on `*.txt`, as JSON holds it."""
    return {
        "family": "bert",
        "objective": {"name": "masked_lm", "shards": 2, **dict(options)},
        "config": {**CONFIG, "vocabulary_size": 140, "dropout": 0.1},
        "train": ["*.txt"],
        "valid": ["valid.txt"],
        "stages": [[16, 8, 2], [24, 4, 2]],
        "warmup_steps": 1,
        **fields,
    }


TRANSFORMER_CONFIG = {
    "hidden_dim": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 2,
    "intermediate_dim": 32,
    "max_sequence_length": 48,
    "dropout": 0.0,
}


GPT_CONFIG = {
    "vocabulary_size": 400,
    "hidden_dim": 16,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_dim": 32,
    "max_sequence_length": 96,
    "dropout": 0.0,
    "embedding_dropout": 0.0,
    "attention_dropout": 0.0,
    "initializer_range": 0.2,
}


def make_pairs(count, seed=0, longest=8):
    """Texts, and their translations: the same words in the other order, shouted."""
    sources, _ = make_texts(count, seed, longest)
    return sources, [" ".join(reversed(text.upper().split())) for text in sources]


COVE_CONFIG = {
    "vocabulary_size": 60,
    "embedding_dim": 6,
    "lstm_dim": 8,
    "num_layers": 2,
    "num_zero": 4,
    "dropout": 0.0,
    "target_vocabulary_size": 320,
    "target_embedding_dim": 5,
    "initializer_range": 0.2,
}


def transformers_config(**options):
    """A tiny `transformers.BertConfig` for `VOCABULARY`; the options are its own."""
    from transformers import BertConfig

    sizes = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 32,
        "initializer_range": 0.3,
    }
    return BertConfig(**{**sizes, **options})
