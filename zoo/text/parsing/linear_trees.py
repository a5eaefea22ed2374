"""Trees as sequences of tokens, which a model can write, and back."""

import itertools

from zoo.checks.ranges import check_choice
from zoo.text.parsing.trees import TOP, TOPS, find_leaves, is_leaf

# How a phrase opens and closes; how a leaf is written, None for its tag.
LINEARIZATIONS = {
    "tensor2tensor": ("{}", "/{}", None),
    "vinyals": ("({}", "){}", "XX"),
    "numbered": ("{}", "/{}", None),
}
NUMBERED = "numbered"
NUMBERS = tuple(f"#{number}" for number in range(32))
UNKNOWN_TAG = "XX"


def linearize(tree, kind="tensor2tensor"):
    """Writes a tree as tokens without its words.

    | kind | (S (NP (DT the) (NN cat)) (VP (VBZ sits))) |
    |---|---|
    | tensor2tensor | S NP DT NN /NP VP VBZ /VP /S |
    | vinyals | (S (NP XX XX )NP (VP XX )VP )S |
    | numbered | S NP #0 DT #1 NN /NP VP #2 VBZ /VP /S |

    Source: Vaswani et al. 2017, section 6.3, released code `wsj_parsing.py`; Vinyals et
    al. 2015, section 2.2. The numbers are ours. The words of the source have them too,
    so that a model need not count leaves, which takes more trees to learn. After #31
    follows #0.

    Args:
        tree: a tree, see `zoo.text.parsing.trees`. An outer `TOP` is left out.
        kind: str, "tensor2tensor", "vinyals" or "numbered".

    Returns:
        list of str.

    Raises:
        ValueError: if the kind is unknown.
    """
    begin, end, leaf = _forms(kind)
    tokens = []
    numbers = itertools.cycle(NUMBERS)
    left = [*reversed(tree[1:])] if tree[0] in TOPS else [tree]
    while left:
        node = left.pop()
        if isinstance(node, str):
            tokens.append(node)
        elif is_leaf(node):
            tokens += [next(numbers)] if kind == NUMBERED else []
            tokens.append(leaf or node[0])
        else:
            tokens.append(begin.format(node[0]))
            left.append(end.format(node[0]))
            left.extend(reversed(node[1:]))
    return tokens


def _forms(kind):
    return LINEARIZATIONS[check_choice("kind", kind, LINEARIZATIONS)]


def find_labels(tokens, kind="tensor2tensor"):
    """The labels of phrases that some token closes, a set of str."""
    sign = _forms(kind)[1].format("")
    return {t[len(sign) :] for t in tokens if t.startswith(sign) and t != sign}


def read_token(token, kind, labels):
    """What a token does: ("open", label), ("close", label), ("leaf", tag) and so on."""
    begin, end, leaf = _forms(kind)
    if kind == NUMBERED and token in NUMBERS:
        return "number", token
    begin, end = begin.format(""), end.format("")
    if token.startswith(end) and token[len(end) :] in labels:
        return "close", token[len(end) :]
    if token.startswith(begin) and token[len(begin) :] in labels:
        return "open", token[len(begin) :]
    return "leaf", leaf or token


def to_tree(tokens, words, kind="tensor2tensor", labels=None):
    """Makes a tree over words from any tokens; the inverse of `linearize`.

    The tree has all words in their order, whatever the tokens are:

    - A token that closes a phrase also closes the phrases inside it. If no phrase with
      its label is open, it is ignored.
    - Phrases without words are removed. Leaves after the last word are ignored, and
      so are numbers.
    - At the end, open phrases are closed. Words without a leaf follow, with the tag XX.
    - If the result is not one phrase, it has the label `TOP`.

    Args:
        tokens: list of str.
        words: list of str.
        kind: str, see `linearize`. "vinyals" gives every leaf the tag XX.
        labels: collection of str, the labels of phrases; by default those that a token
            closes. A tag must not be a label, too.

    Returns:
        A tree. Without words it is `("TOP",)`.

    Example:
        >>> to_tree("S NP DT NN /NP /S".split(), ["The", "cat", "sits"])
        ('TOP', ('S', ('NP', ('DT', 'The'), ('NN', 'cat'))), ('XX', 'sits'))
    """
    known = find_labels(tokens, kind) if labels is None else labels
    left = iter(words)
    stack = [[TOP]]

    def close(count):
        for _ in range(count):
            phrase = stack.pop()
            if len(phrase) > 1:
                stack[-1].append(tuple(phrase))

    for token in tokens:
        action, name = read_token(token, kind, known)
        if action == "open":
            stack.append([name])
        elif action == "leaf":
            stack[-1] += [(name, word) for word in itertools.islice(left, 1)]
        elif action == "close":
            depths = range(len(stack) - 1, 0, -1)
            depth = next((d for d in depths if stack[d][0] == name), len(stack))
            close(len(stack) - depth)
    close(len(stack) - 1)
    (tree,) = stack
    tree += [(UNKNOWN_TAG, word) for word in left]
    alone = len(tree) == 2 and not is_leaf(tree[1])
    return tree[1] if alone else tuple(tree)


def list_tokens(trees, kind="tensor2tensor"):
    """The tokens of trees, for the vocabulary of a model that writes them, sorted.

    Raises:
        ValueError: if a name is both a tag and the label of a phrase, or one of them
            and the number of a leaf, which the tokens do not distinguish.
    """
    trees = list(trees)
    tokens = {token for tree in trees for token in linearize(tree, kind)}
    tokens.update(NUMBERS if kind == NUMBERED else ())
    if _forms(kind)[2] is None:
        tags = {tag for tree in trees for tag, _ in find_leaves(tree)}
        labels = find_labels(tokens, kind)
        both = tags & labels
        if kind == NUMBERED:
            both |= (tags | labels) & {*NUMBERS}
        if both:
            both = sorted(both)
            raise ValueError(
                "A tag must not be the label of a phrase, nor a number. Received: "
                f"{', '.join(both[:5])}. Rename one of them, or use the linearization "
                '"vinyals", which has no tags.'
            )
    return sorted(tokens)
