"""Trees of phrases in the brackets of the Penn Treebank.

A tree is a nested tuple: a phrase is `(label, child, ...)`, a leaf is `(tag, word)`.
All functions work without recursion, so the depth of a tree has no limit.
"""

import re

from zoo.files.buckets import local_path
from zoo.files.whole_files import open_text

TOP = "TOP"
TOPS = ("", TOP, "ROOT", "S1")  # labels of the bracket around a whole sentence
TRACE = "-NONE-"
# How a word writes what would be a bracket of the tree.
ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
# A word may have a no-break space; tokens are separated by ASCII white space.
TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)


def is_leaf(tree):
    """Whether a tree is a leaf: a tag and a word."""
    return len(tree) == 2 and isinstance(tree[1], str)


def find_leaves(tree):
    """Returns the leaves of a tree in their order, a list of (tag, word)."""
    found, left = [], [tree]
    while left:
        node = left.pop()
        if is_leaf(node):
            found.append(node)
        else:
            left.extend(reversed(node[1:]))
    return found


def phrase_spans(tree):
    """The words of a tree as a text, and its phrases as spans.

    Returns:
        str, the words with spaces between them, and list of dict of begin and end, in
        characters, and label. A phrase is before those that lie in it. Tags of words
        are left out.
    """
    words, spans, size, left = [], [], 0, [(tree, None)]
    while left:
        node, span = left.pop()
        begin = size + bool(words)
        if span is not None:  # all words of the phrase have been read
            span["end"] = size
        elif is_leaf(node):
            words.append(node[1])
            size = begin + len(node[1])
        else:
            spans.append({"label": node[0], "begin": begin})
            left.append((node, spans[-1]))
            left.extend((child, None) for child in reversed(node[1:]))
    return " ".join(words), [span for span in spans if span["end"] > span["begin"]]


def read_trees(path, clean=True):
    """Reads the trees of a file.

    A tree may have several lines, and a line several trees. The words `-LRB-` and
    `-RRB-` become parentheses.

    Args:
        path: UTF-8 file of brackets, such as `wsj_0001.mrg`; plain, `.gz` or `.xz`.
        clean: bool, whether to apply `clean_tree`.

    Returns:
        list of trees.

    Raises:
        ValueError: if a bracket does not close, a word has no tag, text stands outside
            the trees, or there is no tree. The message names file and line.
    """
    path = local_path(path)
    with open_text(path) as file:
        trees = list(_parse(file, str(path)))
    if not trees:
        raise ValueError(f"A file of trees must have a tree. Received: none in {path}.")
    return [clean_tree(tree) for tree in trees] if clean else trees


def read_tree(text, clean=False):
    """Reads one tree, such as "(S (NP (DT The) (NN cat)) (VP (VBZ sits)))".

    Raises:
        ValueError: if the text is not exactly one tree.
    """
    trees = list(_parse(text.split("\n"), f"{text!r:.60}"))
    if len(trees) != 1:
        raise ValueError(
            f"A tree must be one bracket. Received: {len(trees)} in {text!r:.60}."
        )
    return clean_tree(trees[0]) if clean else trees[0]


def write_tree(tree):
    """Writes a tree in one line; the inverse of `read_tree`.

    Parentheses in words become `-LRB-` and `-RRB-`.

    Raises:
        ValueError: if a word, a tag or a label cannot be written.
    """
    pieces, left = [], [tree]
    while left:
        node = left.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif is_leaf(node):
            tag, word = node
            for character, escape in ESCAPES.items():
                word = word.replace(character, escape)
            pieces.append(f" ({_checked(tag)} {_checked(word)})")
        else:
            label = _checked(node[0]) if node[0] else ""
            pieces.append(f" ({label}")
            left.append(")")
            left.extend(reversed(node[1:]))
    return "".join(pieces)[1:]


def _checked(name):
    """A name or a word, without white space and parentheses."""
    if TOKENS.fullmatch(name) and name not in ESCAPES:
        return name
    raise ValueError(
        "A word, a tag or a label must have characters, and no white space or "
        f"parentheses. Received: {name!r}."
    )


def clean_tree(tree):
    """Removes what a parser does not predict.

    Traces (leaves with the tag `-NONE-`) are removed, and phrases without words. The
    function of a label is removed: `NP-SBJ-1` and `NP=2` become `NP`. Labels such as
    `-LRB-` do not change, nor does a phrase whose only child has its own label. The
    outer bracket, `TOP`, `ROOT`, `S1` or without a label, is removed if its only child
    is a phrase. Otherwise its label becomes `TOP`.

    Args:
        tree: a tree, see the module.

    Returns:
        A tree. A sentence without words is `("TOP",)`.
    """
    if is_leaf(tree):
        tree = (TOP, tree)
    children, open_phrases, left = [], [], [tree]
    while left:
        node = left.pop()
        if node is None:
            label, siblings = open_phrases.pop()
            if children:
                siblings.append((label, *children))
            children = siblings
        elif is_leaf(node):
            if node[0] != TRACE:
                children.append(node)
        else:
            open_phrases.append((_without_function(node[0]), children))
            children = []
            left.append(None)
            left.extend(reversed(node[1:]))
    tree = children[0] if children else (TOP,)
    while tree[0] in TOPS and len(tree) == 2 and not is_leaf(tree[1]):
        tree = tree[1]
    return (TOP, *tree[1:]) if tree[0] in TOPS else tree


def _without_function(label):
    """NP for NP-SBJ-1; a hyphen at the beginning belongs to the label."""
    return label[:1] + re.split("[-=]", label[1:], maxsplit=1)[0]


def _parse(lines, name):
    """Yields the trees in lines of text; `name` is where they are from."""
    stack, begin = [], 0
    for number, line in enumerate(lines, start=1):
        place = f"in line {number} of {name}"
        for match in TOKENS.finditer(line):
            token = match.group()
            if token == "(":
                begin = begin if stack else number
                stack.append([])
                continue
            if not stack:
                raise ValueError(
                    "Text must be inside the brackets of a tree. Received: "
                    f"{token!r:.60} {place}."
                )
            if token != ")":
                _add_name(stack[-1], token, place)
                continue
            tree = _close(stack.pop(), not stack, place)
            if stack:
                _add_child(stack[-1], tree, place)
            else:
                yield tree
    if stack:
        raise ValueError(
            "Every bracket of a tree must close. Received: a tree that begins in line "
            f"{begin} of {name} with {len(stack)} open brackets at the end."
        )


def _add_child(node, child, place):
    """Adds a phrase or a leaf to an open bracket, which may have no label."""
    if len(node) > 1:
        _check_tagged(isinstance(node[1], str), node[1], place)
    node += [child] if node else ["", child]


def _check_tagged(wrong, word, place):
    if wrong:
        raise ValueError(
            "Every word must have a bracket with its tag, such as `(NN cat)`. "
            f"Received: {word!r:.60} {place}."
        )


def _add_name(node, token, place):
    """Adds a label, a tag or a word to an open bracket."""
    _check_tagged(len(node) > 1, token, place)
    if node:
        for character, escape in ESCAPES.items():
            token = token.replace(escape, character)
    node.append(token)


def _close(node, outermost, place):
    """The tree of a bracket that closes."""
    if len(node) < 2 and not outermost:
        raise ValueError(
            "Every bracket must have a tag and a word, or a label and phrases. "
            f"Received: ({''.join(node)}) {place}."
        )
    return tuple(node) if node else (TOP,)
