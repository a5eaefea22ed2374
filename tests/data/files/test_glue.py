"""GLUE's files: made-up ones in the tasks' layouts, and the real ones."""

import gzip
import lzma

import pytest

from zoo.data.files.glue import read_glue

NLI = "index\tsentence1\tsentence2\tlabel\n"
FILES = {
    "CoLA/train.tsv": 'a1\t1\t\tHe said "no.\na1\t0\t*\t "Said" he\'s no. \n',
    "CoLA/test.tsv": "index\tsentence\n0\tWho?\n",
    "SST-2/dev.tsv": "sentence\tlabel\nso \u2028\r good \t1\n\x85bad\t0",
    "MRPC/train.tsv": (
        "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
        '1\t7\t8\tHe " went .\tHe left .\r\n'
    ),
    "QQP/dev.tsv": (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        "1\t2\t3\tWhy?\tWhat for?\t1\n4\t5\tbroken\n6\t7\t8\tA?\tB?\t0\n"
    ),
    "STS-B/dev.tsv": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\t"
        "sentence2\tscore\n0\tg\tf\t2012\t1\tn\tn\tA.\tB.\t4.750\n"
    ),
    "MNLI/dev_matched.tsv": (
        "index\tsentence1\tsentence2\tlabel1\tgold_label\n"
        "0\tA.\tB.\tentailment\tneutral\n"
    ),
    "QNLI/dev.tsv": "index\tquestion\tsentence\tlabel\n0\tA?\tB.\tnot_entailment\n",
    "RTE/dev.tsv": NLI + "0\tA.\tB.\tentailment\n",
    "WNLI/dev.tsv": NLI + "0\tA.\tB.\t1\n1\tC.\tD.\t0\n",
    "WNLI/train.tsv": NLI,
    "diagnostic/labelled.tsv": NLI + "0\tA.\tB.\tcontradiction\n",
    "diagnostic/diagnostic.tsv": "index\tsentence1\tsentence2\n0\tA.\tB.\n",
}


@pytest.fixture
def glue(tmp_path):
    """A directory of tiny tasks."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content.encode())
    return tmp_path


@pytest.mark.parametrize(
    "task, split, texts, labels",
    [
        ("cola", "train", ['He said "no.', ' "Said" he\'s no. '], [1, 0]),
        ("cola", "test", ["Who?"], None),
        ("sst2", "dev", ["so \u2028\r good ", "\x85bad"], [1, 0]),
        ("mrpc", "train", (['He " went .'], ["He left ."]), [1]),
        ("qqp", "dev", (["Why?", "A?"], ["What for?", "B?"]), [1, 0]),
        ("stsb", "dev", (["A."], ["B."]), [4.75]),
        ("mnli", "dev_matched", (["A."], ["B."]), ["neutral"]),
        ("qnli", "dev", (["A?"], ["B."]), ["not_entailment"]),
        ("rte", "dev", (["A."], ["B."]), ["entailment"]),
        ("wnli", "dev", (["A.", "C."], ["B.", "D."]), [1, 0]),
        ("wnli", "train", ([], []), []),
        ("ax", "labelled", (["A."], ["B."]), ["contradiction"]),
        ("ax", "diagnostic", (["A."], ["B."]), None),
    ],
)
def test_every_layout(glue, task, split, texts, labels):
    assert read_glue(glue, task, split) == (texts, labels)


@pytest.mark.parametrize("module, suffix", [(gzip, "gz"), (lzma, "xz")])
def test_compressed_files_are_read(glue, module, suffix):
    data = module.compress((glue / "RTE/dev.tsv").read_bytes())
    (glue / f"RTE/train.tsv.{suffix}").write_bytes(data)
    assert read_glue(glue, "rte", "train") == read_glue(glue, "rte", "dev")


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("CoLA/dev.tsv", "a\t1\t\tA.\na\t1\tB.\n", "4 columns. Received: 3 in row 2"),
        ("CoLA/dev.tsv", "a\tyes\t\tA.\n", "must be of type int. invalid literal"),
        ("CoLA/dev.tsv", "a\t1\t\tA.\tB.\n", "4 columns. Received: 5 in row 1"),
        ("CoLA/test.tsv", "", r"must have the columns sentence. Received: \[\]"),
        ("CoLA/test.tsv", "A.\n", r"columns sentence. Received: \['A.'\]"),
    ],
)
def test_damaged_files_are_refused(glue, name, content, message):
    (glue / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_glue(glue, "cola", name.split("/")[1].removesuffix(".tsv"))


def test_errors_name_what_is_missing(glue):
    message = "`task` must be one of .*'ax', 'cola'.* 'sst'"
    with pytest.raises(ValueError, match=message):
        read_glue(glue, "sst", "train")
    message = r"no dev.tsv .* contains \['train.tsv'\]"
    with pytest.raises(FileNotFoundError, match=message):
        read_glue(glue, "mrpc", "dev")


@pytest.mark.external
@pytest.mark.parametrize(
    "task, train, dev, kind",
    [
        ("cola", 8551, 1043, int),
        ("sst2", 67349, 872, int),
        ("mrpc", 3667, 408, int),
        ("stsb", 5749, 1500, float),
        ("rte", 2490, 277, str),
        ("wnli", 635, 71, int),
    ],
)
def test_the_real_files(shared, task, train, dev, kind):
    for split, count in (("train", train), ("dev", dev)):
        texts, labels = read_glue(shared / "data" / "glue", task, split)
        columns = texts if isinstance(texts, tuple) else (texts,)
        assert len(columns) == (1 if task in ("cola", "sst2") else 2)
        assert [len(column) for column in columns] == [count] * len(columns)
        assert len(labels) == count and {type(label) for label in labels} == {kind}
        assert all(text and "\t" not in text for column in columns for text in column)
