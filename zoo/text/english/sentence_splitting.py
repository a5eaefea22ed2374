"""Splits texts into sentences, inside the TensorFlow graph."""

import tensorflow as tf

from zoo.text.white_space import SPACES, strip

MARK = "\x1e"  # stands between the parts; in a text, it is white space
LINE_ENDS = "\n\x0b\x0c\x85\u2028\u2029"
OTHER_SPACES = f"[{''.join(sorted({*SPACES} - {*LINE_ENDS, MARK}))}]"
GAP = f"({OTHER_SPACES}+)"
LINE_END = f"{OTHER_SPACES}*[{LINE_ENDS}]{OTHER_SPACES}*"
# Between paragraphs, and before a line that does not continue a sentence.
BLANK_LINE = f"({LINE_END}(?:{LINE_END})+)"
NEW_LINE = rf"({LINE_END})([^\p{{Ll}}{SPACES}])"
# What ends a sentence, the space after it, and how the next one begins.
END = rf"""([.!?…]+["'”’»)\]]*){GAP}(["'“‘«(\[_¿¡]*[\p{{Lu}}\p{{Nd}}])"""
# A full stop after one of these does not end a sentence. "I" is rarely an initial.
ABBREVIATION = (
    r"\b([A-HJ-Z]|Mrs?|Ms|Mme|Mlle|Messrs|Drs?|St|Prof|Rev|Hon|Capt|Col|Gen|Lt|Sergt|"
    r"Sgt|Maj|Esq|Jr|Sr|vs|viz|cf|e\.g|i\.e)\."
)
# Nor after one of these if a number follows.
NUMBERED = r"\b([Nn]os?|[Vv]ol|[Cc]hap|[Ff]ig|pp?)\."
# Nor after the number of an item of a list.
ITEM = rf"(^|{MARK})(\p{{Nd}}{{1,3}})\."


def split_into_sentences(texts):
    """Splits texts into sentences by a rule.

    A sentence ends after `.`, `!`, `?` or `…` and closing quotes, if white space and a
    capital letter or a digit follow. A full stop after a known abbreviation, an initial
    or the number of an item does not end a sentence. A blank line ends a sentence, and
    so does a line end unless the next line begins with a small letter.

    Args:
        texts: string (B,).

    Returns:
        sentences: tf.RaggedTensor string (B, None), at least one of each text. That of
            a text without words is empty.
        separators: tf.RaggedTensor string of the same shape, the white space after each
            sentence. Sentences and separators together are the text, without white
            space at both ends.
    """
    marked = tf.strings.regex_replace(strip(texts), MARK, " ")
    for pattern, rewritten in (
        (BLANK_LINE, rf"{MARK}\1{MARK}"),
        (NEW_LINE, rf"{MARK}\1{MARK}\2"),
        (END, rf"\1{MARK}\2{MARK}\3"),
        (rf"{ABBREVIATION}{MARK}{GAP}{MARK}", r"\1.\2"),
        (rf"{NUMBERED}{MARK}{GAP}{MARK}(\p{{Nd}})", r"\1.\2\3"),
        (rf"{ITEM}{MARK}{GAP}{MARK}", r"\1\2.\3"),
    ):
        marked = tf.strings.regex_replace(marked, pattern, rewritten)
    parts = tf.strings.split(marked + MARK, MARK)
    return parts[:, ::2], parts[:, 1::2]
