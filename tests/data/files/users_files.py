"""Files of labelled texts as users have them, with their rows or their errors."""

import functools
import gzip
import json
import lzma

TWO = [("a film", "good"), ("a plot", "bad")]
AG = 'Class Index,Title,Description\n3,"Up, up","say ""x"""\n1,t,d\n'
AG_ROWS = '"3","Up, up","say ""x"""\n"1","t","d"\n'
SICK = (
    "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\n"
    "1\ta\tb\tNEUTRAL\t4.5\n2\tc\td\tENTAILMENT\t3\n"
)
MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta\tb\n0\t7\t8\tc\td\n"
QQP = "id\tquestion1\tquestion2\tis_duplicate\n5\ta\tb\t1\n6\tc\td\t0\n"
QNLI = "index\tquestion\tsentence\tlabel\n0\ta\tb\t1\n"
MNLI = "index\tpairID\tsentence1\tsentence2\tlabel1\tgold_label\n0\t9\ta\tb\t5\t1\n"
COLA = "gj04\t1\t\tShe went.\ngj04\t0\t*\tShe goed.\n"
RAW = 'text\tlabel\n" A film "\tgood\nHe said "no" .\tbad\n"so\tgood\n'
QUOTED = 'text,label\n"a, b",x\n"say ""no""",y\n"two\nlines",z\n5" disk,x\n'
PANDAS = 'text\tlabel\n"a\ttab"\tgood\n"say ""no"""\tbad\n"two\nlines"\tbad\nso\tgood\n'
SNLI = "gold_label\tsentence1_parse\tsentence1\tsentence2\tlabel1\n"
PAIR = {"sentence1": "a", "sentence2": "b"}
BLANK = {"nothing": "", "spaces": "  ", "a no-break space": "\u00a0"}
LINES = '{"text": "a film", "label": "good"}\n\n{"label": "bad", "text": "a plot"}\n'
KINDS = '{"t": "a", "l": 1}\n{"t": "b", "l": true}\n{"t": "c", "l": 0.5, "u": null}\n'


def case(name, content, expected, **options):
    """The name of a file, its content, the options to read it, and what is expected."""
    return name, content, options, expected


csv = functools.partial(case, "a.csv")
tsv = functools.partial(case, "a.tsv")
jsonl = functools.partial(case, "a.jsonl")


# Expected are rows of cells, "text|label / text|label".
READ = {
    "header": csv("text,label\na film,good\na plot,bad\n", "a film|good / a plot|bad"),
    "columns in another order": csv("LABEL,id, Text \nx,1,a\n", "a|x"),
    "columns of TSV": tsv('Label\tid\tSentence\nx\t1\ta "film"\n', 'a "film"|x'),
    "no header": csv(
        "a film,x\na plot,y\nan end,x\n", "a film|x / a plot|y / an end|x"
    ),
    "no header, labels first": tsv("0\tone\n1\ttwo\n", "one|0 / two|1"),
    "no header, numbers": tsv("x\t0.5\nx\t0.7\ny\t1\n", "x|0.5 / x|0.7 / y|1"),
    "no suffix": case("a", "text\tlabel\na\tx\n", "a|x"),
    "suffix in upper case": case("A.CSV", "text,label\na,x\n", "a|x"),
    "text file": case("a.txt", "text\tlabel\na\tx\n", "a|x"),
    "byte order mark": csv("\ufefftext,label\na,x\n", "a|x"),
    "BOM, no header": tsv("\ufeff1\tone\n0\ttwo\n", "one|1 / two|0"),
    "UTF-16 of Excel": case("a.txt", "text\tlabel\ná\tx\n".encode("utf-16"), "á|x"),
    "CRLF": tsv("text\tlabel\r\na\tx\r\nb\ty\r\n", "a|x / b|y"),
    "CR": tsv("text\tlabel\ra\tx\rb\ty", "a|x / b|y"),
    "CR in CSV": csv("text,label\ra,x\rb,y\r", "a|x / b|y"),
    "blank lines": csv("\ntext,label\n\na,x\n\n,,\nb,y\n\n", "a|x / b|y"),
    "zero byte": tsv("text\tlabel\na\0b\tx\n", "a\0b|x"),
    "large field": csv(f"text,label\n{'b' * 200_000},x\n", f"{'b' * 200_000}|x"),
    "line breaks": tsv("text\tlabel\na\u2028\x85\x0bb\tx\n", "a\u2028\x85\x0bb|x"),
    "spaces around labels": csv("text, label\n a , x\n", " a |x"),
    "quotes in CSV": csv(QUOTED, 'a, b|x / say "no"|y / two\nlines|z / 5" disk|x'),
    "quotes of pandas in TSV": tsv(
        PANDAS, 'a\ttab|good / say "no"|bad / two\nlines|bad / so|good'
    ),
    "all fields quoted": tsv('"text"\t"label"\n"a"\t"x"\n', "a|x"),
    "quotes of GLUE": tsv(RAW, '" A film "|good / He said "no" .|bad / "so|good'),
    "European CSV": csv('text;label\na, b;x\n"c; d";y\n', "a, b|x / c; d|y"),
    "European CSV, no header": csv("a, b;x\nc;y\nd;x\n", "a, b|x / c|y / d|x"),
    "line break in the first text": csv(
        '"two\nlines, x";p\n"y";n\n"z";p\n', "two\nlines, x|p / y|n / z|p"
    ),
    "tabs in CSV": csv("text\tlabel\na, b\tx\n", "a, b|x"),
    "empty columns of a spreadsheet": csv("text,label,,\na,x,,\n", "a|x"),
    "one of two names": csv("Satz,label\na,x\n", "a|x"),
    "more columns": csv(",id,airline,text,label,title\n0,7,U,a,x,t\n", "a|x"),
    "index and names of pandas": csv(
        ",0,1\n0,a,x\n1,b,y\n", "a|x / b|y", text_column="1", label_column="2"
    ),
    "Banking77": csv('text,category\n"I am, here",card\n', "I am, here|card"),
    "AG News, a text": csv(AG, 'say "x"|3 / d|1', text_column="Description"),
    "AG News, pairs": csv(
        AG, 'Up, up|say "x"|3 / t|d|1', text_column="title", pair_column=2
    ),
    "AG News, no header": csv(
        AG_ROWS,
        'Up, up|say "x"|3 / t|d|1',
        text_column=1,
        pair_column="2",
        label_column=0,
    ),
    "AG News, header and numbers": csv(
        AG, "Up, up|3 / t|1", text_column=1, label_column=0
    ),
    "SICK": case(
        "SICK_train.txt",
        SICK,
        "a|b|NEUTRAL / c|d|ENTAILMENT",
        label_column="entailment_label",
    ),
    "SST-2": tsv("sentence\tlabel\nso good \t1\n", "so good |1"),
    "MRPC": tsv(MRPC, "a|b|1 / c|d|0"),
    "QQP": tsv(QQP, "a|b|1 / c|d|0"),
    "QNLI": tsv(QNLI, "a|b|1"),
    "MNLI": tsv(MNLI, "a|b|1"),
    "SNLI": case(
        "snli.txt",
        SNLI + "0\t(a)\ta\tb\tx\n-\t(c)\tc\td\tx\n1\t(e)\te\tf\ty",
        "a|b|0 / e|f|1",
    ),
    "SNLI in JSON": jsonl(
        "\n".join(json.dumps({"gold_label": label, **PAIR}) for label in ("-", "1")),
        "a|b|1",
    ),
    "another label that is a dash": tsv("text\tlabel\na\t-\n", "a|-"),
    "CoLA": tsv(COLA, "She went.|1 / She goed.|0", text_column=3, label_column=1),
    "pair without its second text": csv(
        "premise,hypothesis,label\na,b,1\n", "a|1", text_column="premise"
    ),
    "one label": csv("text,label\na,x\nb,x\n", "a|x / b|x"),
    "JSON lines": jsonl(LINES, "a film|good / a plot|bad"),
    "JSON lines, other suffix": case(
        "a.ndjson", LINES.replace("\n", "\r\n"), "a film|good / a plot|bad"
    ),
    "JSON, a list": case(
        "a.json",
        json.dumps([{"headline": a, "category": b} for a, b in TWO], indent=1),
        "a film|good / a plot|bad",
    ),
    "JSON, kinds of labels": jsonl(
        KINDS, "a|1 / b|True / c|0.5", text_column="t", label_column="l"
    ),
    "gzip": case("a.csv.gz", gzip.compress("\ufefftext,label\na,x\n".encode()), "a|x"),
    "xz": case("a.jsonl.xz", lzma.compress(LINES.encode()), "a film|good / a plot|bad"),
}

NAMED = "--text-column Title --label-column 'Class Index'"
# Expected is the end of a rule and what was received.
REFUSED = {
    "no rows": csv("\n\n", "must have rows. Received: none"),
    "only a header": csv("text,label\n", "Received: only a header"),
    "other kind of file": case("a.xlsx", "", "a file that ends in .csv, .tsv,"),
    "damaged gzip": case("a.csv.gz", "text", "must be a complete .gz file"),
    "truncated xz": case("a.csv.xz", lzma.compress(b"text" * 99)[:-9], "complete .xz"),
    "Windows": csv(
        "text,label\r\na,x\r\ncafé,y\r\n".encode("cp1252"),
        "UTF-8. Received: byte 0xe9 at position 20, in line 3. .* WINDOWS-1252",
    ),
    "UTF-16 without a mark": csv(
        "text,label\na,x\n".encode("utf-16-le"),
        "byte 0x00 at position 1, in line 1. .*-f UTF-16 ",
    ),
    "comma in a text": csv(
        "text,label\na,x\nwell, a film,good\n",
        "as the first, 2. Received: 3 in line 3: .*quote the field",
    ),
    "short row": tsv("text\tlabel\r\n\r\na\r\n", "Received: 1 in line 3"),
    "short row after a long one": csv(
        'text,label\n"a\nb",x\nc\n', "Received: 1 in line 4"
    ),
    "quote that does not end": csv(
        'text,label\na,x\n"b,y\nc,x\n', "row that begins in line 3 .unexpected end"
    ),
    "text after a quote": csv('text,label\n"b" c,y\n', "begins in line 2"),
    "quotes of two kinds": tsv(
        'text\tlabel\n"a\tx\nb"\ty\n',
        "characters of 3 lines, or that enclose fields of 2 rows",
    ),
    "delimiters of two kinds": csv("a, b;x\nc, d;x\n", "one kind of delim"),
    "SNLI": case("snli.txt", f"{SNLI}-\t(c)\tc\td\tx", 'Received: only labels "-"'),
    **{
        f"{name} for a label": tsv(
            f"text\tlabel\na film\tgood\na dull film\t{blank}\n",
            "must have a label.* in line 3: .*a dull film.*remove the row",
        )
        for name, blank in BLANK.items()
    },
    **{
        f"{name} for a label, no header": csv(
            f"x,a film\n{blank},a plot\nx,b\n", "a label.* in line 2"
        )
        for name, blank in BLANK.items()
    },
    "unknown names": csv(
        "Satz,Art\na,x\nb,x\n",
        "whether the first line .*`Art` occurs only once.*"
        "`--text-column Satz --label-column Art`",
    ),
    "unknown names and numbers": csv(
        "Satz,Art\na,x\nb,x\n",
        "whether the first line .*`Art` occurs only once",
        text_column=0,
        label_column=1,
    ),
    "one row": tsv("a film\tgood\n", "no column has a known name for texts"),
    "row as header": tsv(
        "text\tlabel\na\tlabel\n", "`label` is also the label in line 2"
    ),
    "row named as header": tsv(
        "a film\tgood\na plot\tgood\n",
        "`good` is also the label in line 2",
        text_column="a film",
        label_column="good",
    ),
    "number as header": tsv("review\t1\na plot\t0\n", "`1` is a number"),
    "AG News": csv(
        AG, f"'Title' and 'Description' may be the texts.*`{NAMED}`.*`--pair-column`"
    ),
    "AG News, no header": csv(
        AG_ROWS,
        "Its columns are 0 '3', 1 'Up, up', .*without a header, give numbers from 0",
    ),
    "SICK": case(
        "SICK_train.txt",
        SICK,
        "'entailment_label' and 'relatedness_score' may be the labels.*"
        "--text-column sentence_A --pair-column sentence_B --label-column entail",
    ),
    "CoLA": tsv(COLA, "Its columns are 0 'gj04', 1 '1', 2 '', 3 'She"),
    "one column": case("a.txt", "text;label\na;x\n", "tabs in .tsv and .txt, and by"),
    "two texts": csv("review,comment,label\na,b,1\n", "may be the texts"),
    "name twice": csv("text,text,label\na,b,1\n", "'text' may be the texts"),
    "no such name": csv(
        "text,label\na,1\n",
        "`text_column` must be one .*'Test', which is none of them. Its columns are 0",
        text_column="Test",
    ),
    "no such number": csv(
        "text,label\na,1\n", "Received: 2, which is none", label_column=2
    ),
    "one column for both": csv(
        "text,label\na,1\n", "must differ", label_column="text", text_column=0
    ),
    "only the second text": csv("text,label\na,1\n", "Give both", pair_column="text"),
    "not a number": csv(
        "text,score\na,1\nb,x\n",
        "must be a finite number. Received: 'x' in line 3",
        numbers=True,
    ),
    "JSON, damaged": jsonl('{"text": "a"}\n{', "an error in line 2"),
    "JSON, no object": jsonl('\n"a"\n', "Received: str in line 2"),
    "JSON, lines of lists": jsonl('["a"]\n["b"]\n', "one JSON object per"),
    "JSON, half a character": jsonl(
        '{"text": "\\ud83d", "label": 1}', "line 1: .*surrogates not allowed"
    ),
    "JSON, number as text": jsonl(
        '{"text": "a", "label": 1}\n\n{"text": 5, "label": 1}\n',
        "must be a string. Received: 5 in line 3",
    ),
    "JSON, no label": case("a.json", '[{"text": "a"}]', "label.*NAME"),
    "JSON, null": jsonl('{"text": "a", "label": null}', "None in line 1"),
    "JSON, NaN": jsonl('{"text": "a", "label": NaN}', "nan in line 1"),
    "JSON, number of a column": jsonl(
        '{"text": "a", "label": 1}',
        "Received: 0, which is none of them. Its columns are 'text', 'label'",
        text_column=0,
    ),
    "Parquet, damaged": case("a.parquet", "text", "Parquet|pyarrow"),
}
