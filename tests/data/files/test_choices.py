"""Files of choices: the layouts of SWAG and CODAH, tables like them, and wrong ones."""

import json

import pytest

from zoo.data import read_choices

SWAG = """,video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,label
0,v,1,A man sits. He,A man sits.,He,gold,"stands, and goes",eats it,1
1,v,2,B. She,B.,She,gold,x,y,0
"""


def test_layout_of_swag(tmp_path):
    (tmp_path / "train.csv").write_text(SWAG)
    choices = ["He stands, and goes", "She x"], ["He eats it", "She y"]
    expected = (["A man sits.", "B."], *choices), [1, 0]
    assert read_choices(tmp_path / "train.csv") == expected


def test_layout_of_codah(tmp_path):
    path = tmp_path / "full.tsv"
    path.write_text('o\tThe "boy\tsat\tran\té\t2\ni\tA\tb\tc\td\t0\n')
    texts = ['The "boy', "A"], ["sat", "b"], ["ran", "c"], ["é", "d"]
    assert read_choices(path) == (texts, [2, 0])
    path.write_text("q\thow many\t1\t2\t3\t4\t1\n")
    assert read_choices(path) == ((["how many"], ["1"], ["2"], ["3"], ["4"]), [1])


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (("Choice_1", "Choice_2", "Prompt", "Label"), 2),
        (("ctx", "ending 0", "ending 1", "gold"), 0),
        (("question", "answer1", "answer0", "answer"), 0),
    ],
)
def test_tables_with_names(tmp_path, names, first):
    row = {name: f"t{place}" for place, name in enumerate(names)}
    row[names[-1]] = 1
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, [row, {**row, names[-1]: "0"}])))
    texts, labels = read_choices(path)
    assert labels == [1, 0] and texts[0] == [f"t{first}"] * 2
    choices = sorted(name for name in names if name[-1].isdigit())
    assert [column[0] for column in texts[1:]] == [row[name] for name in choices]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("o\tA\tb\t\t0\no\tA\tb\t\t\t0\n", "as many columns as the first, 5.* line 2"),
        ("o\tA\tb\tc\t2\n", "must be 0 to 1. Received: '2' in line 1"),
        ("o\tA\tb\tc\t-1\n", "must be 0 to 1. Received: '-1'"),
        ("A\tb\tc\t0\n", "two or more choices.*4 columns in the first line"),
        ("text\tchoice_0\tchoice_1\tlabel\n", "only a header"),
        ("text\tchoice_0\tlabel\nA\tb\t0\n", "choices with numbers such as"),
        ("text\tchoice_0\tchoice_2\tlabel\nA\tb\tc\t0\n", "Received: .'text'"),
        ("choice_0\tchoice_1\tlabel\nA\tb\t0\n", "columns of a text"),
        ("text\tchoice_0\tchoice_1\tchoice 1\tlabel\nA\tb\tc\td\t0\n", "numbers such"),
        ("\n", "must have rows"),
    ],
)
def test_wrong_files(tmp_path, content, message):
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_choices(tmp_path / "a.tsv")


def test_choices_of_unequal_number_in_json(tmp_path):
    row = {"text": "a", "choice_0": "b", "label": 0}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{**row, "choice_1": "c"}, row]))
    message = "None in object 2, column 'choice_1'"
    with pytest.raises(ValueError, match=message):
        read_choices(path)


def test_a_question_follows_its_context(tmp_path):
    path = tmp_path / "a.jsonl"
    row = {"context": "A man sat.", "question": "Why?", "answer0": "b", "answer1": "c"}
    path.write_text(json.dumps({**row, "label": 1}))
    assert read_choices(path) == ((["A man sat. Why?"], ["b"], ["c"]), [1])
    row = {"premise": "It fell.", "choice1": "b", "choice2": "c", "question": "cause"}
    path.write_text(json.dumps({**row, "label": 0}))
    assert read_choices(path) == ((["It fell. cause"], ["b"], ["c"]), [0])
    path.write_text(json.dumps({**row, "label": 0, "text": "x"}))
    with pytest.raises(ValueError, match="one column of texts. Received: text, prem"):
        read_choices(path)
