"""The true answers to questions, as a user gives them."""

import operator

from zoo.data import Answer


def answer_texts(answers):
    """The texts of `Answer`s, list of str."""
    return [text for text, _ in answers]


def answer_list(answers, row):
    """The answers to one question as a list of `Answer`.

    `answers` are `Answer` or pairs of text and position, or one of them. Raises
    ValueError, which names the row, if they are something else.
    """
    if isinstance(answers, tuple) and len(answers) == 2 and isinstance(answers[0], str):
        answers = [answers]
    try:
        found = [Answer(text, operator.index(begin)) for text, begin in answers]
    except (TypeError, ValueError):
        found = None
    if found is None or not all(isinstance(text, str) for text, _ in found):
        raise ValueError(
            "`y` must have the answers to every question: a list of pairs of a text "
            "and the position of its first character; [] if the context does not "
            f"answer the question. Received: {answers!r:.80} in row {row}. Leave out "
            "questions whose answers are unknown."
        )
    return found


def answers_at(contexts, places):
    """Answers at positions int (B, 2); [] for no answer."""
    return [
        [] if begin < 0 else [(context[begin:end], begin)]
        for context, (begin, end) in zip(contexts, places.tolist(), strict=True)
    ]
