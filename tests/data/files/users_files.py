"""Files of labelled texts as users have them, with their rows or their errors."""

import gzip
import json
import lzma

TWO = [("a film", "good"), ("a plot", "bad")]
PAIRS = [("a", "b", "1"), ("c", "d", "0")]
AG = 'Class Index,Title,Description\n3,"Up, up","say ""x"""\n1,t,d\n'
AG_ROWS = '"3","Up, up","say ""x"""\n"1","t","d"\n'
SICK = (
    "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\n"
    "1\ta\tb\tNEUTRAL\t4.5\n2\tc\td\tENTAILMENT\t3\n"
)
MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta\tb\n0\t7\t8\tc\td\n"
COLA = "gj04\t1\t\tShe went.\ngj04\t0\t*\tShe goed.\n"
RAW = 'text\tlabel\n" A film "\tgood\nHe said "no" .\tbad\n"so\tgood\n'
PANDAS = 'text\tlabel\n"a\ttab"\tgood\n"say ""no"""\tbad\n"two\nlines"\tbad\nso\tgood\n'
LINES = '{"text": "a film", "label": "good"}\n\n{"label": "bad", "text": "a plot"}\n'

# Name: name of the file, content, options, rows.
READ = {
    "header": ("a.csv", "text,label\na film,good\na plot,bad\n", {}, TWO),
    "columns in another order": ("a.csv", "LABEL,id, Text \nx,1,a\n", {}, [("a", "x")]),
    "no header": (
        "a.csv",
        "a film,good\na plot,bad\nan end,good\n",
        {},
        [*TWO, ("an end", "good")],
    ),
    "no header, labels first": ("a.tsv", "0\tone\n1\ttwo\n", {}, "one 0 two 1"),
    "no header, numbers": ("a.tsv", "x\t0.5\nx\t0.7\ny\t1\n", {}, "x 0.5 x 0.7 y 1"),
    "no suffix": ("a", "text\tlabel\na\tx\n", {}, "a x"),
    "suffix in upper case": ("A.CSV", "text,label\na,x\n", {}, "a x"),
    "text file": ("a.txt", "text\tlabel\na\tx\n", {}, "a x"),
    "byte order mark": ("a.csv", "\ufefftext,label\na,x\n", {}, "a x"),
    "BOM, no header": ("a.tsv", "\ufeff1\tone\n0\ttwo\n", {}, "one 1 two 0"),
    "UTF-16 of Excel": ("a.txt", "text\tlabel\ná\tx\n".encode("utf-16"), {}, "á x"),
    "CRLF": ("a.tsv", "text\tlabel\r\na\tx\r\nb\ty\r\n", {}, "a x b y"),
    "CR": ("a.tsv", "text\tlabel\ra\tx\rb\ty", {}, "a x b y"),
    "CR in CSV": ("a.csv", "text,label\ra,x\rb,y\r", {}, "a x b y"),
    "blank lines": ("a.csv", "\ntext,label\n\na,x\n\n,,\nb,y\n\n", {}, "a x b y"),
    "zero byte": ("a.tsv", "text\tlabel\na\0b\tx\n", {}, [("a\0b", "x")]),
    "large field": (
        "a.csv",
        f"text,label\n{'b' * 200_000},x\n",
        {},
        [("b" * 200_000, "x")],
    ),
    "other line breaks": (
        "a.tsv",
        "text\tlabel\na\u2028\x85\x0bb\tx\n",
        {},
        [("a\u2028\x85\x0bb", "x")],
    ),
    "spaces around labels": ("a.csv", "text, label\n a , x\n", {}, [(" a ", "x")]),
    "quotes in CSV": (
        "a.csv",
        'text,label\n"a, b",x\n"say ""no""",y\n"two\nlines",z\n5" disk,x\n',
        {},
        [("a, b", "x"), ('say "no"', "y"), ("two\nlines", "z"), ('5" disk', "x")],
    ),
    "quotes of pandas in TSV": (
        "a.tsv",
        PANDAS,
        {},
        [
            ("a\ttab", "good"),
            ('say "no"', "bad"),
            ("two\nlines", "bad"),
            ("so", "good"),
        ],
    ),
    "all fields quoted": ("a.tsv", '"text"\t"label"\n"a"\t"x"\n', {}, "a x"),
    "quotes of GLUE": (
        "a.tsv",
        RAW,
        {},
        [('" A film "', "good"), ('He said "no" .', "bad"), ('"so', "good")],
    ),
    "European CSV": (
        "a.csv",
        'text;label\na, b;x\n"c; d";y\n',
        {},
        [("a, b", "x"), ("c; d", "y")],
    ),
    "European CSV, no header": (
        "a.csv",
        "a, b;x\nc;y\nd;x\n",
        {},
        [("a, b", "x"), ("c", "y"), ("d", "x")],
    ),
    "tabs in CSV": ("a.csv", "text\tlabel\na, b\tx\n", {}, [("a, b", "x")]),
    "empty columns of a spreadsheet": ("a.csv", "text,label,,\na,x,,\n", {}, "a x"),
    "one of two names": ("a.csv", "Satz,label\na,x\n", {}, "a x"),
    "more columns": ("a.csv", ",id,airline,text,label,title\n0,7,U,a,x,t\n", {}, "a x"),
    "index and names of pandas": (
        "a.csv",
        ",0,1\n0,a,x\n1,b,y\n",
        {"text_column": "1", "label_column": "2"},
        "a x b y",
    ),
    "Banking77": (
        "a.csv",
        'text,category\n"I am, waiting",card_arrival\n',
        {},
        [("I am, waiting", "card_arrival")],
    ),
    "AG News, a text": (
        "a.csv",
        AG,
        {"text_column": "Description"},
        [('say "x"', "3"), ("d", "1")],
    ),
    "AG News, pairs": (
        "a.csv",
        AG,
        {"text_column": "title", "pair_column": 2},
        [("Up, up", 'say "x"', "3"), ("t", "d", "1")],
    ),
    "AG News, no header": (
        "a.csv",
        AG_ROWS,
        {"text_column": 1, "pair_column": "2", "label_column": 0},
        [("Up, up", 'say "x"', "3"), ("t", "d", "1")],
    ),
    "AG News, header and numbers": (
        "a.csv",
        AG,
        {"text_column": 1, "label_column": 0},
        [("Up, up", "3"), ("t", "1")],
    ),
    "SICK": (
        "SICK_train.txt",
        SICK,
        {"label_column": "entailment_label"},
        [("a", "b", "NEUTRAL"), ("c", "d", "ENTAILMENT")],
    ),
    "SST-2": ("train.tsv", "sentence\tlabel\nso good \t1\n", {}, [("so good ", "1")]),
    "MRPC": ("train.tsv", MRPC, {}, PAIRS),
    "QQP": (
        "train.tsv",
        "id\tquestion1\tquestion2\tis_duplicate\n5\ta\tb\t1\n6\tc\td\t0\n",
        {},
        PAIRS,
    ),
    "QNLI": (
        "dev.tsv",
        "index\tquestion\tsentence\tlabel\n0\ta\tb\t1\n",
        {},
        PAIRS[:1],
    ),
    "MNLI": (
        "dev.tsv",
        "index\tpairID\tsentence1\tsentence2\tlabel1\tgold_label\n0\t9\ta\tb\t5\t1\n",
        {},
        PAIRS[:1],
    ),
    "CoLA": (
        "train.tsv",
        COLA,
        {"text_column": 3, "label_column": 1},
        [("She went.", "1"), ("She goed.", "0")],
    ),
    "pair without its second text": (
        "a.csv",
        "premise,hypothesis,label\na,b,1\n",
        {"text_column": "premise"},
        "a 1",
    ),
    "one label": ("a.csv", "text,label\na,x\nb,x\n", {}, "a x b x"),
    "JSON lines": ("a.jsonl", LINES, {}, TWO),
    "JSON lines, other suffix": ("a.ndjson", LINES.replace("\n", "\r\n"), {}, TWO),
    "JSON, a list": (
        "a.json",
        json.dumps([{"headline": a, "category": b} for a, b in TWO], indent=1),
        {},
        TWO,
    ),
    "JSON, kinds of labels": (
        "a.jsonl",
        '{"t": "a", "l": 1}\n{"t": "b", "l": true}\n{"t": "c", "l": 0.5, "u": null}\n',
        {"text_column": "t", "label_column": "l"},
        "a 1 b True c 0.5",
    ),
    "gzip": ("a.csv.gz", gzip.compress(b"text,label\na,x\n"), {}, "a x"),
    "xz": ("a.jsonl.xz", lzma.compress(LINES.encode()), {}, TWO),
}

NAMED = "--text-column Title --label-column 'Class Index'"
# Name: name of the file, content, options, the end of a rule and what was received.
REFUSED = {
    "no rows": ("a.csv", "\n\n", {}, "must have rows. Received: none"),
    "only a header": ("a.csv", "text,label\n", {}, "Received: only a header"),
    "other kind of file": ("a.xlsx", "", {}, "a file that ends in .csv, .tsv,"),
    "damaged gzip": ("a.csv.gz", "text", {}, "must be a complete .gz file"),
    "truncated xz": ("a.csv.xz", lzma.compress(b"text" * 99)[:-9], {}, "complete .xz"),
    "Windows": (
        "a.csv",
        "text,label\r\na,x\r\ncafé,y\r\n".encode("cp1252"),
        {},
        "UTF-8. Received: byte 0xe9 at position 20, in line 3. .* WINDOWS-1252",
    ),
    "UTF-16 without a mark": (
        "a.csv",
        "text,label\na,x\n".encode("utf-16-le"),
        {},
        "byte 0x00 at position 1, in line 1. .*-f UTF-16 ",
    ),
    "comma in a text": (
        "a.csv",
        "text,label\na,x\nwell, a film,good\n",
        {},
        "as the first, 2. Received: 3 in line 3: .*quote the field",
    ),
    "short row": ("a.tsv", "text\tlabel\r\n\r\na\r\n", {}, "Received: 1 in line 3"),
    "short row after a long text": (
        "a.csv",
        'text,label\n"a\nb",x\nc\n',
        {},
        "Received: 1 in line 4",
    ),
    "quote that does not end": (
        "a.csv",
        'text,label\na,x\n"b,y\nc,x\n',
        {},
        "row that begins in line 3 .unexpected end",
    ),
    "text after a quote": ("a.csv", 'text,label\n"b" c,y\n', {}, "begins in line 2"),
    "quotes of two kinds": (
        "a.tsv",
        'text\tlabel\n"a\tx\nb"\ty\n',
        {},
        "characters of 3 lines, or that enclose fields of 2 rows",
    ),
    "delimiters of two kinds": ("a.csv", "a, b;x\nc, d;x\n", {}, "one kind of delim"),
    "no label": ("a.csv", "text,label\na,x\nb, \n", {}, "a label.* in line 3"),
    "unknown names": (
        "a.csv",
        "Satz,Art\na,x\nb,x\n",
        {},
        "whether the first line .*`Art` occurs only once.*"
        "`--text-column Satz --label-column Art`",
    ),
    "unknown names and numbers": (
        "a.csv",
        "Satz,Art\na,x\nb,x\n",
        {"text_column": 0, "label_column": 1},
        "whether the first line .*`Art` occurs only once",
    ),
    "one row": ("a.tsv", "a film\tgood\n", {}, "no column has a known name for texts"),
    "row as header": (
        "a.tsv",
        "text\tlabel\na\tlabel\n",
        {},
        "`label` is also the label in line 2",
    ),
    "row named as header": (
        "a.tsv",
        "a film\tgood\na plot\tgood\n",
        {"text_column": "a film", "label_column": "good"},
        "`good` is also the label in line 2",
    ),
    "number as header": ("a.tsv", "review\t1\na plot\t0\n", {}, "`1` is a number"),
    "AG News": (
        "a.csv",
        AG,
        {},
        f"'Title' and 'Description' may be the texts.*`{NAMED}`.*`--pair-column`",
    ),
    "AG News, no header": (
        "a.csv",
        AG_ROWS,
        {},
        "Its columns are 0 '3', 1 'Up, up', .*without a header, give numbers from 0",
    ),
    "SICK": (
        "SICK_train.txt",
        SICK,
        {},
        "'entailment_label' and 'relatedness_score' may be the labels.*"
        "--text-column sentence_A --pair-column sentence_B --label-column entail",
    ),
    "CoLA": ("train.tsv", COLA, {}, "Its columns are 0 'gj04', 1 '1', 2 '', 3 'She"),
    "one column": ("a.txt", "text;label\na;x\n", {}, "tabs in .tsv and .txt, and by"),
    "two texts": ("a.csv", "review,comment,label\na,b,1\n", {}, "may be the texts"),
    "name twice": ("a.csv", "text,text,label\na,b,1\n", {}, "'text' may be the texts"),
    "no such name": (
        "a.csv",
        "text,label\na,1\n",
        {"text_column": "Test"},
        "`text_column` must be one .*'Test', which is none of them. Its columns are 0",
    ),
    "no such number": (
        "a.csv",
        "text,label\na,1\n",
        {"label_column": 2},
        "Received: 2, which is none",
    ),
    "one column for both": (
        "a.csv",
        "text,label\na,1\n",
        {"label_column": "text", "text_column": 0},
        "must differ",
    ),
    "only the second text": (
        "a.csv",
        "text,label\na,1\n",
        {"pair_column": "text"},
        "Give both",
    ),
    "not a number": (
        "a.csv",
        "text,score\na,1\nb,x\n",
        {"numbers": True},
        "must be a finite number. Received: 'x' in line 3",
    ),
    "JSON, damaged": ("a.jsonl", '{"text": "a"}\n{', {}, "an error in line 2"),
    "JSON, no object": ("a.jsonl", '\n"a"\n', {}, "Received: str in line 2"),
    "JSON, lines of lists": ("a.jsonl", '["a"]\n["b"]\n', {}, "one JSON object per"),
    "JSON, half a character": (
        "a.jsonl",
        '{"text": "\\ud83d", "label": 1}',
        {},
        "line 1: .*surrogates not allowed",
    ),
    "JSON, number as text": (
        "a.jsonl",
        '{"text": "a", "label": 1}\n\n{"text": 5, "label": 1}\n',
        {},
        "must be a string. Received: 5 in line 3",
    ),
    "JSON, no label": ("a.json", '[{"text": "a"}]', {}, "label.*NAME"),
    "JSON, null": ("a.jsonl", '{"text": "a", "label": null}', {}, "None in line 1"),
    "JSON, NaN": ("a.jsonl", '{"text": "a", "label": NaN}', {}, "nan in line 1"),
    "JSON, number of a column": (
        "a.jsonl",
        '{"text": "a", "label": 1}',
        {"text_column": 0},
        "Received: 0, which is none of them. Its columns are 'text', 'label'",
    ),
    "Parquet, damaged": ("a.parquet", "text", {}, "Parquet|pyarrow"),
}
