"""Questions with their contexts and answers, in the JSON of SQuAD."""

import collections
import dataclasses
import json
from typing import NamedTuple

from zoo.files.buckets import local_path
from zoo.files.whole_files import open_any, open_text, replacing


class Answer(NamedTuple):
    """A part of a context.

    Args:
        text: str.
        begin: int, the position of its first character in the context.
    """

    text: str
    begin: int


@dataclasses.dataclass(frozen=True)
class Question:
    """A question about a text.

    Args:
        id: str.
        question: str.
        context: str, the text.
        answers: tuple of `Answer`, the true ones; () if the context does not answer the
            question; None if they are unknown.
        title: str, of the article.
    """

    id: str
    question: str
    context: str
    answers: tuple | None = None
    title: str = ""


def read_squad(path):
    """Reads questions, contexts and answers from a JSON file of SQuAD 1.1 or 2.0.

    A question without answers is one without a true answer if the file says
    `"is_impossible": true`. Otherwise its answers are unknown.

    Source: Rajpurkar et al. 2016; Rajpurkar et al. 2018.

    Args:
        path: str or path, a UTF-8 file, plain, `.gz` or `.xz`.

    Returns:
        list of `Question`, which `zoo.QuestionAnswerer.fit` takes.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged or not in this form, an id occurs twice, or
            an answer is not in its context at the given place. The message names the
            question.
    """
    path = local_path(path)
    with open_text(path) as file:
        text = file.read()
    try:
        content = json.loads(text)
        json.dumps(content, ensure_ascii=False).encode()  # no half of a surrogate pair
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} must be a complete JSON file. Received: {error}."
        ) from error
    found = {}
    for article in _value(content, "data", list, path):
        title = article.get("title", "") if isinstance(article, dict) else ""
        for paragraph in _value(article, "paragraphs", list, path):
            for entry in _value(paragraph, "qas", list, path):
                question = _question(
                    entry, _value(paragraph, "context", str, path), path
                )
                if question.id in found:
                    raise ValueError(
                        f"Every question of {path} must have an id of its own. "
                        f"Received: {question.id!r} twice."
                    )
                found[question.id] = dataclasses.replace(
                    question, title=str(title or "")
                )
    return list(found.values())


def check_answers(question, place):
    """Raises ValueError, naming `place`, if an answer is not in its context."""
    for text, begin in question.answers or ():
        end = begin + len(text)
        if not text or begin < 0 or question.context[begin:end] != text:
            raise ValueError(
                "An answer must be a part of its context, and begin at the given "
                f"character. Received: {text!r:.60} at {begin} {place}, where a "
                f"context of {len(question.context)} characters has "
                f"{question.context[max(begin, 0) : max(end, 0)]!r:.60}."
            )


def write_squad(path, questions):
    """Writes questions in the JSON of SQuAD 2.0, which `read_squad` reads.

    Questions with the same title and context that follow each other share them.

    Args:
        path: str or path of the file.
        questions: list of `Question`.

    Raises:
        ValueError: if an id occurs twice, or an answer is not in its context.
    """
    articles = []
    _check_ids(questions)
    for question in questions:
        check_answers(question, f"of question {question.id!r}")
        if not articles or articles[-1]["title"] != question.title:
            articles.append({"title": question.title, "paragraphs": []})
        paragraphs = articles[-1]["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != question.context:
            paragraphs.append({"context": question.context, "qas": []})
        entry = {"id": question.id, "question": question.question}
        if question.answers is not None:
            entry["answers"] = [
                {"text": text, "answer_start": begin}
                for text, begin in question.answers
            ]
            entry["is_impossible"] = not question.answers
        paragraphs[-1]["qas"].append(entry)
    _write_json(path, {"version": "v2.0", "data": articles})


def write_squad_predictions(path, questions, texts):
    """Writes the predictions that SQuAD's official scorer reads.

    Args:
        path: str or path of the file.
        questions: list of `Question`.
        texts: list of str, the answer to each; "" for no answer.

    Raises:
        ValueError: if an id occurs twice, or there is not one text for each question.
    """
    ids = _check_ids(questions)
    if len(texts) != len(ids):
        raise ValueError(
            "`texts` must have one text for each question. Received: "
            f"{len(texts)} texts for {len(ids)} questions."
        )
    _write_json(path, dict(zip(ids, map(str, texts), strict=True)))


def _check_ids(questions):
    """The ids of the questions, a list, all different."""
    ids = [question.id for question in questions]
    if len({*ids}) < len(ids):
        (twice, _), *_ = collections.Counter(ids).most_common(1)
        raise ValueError(
            f"Every question must have an id of its own. Received: {twice!r} twice."
        )
    return ids


def _write_json(path, content):
    text = json.dumps(content, ensure_ascii=False)
    with replacing(path) as temporary:
        with open_any(temporary, "wt", encoding="utf-8") as file:
            file.write(f"{text}\n")


def _value(parent, key, kind, path):
    """The value at a key, of a type, list or str."""
    value = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(value, kind):
        name = {list: "list", str: "text"}[kind]
        raise ValueError(
            f"{path} must have the form of SQuAD: data, paragraphs, qas. Received: no "
            f"{name} {key!r} in {parent!r:.80}."
        )
    return value


def _question(entry, context, path):
    """A `Question` from one entry of "qas"."""
    if isinstance(entry, dict) and type(entry.get("id")) is int:
        entry = {**entry, "id": str(entry["id"])}
    id, text = _value(entry, "id", str, path), _value(entry, "question", str, path)
    impossible, answers = entry.get("is_impossible", False), None
    given = entry.get("answers") or []
    if not isinstance(given, list) or not isinstance(impossible, bool):
        raise ValueError(
            "`answers` must be a list, and `is_impossible` true or false. Received: "
            f"{given!r:.60} and {impossible!r:.60} of question {id!r} in {path}."
        )
    if impossible and given:
        raise ValueError(
            "A question with answers must not be impossible. Received: both of "
            f"question {id!r} in {path}."
        )
    if impossible:
        answers = ()
    elif given:
        answers = tuple(_answer(answer, id, path) for answer in given)
    question = Question(id, text, context, answers)
    check_answers(question, f"of question {id!r} in {path}")
    return question


def _answer(given, id, path):
    """An `Answer` from its entry."""
    begin = given.get("answer_start") if isinstance(given, dict) else None
    if type(begin) is not int:
        raise ValueError(
            "An answer must have a text and the number of its first character, "
            f"`answer_start`. Received: {given!r:.80} of question {id!r} in {path}."
        )
    return Answer(_value(given, "text", str, path), begin)
