"""The tokens of fastai's models: lists of str in pickles."""

from zoo.checkpoint import read_strings, warn_without_tokenizer
from zoo.checks.user_warnings import warn_user

EXPORT = "export.pkl"  # of `Learner.export`; it holds code
# The tokens of padding in the order of preference.
PADS = ("xxpad", "_pad_")
PIECE_MARK = "\u2581"  # what pieces of SentencePiece begin with


def read_tokenizer(path):
    """The arguments of `zoo.text.FastaiTokenizer`; None without its list of tokens."""
    found = [p for p in sorted(path.parent.glob("*.pkl")) if p.name != EXPORT]
    if len(found) > 1:
        found = [p for p in found if p.name.startswith(path.stem)] or found
    if len(found) > 1:
        raise ValueError(
            "A checkpoint must have one list of tokens, or one whose name begins with "
            f"its own. Received: {', '.join(p.name for p in found)} beside `{path}`. "
            "Remove the others."
        )
    if not found:
        warn_without_tokenizer(path.parent, "a list of tokens such as itos.pkl")
        return None
    vocabulary = read_strings(found[0])
    pieces = sum(token.startswith(PIECE_MARK) for token in vocabulary)
    if pieces > len(vocabulary) // 8:
        warn_user(
            f"The tokens of {found[0]} are pieces of SentencePiece. The model has no "
            "tokenizer, because the pieces need the file of their SentencePiece model."
        )
        return None
    return {"vocabulary": vocabulary, "version": find_version(vocabulary, found[0])}


def find_version(vocabulary, path):
    """The version of fastai's rules that made a list of tokens: "0.7", "v1" or "v2"."""
    if {"_unk_", "_pad_"} <= {*vocabulary}:
        return "0.7"
    missing = [t for t in ("xxunk", "xxpad", "xxbos") if t not in vocabulary]
    if missing:
        raise ValueError(
            f"`{path}` must hold the special tokens of fastai: xxunk, xxpad and xxbos, "
            f"or _unk_ and _pad_ of fastai 0.7. Received: {len(vocabulary)} "
            f"tokens without {', '.join(missing)}. Remove the file to read the weights "
            "without a tokenizer."
        )
    # fastai 1 puts `xxmaj` before `xxrep`, and fastai 2 puts it after.
    marks = [t for t in vocabulary if t in ("xxmaj", "xxrep")]
    return "v1" if marks[:1] == ["xxmaj"] else "v2"


def find_pad_id(vocabulary):
    """The id of padding."""
    return next(vocabulary.index(pad) for pad in PADS if pad in vocabulary)


def check_tokens(vocabulary, rows, path):
    """Raises ValueError if the numbers of tokens and of token vectors differ."""
    if len(vocabulary) != rows:
        raise ValueError(
            f"The list beside `{path}` must have a token for every row of the table. "
            f"Received: {len(vocabulary)} tokens, {rows} rows."
        )
