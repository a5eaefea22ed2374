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


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([{"text": "Zoë", "answer_start": 1}], "'Zoë' at 1 of question 'a'.*'oë '"),
        ([{"text": "1999", "answer_start": 90}], "'1999' at 90.*of 21 characters"),
        ([{"text": ".", "answer_start": -1}], "'.' at -1"),
        ([{"text": "", "answer_start": 3}], "'' at 3"),
        (
            [{"text": "Zoë"}],
            "`answer_start`. Received: {'text': 'Zoë'} of question 'a'",
        ),
        ([{"answer_start": 0}], "no text 'text'"),
        (["Zoë"], "`answer_start`. Received: 'Zoë'"),
    ],
)
def test_wrong_answers_are_named(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        read_squad(write(tmp_path / "a.json", [entry(answers=wrong)]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"is_impossible": True}, "must not be impossible. Received: both of .*'a'"),
        ({"is_impossible": "false"}, "true or false. Received: .*'false' of .*'a'"),
        ({"answers": 5}, "must be a list, .*5 and False of question 'a'"),
        ({"question": "\ud83d"}, "complete JSON file. Received: .*surrogates"),
    ],
)
def test_wrong_entries_are_named(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read_squad(write(tmp_path / "a.json", [entry(**changes)]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "complete JSON file"),
        ("[" * 100_000, "complete JSON file"),
        ('{"data": 1' + "0" * 5000 + "}", "a.json must be a complete JSON file"),
        ("[]", "no list 'data' in"),
        ('{"data": [3]}', "no list 'paragraphs' in 3"),
        ('{"data": [{"paragraphs": [{"qas": [{}]}]}]}', "no text 'context'"),
        ('{"data": [{"paragraphs": [{"context": ""}]}]}', "no list 'qas'"),
        ('{"data": [{"paragraphs": [{"context": "", "qas": [{}]}]}]}', "no text 'id'"),
        (
            '{"data": [{"paragraphs": [{"context": "", "qas": [{"id": 1}]}]}]}',
            "no text 'question'",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "", "qas": [{"id": true}]}]}]}',
            "no text 'id'",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_squad(tmp_path / "a.json")


def test_an_id_occurs_once_and_a_file_is_whole(tmp_path):
    with pytest.raises(ValueError, match="id of its own. Received: 'a' twice"):
        read_squad(write(tmp_path / "a.json", [entry(), entry()]))
    whole = gzip.compress(b'{"data": []}' * 100)
    (tmp_path / "b.json.gz").write_bytes(whole[:-9])
    with pytest.raises(ValueError, match=r"b.json.gz must be a complete file of text"):
        read_squad(tmp_path / "b.json.gz")
    (tmp_path / "c.json").write_bytes(b'{"data": "\xff"}')
    with pytest.raises(ValueError, match="complete file of text"):
        read_squad(tmp_path / "c.json")
    with pytest.raises(FileNotFoundError, match="d.json"):
        read_squad(tmp_path / "d.json")
    twice = [Question("a", "how", "it"), Question("a", "who", "it")]
    with pytest.raises(ValueError, match="id of its own. Received: 'a' twice"):
        write_squad_predictions(tmp_path / "e.json", twice, ["x", "y"])
    with pytest.raises(ValueError, match="id of its own. Received: 'a' twice"):
        write_squad(tmp_path / "e.json", twice)
    wrong = Question("a", "how", "it", (Answer("is", 0),))
    with pytest.raises(ValueError, match="Received: 'is' at 0 of question 'a'"):
        write_squad(tmp_path / "e.json", [wrong])
    assert not (tmp_path / "e.json").exists()
