"""Texts at which a generated text ends, found inside the graph.

They are given as two expressions of RE2, from `stop_patterns`, each a str or a string
scalar of a graph that serves all of them.
"""

import tensorflow as tf

from zoo.generation import change_if


def stop_patterns(stops):
    """Expressions for a stop text and for the beginning of one; "" for none."""
    parts = {stop[:length] for stop in stops for length in range(1, len(stop))}
    return _any(stops), _any(sorted(parts))


def stop_finder(tokenizer, options):
    """A function that says which sequences end, see `zoo.generation.generate`.

    `options.stop` is a tuple of str, or the patterns as a tensor.
    """
    active, patterns = _patterns_of(options)
    if active is False:
        return None

    def ended(tokens, number):
        def find(_):
            known = tf.range(tf.shape(tokens)[1])[None] <= number
            read = tf.where(known, tokens, tokenizer.end_id)
            pattern = _join("(?s).*", patterns[0], ".*")
            texts = tokenizer.detokenize(read)
            return tf.strings.regex_full_match(texts, pattern)

        return change_if(active, find, tf.zeros(tf.shape(tokens)[:1], tf.bool))

    return ended


def trim_texts(texts, options, done=None):
    """What stands before the first stop text, string (B,).

    Where `done`, bool (B,), is false, an end that may become a stop text is left out,
    too.
    """
    active, patterns = _patterns_of(options)

    def trim(texts):
        pattern = _join("(?s)", patterns[0], ".*")
        trimmed = tf.strings.regex_replace(texts, pattern, "", False)
        if done is None:
            return trimmed
        # Without such an end, the expression matches the empty end.
        pattern = _join("(?:", patterns[1], r")\z")
        certain = tf.strings.regex_replace(trimmed, pattern, "", False)
        return tf.where(done, trimmed, certain)

    return change_if(active, trim, texts)


def _patterns_of(options):
    """Whether there are texts at which a sequence ends, and their two patterns."""
    stop = options.stop
    if isinstance(stop, tuple):
        return bool(stop), stop_patterns(stop)
    return tf.strings.length(stop[0]) > 0, (stop[0], stop[1])


def _join(*parts):
    """One expression of several, a str if none of them is a tensor."""
    plain = all(isinstance(part, str) for part in parts)
    return "".join(parts) if plain else tf.strings.join(parts)


def _any(texts):
    """An expression that matches one of some texts."""
    return f"(?:{'|'.join(map(_escape, texts))})" if texts else ""


def _escape(text):
    """An expression that matches a text."""
    return "".join(rf"\x{{{ord(character):x}}}" for character in text)
