"""Linear trees inside the TensorFlow graph: which token may follow, and their text."""

import numpy as np
import tensorflow as tf

from zoo.text.parsing.linear_trees import (
    NUMBERED,
    NUMBERS,
    UNKNOWN_TAG,
    find_labels,
    read_token,
)
from zoo.text.parsing.trees import ESCAPES, TOP

LOWEST_SCORE = -1e9  # the score of a token that may not follow


class TreeGrammar:
    """Follows rows of tokens of linear trees.

    A state has the rows R of tokens with T places: `open` int32 (R, T), the number of
    the label of a phrase that was opened at a place and is still open, else -1;
    `filled` bool (R, T), whether that phrase has a leaf; `place` int32 (R,), tokens
    read; `words` int32 (R,), words without a leaf; `leaves` int32 (R,), words with one;
    `limit` int32 (R,), the most tokens; and `numbered` bool (R,), whether the last
    token is the number of a leaf.

    Args:
        tokens: tuple of str, the tokens by their ids.
        kind: str, see `zoo.text.linearize`.
        specials: collection of int, ids of tokens that do nothing.
        end: int, one of them, the end of a tree.

    Raises:
        ValueError: if no token is a leaf, or numbers are missing that `kind` needs.
    """

    def __init__(self, tokens, kind, specials, end):
        labels = sorted(find_labels(tokens, kind))
        label_ids = {label: number for number, label in enumerate(labels)}
        size = len(tokens)
        self.opens, self.closes, self.numbers = np.full((3, size), -1, "int32")
        self.leaves = np.zeros(size, bool)
        self.end = end
        self.names = []
        for place, token in enumerate(tokens):
            action, name = read_token(token, kind, label_ids)
            self.names.append(name)
            if place in specials:
                continue
            if action == "leaf":
                self.leaves[place] = True
            elif action == "number":
                self.numbers[place] = NUMBERS.index(name)
            else:
                table = self.opens if action == "open" else self.closes
                table[place] = label_ids[name]
        if not self.leaves.any():
            raise ValueError(
                "`target_tokens` must have the tag of a leaf. Received: "
                f"{', '.join(tokens):.60}."
            )
        self.has_numbers = kind == NUMBERED
        if self.has_numbers and not {*NUMBERS} <= {*tokens}:
            raise ValueError(
                f"`target_tokens` must have all numbers from {NUMBERS[0]} to "
                f"{NUMBERS[-1]}. Received: {', '.join(tokens):.60}."
            )

    def start(self, words, limits):
        """The state before the first token; the arguments are int32 (R,)."""
        longest = tf.reduce_max(tf.concat([limits, [0]], axis=0))
        shape = tf.stack([tf.shape(words)[0], longest])
        return {
            "open": tf.fill(shape, -1),
            "filled": tf.zeros(shape, tf.bool),
            "place": tf.zeros_like(words),
            "words": words,
            "leaves": tf.zeros_like(words),
            "limit": limits,
            "numbered": tf.zeros_like(words, tf.bool),
        }

    def advance(self, state, tokens):
        """The state after tokens (R,), and the phrases that each one closes."""
        places = tf.range(tf.shape(state["open"])[1])[None]
        still = state["open"] >= 0
        opens, closes = (
            tf.gather(t, tokens)[:, None] for t in (self.opens, self.closes)
        )
        leaf = tf.gather(self.leaves, tokens) & (state["words"] > 0)
        begins = (opens >= 0) & (places == state["place"][:, None])
        same = (closes >= 0) & (state["open"] == closes)
        last = tf.reduce_max(tf.where(same, places, -1), axis=1, keepdims=True)
        closed = (last >= 0) & (places >= last) & still
        state = {
            **state,
            "open": tf.where(begins, opens, tf.where(closed, -1, state["open"])),
            "filled": state["filled"] | (leaf[:, None] & still),
            "place": state["place"] + 1,
            "words": state["words"] - tf.cast(leaf, tf.int32),
            "leaves": state["leaves"] + tf.cast(leaf, tf.int32),
            "numbered": tf.gather(self.numbers, tokens) >= 0,
        }
        return state, _count(closed & state["filled"])

    def allowed(self, state):
        """Whether a token may follow, bool (R, V)."""
        # Every sequence that ends is the linear form of a tree over all words. A phrase
        # opens only while the other words, the closing tokens and the end fit into the
        # limit. If even the words do not fit, all tokens are leaves, and their numbers.
        still, words = state["open"] >= 0, state["words"]
        depth = _count(still)
        places = tf.range(tf.shape(still)[1])[None]
        top = tf.reduce_max(tf.where(still, places, -1), axis=1)
        index = tf.maximum(top, 0)
        label = tf.where(top >= 0, tf.gather(state["open"], index, batch_dims=1), -2)
        filled = tf.gather(state["filled"], index, batch_dims=1) & (top >= 0)
        needed = words * (1 + self.has_numbers) + depth + 1
        spare = state["limit"] - state["place"] - needed
        ends = np.arange(len(self.leaves)) == self.end
        # A phrase without words is open only if a token was not allowed.
        done = (words == 0) & ~filled
        more, numbered = (words > 0)[:, None], state["numbered"][:, None]
        follows = (
            ((self.opens >= 0) & more & (spare > 1)[:, None])
            | ((self.closes == label[:, None]) & filled[:, None])
            | (ends & done[:, None])
        )
        if not self.has_numbers:
            return follows | (self.leaves & more)
        next_number = self.numbers == (state["leaves"] % len(NUMBERS))[:, None]
        follows |= next_number & more
        return tf.where(numbered, self.leaves & more, follows)

    def constrain(self, step, states, words, limits):
        """Limits a step of a generation, and its states, to tokens that may follow."""

        def constrained(tokens, states):
            logits, after = step(tokens, states)
            state = self.advance(states["grammar"], tokens[:, 0])[0]
            logits = tf.where(self.allowed(state), logits, LOWEST_SCORE)
            return logits, {**after, "grammar": state}

        first = self.start(words, limits)
        # The token that a model reads first is no part of the tree.
        first["place"] -= 1
        return constrained, {**states, "grammar": first}

    def write(self, tokens, words):
        """The bracketed texts, string (R,), of trees that `zoo.text.to_tree` makes."""
        inside = tf.cumsum(tf.cast(tokens == self.end, tf.int32), axis=1) == 0
        tokens = tf.where(inside, tokens, self.end)
        count = tf.cast(words.row_lengths(), tf.int32)
        longest = tf.reduce_max(_count(inside))
        state, closed, outer = self._follow(tokens, count, longest)
        filled = state["filled"]
        leaf = tf.gather(self.leaves, tokens)
        number = tf.cumsum(tf.cast(leaf, tf.int32), axis=1, exclusive=True)
        leaf &= number < count[:, None]
        words = tf.pad(_escape(words).to_tensor(), [[0, 0], [0, 1]])
        leaf_words = tf.gather(words, tf.minimum(number, count[:, None]), batch_dims=1)
        names = tf.gather(tf.constant(self.names), tokens)
        pieces = tf.where(filled, tf.strings.join([" (", names]), _closing(closed))
        pieces = tf.where(leaf, _leaf(names, leaf_words), pieces)
        places = tf.range(tf.shape(words)[1])[None]
        used = count - state["words"]
        missing = (places >= used[:, None]) & (places < count[:, None])
        text = [
            tf.strings.reduce_join(pieces, axis=1),
            _closing(_count(filled & (state["open"] >= 0))),
            tf.strings.reduce_join(
                tf.where(missing, _leaf(UNKNOWN_TAG, words), ""), axis=1
            ),
        ]
        roots = _count(outer & (leaf | filled)) + state["words"]
        alone = (roots == 1) & tf.reduce_any(outer & filled, axis=1)
        whole = tf.strings.join([f"({TOP}", *text, ")"])
        return tf.where(alone, tf.strings.strip(tf.strings.join(text)), whole)

    def _follow(self, tokens, count, longest):
        """Reads rows of tokens (R, T) with `count` (R,) words, up to `longest` tokens.

        Returns the last state; int32 (R, T), the phrases with a leaf that each token
        closes; and bool (R, T), whether no phrase is open before it.
        """
        places = tf.range(tf.shape(tokens)[1])[None]

        def read(place, state, closed, outer):
            here = places == place
            alone = ~tf.reduce_any(state["open"] >= 0, axis=1, keepdims=True)
            state, many = self.advance(state, tokens[:, place])
            closed = tf.where(here, many[:, None], closed)
            return place + 1, state, closed, outer | (here & alone)

        loop = (
            tf.constant(0),
            self.start(count, tf.fill(tf.shape(count), tf.shape(tokens)[1])),
            tf.zeros_like(tokens),
            tf.zeros_like(tokens, tf.bool),
        )
        return tf.while_loop(lambda place, *_: place < longest, read, loop)[1:]


def _count(values):
    """How many values of each row are true, int32 (R,)."""
    return tf.reduce_sum(tf.cast(values, tf.int32), axis=1)


def _closing(counts):
    """So many closing brackets, string of the shape of `counts`."""
    most = tf.reduce_max(tf.pad(tf.reshape(counts, [-1]), [[0, 1]]))
    lengths = tf.range(most + 1)
    whole = tf.strings.reduce_join(tf.fill([most], ")"))
    table = tf.strings.substr(tf.fill([most + 1], whole), 0 * lengths, lengths)
    return tf.gather(table, counts)


def _leaf(tags, words):
    """Leaves as text, with a space before them."""
    return tf.strings.join([" (", tags, " ", words, ")"])


def _escape(words):
    """Ragged words without parentheses."""
    flat = words.values
    for character, escape in ESCAPES.items():
        flat = tf.strings.regex_replace(flat, rf"\{character}", escape)
    return words.with_values(flat)
