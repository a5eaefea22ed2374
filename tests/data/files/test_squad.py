"""SQuAD's JSON in and out, good and bad."""

import gzip
import json

import pytest

from zoo.data import Answer, Question, read_squad, write_squad, write_squad_predictions

CONTEXT = "Zoë wrote it in 1999."
ANSWERS = [{"text": "Zoë", "answer_start": 0}, {"text": "1999", "answer_start": 16}]


def write(path, entries, context=CONTEXT, **more):
    """Writes a file of one paragraph."""
    paragraph = {"context": context, "qas": entries}
    content = {"version": "x", "data": [{"title": "T", "paragraphs": [paragraph]}]}
    path.write_text(json.dumps({**content, **more}), "utf-8-sig")
    return path


def entry(**changes):
    return {"id": "a", "question": "Who?", "answers": ANSWERS, **changes}


def test_questions_have_their_answers_or_none_or_unknown_ones(tmp_path):
    entries = [
        entry(),
        entry(id=2, is_impossible=True, plausible_answers=ANSWERS, answers=[]),
        {"id": "c", "question": ""},
        entry(id="d", is_impossible=True, answers=None),
    ]
    rows = read_squad(write(tmp_path / "a.json", entries))
    answers = (Answer("Zoë", 0), Answer("1999", 16))
    assert rows == [
        Question("a", "Who?", CONTEXT, answers, "T"),
        Question("2", "Who?", CONTEXT, (), "T"),
        Question("c", "", CONTEXT, None, "T"),
        Question("d", "Who?", CONTEXT, (), "T"),
    ]


def test_what_is_written_is_read_again(tmp_path):
    rows = read_squad(write(tmp_path / "a.json", [entry(), entry(id="b")]))
    rows += [Question("c", "Why?", "Other é.", (), "U"), Question("d", "", "", None)]
    write_squad(tmp_path / "b.json.gz", rows)
    assert read_squad(tmp_path / "b.json.gz") == rows
    with gzip.open(tmp_path / "b.json.gz", "rt") as file:
        articles = json.load(file)["data"]
    assert [len(article["paragraphs"]) for article in articles] == [1, 1, 1]
    assert len(articles[0]["paragraphs"][0]["qas"]) == 2
    write_squad_predictions(tmp_path / "p.json", rows, ["é", "", "x", ""])
    found = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert found == {"a": "é", "b": "", "c": "x", "d": ""}
    with pytest.raises(ValueError, match="Received: 1 texts for 4 questions"):
        write_squad_predictions(tmp_path / "q.json", rows, ["too few"])
    assert not (tmp_path / "q.json").exists()


def answered(*answers):
    return [entry(answers=[*answers])]


# Content of a file, or its entries, and the message.
REFUSED = [
    (answered({"text": "Zoë", "answer_start": 1}), "'Zoë' at 1 of question 'a'.*'oë '"),
    (answered({"text": "1999", "answer_start": 90}), "'1999' at 90.*of 21 characters"),
    (answered({"text": ".", "answer_start": -1}), "'.' at -1"),
    (answered({"text": "", "answer_start": 3}), "'' at 3"),
    (answered({"text": "Zoë"}), "`answer_start`. Received: {'text': 'Zoë'} of .*'a'"),
    (answered({"answer_start": 0}), "no text 'text'"),
    (answered("Zoë"), "`answer_start`. Received: 'Zoë'"),
    ([entry(is_impossible=True)], "must not be impossible. Received: both of .*'a'"),
    ([entry(is_impossible="false")], "true or false. Received: .*'false' of .*'a'"),
    ([entry(answers=5)], "must be a list, .*5 and False of question 'a'"),
    ([entry(question="\ud83d")], "complete JSON file. Received: .*surrogates"),
    ([entry(), entry()], "id of its own. Received: 'a' twice"),
    ([{}], "no text 'id'"),
    ([{"id": 1}], "no text 'question'"),
    ([{"id": True}], "no text 'id'"),
    ("[", "complete JSON file"),
    ("[" * 100_000, "complete JSON file"),
    ('{"data": 1' + "0" * 5000 + "}", "a.json must be a complete JSON file"),
    ("[]", "no list 'data' in"),
    ('{"data": [3]}', "no list 'paragraphs' in 3"),
    ('{"data": [{"paragraphs": [{"qas": [{}]}]}]}', "no text 'context'"),
    ('{"data": [{"paragraphs": [{"context": ""}]}]}', "no list 'qas'"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_wrong_files_are_refused(tmp_path, content, message):
    path = tmp_path / "a.json"
    if isinstance(content, str):
        path.write_text(content)
    else:
        write(path, content)
    with pytest.raises(ValueError, match=message):
        read_squad(path)


def test_wrong_questions_are_not_written(tmp_path):
    path = tmp_path / "e.json"
    twice = [Question("a", "how", "it"), Question("a", "who", "it")]
    for write_file in (write_squad, lambda *a: write_squad_predictions(*a, ["x", "y"])):
        with pytest.raises(ValueError, match="id of its own. Received: 'a' twice"):
            write_file(path, twice)
    wrong = Question("a", "how", "it", (Answer("is", 0),))
    with pytest.raises(ValueError, match="Received: 'is' at 0 of question 'a'"):
        write_squad(path, [wrong])
    assert not path.exists()
