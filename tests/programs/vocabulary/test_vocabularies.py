"""`zoo vocabulary`: from files of texts to the files that tokenizers read."""

import gzip
import lzma
import shutil

import command_line
import pytest
import tiny

from zoo.text import (
    BytePairTokenizer,
    FastaiTokenizer,
    GPT2Tokenizer,
    SentencePieceTokenizer,
    WordPieceTokenizer,
    train_bpe,
    train_byte_bpe,
    train_fastai_vocabulary,
    train_sentencepiece,
    train_wordpiece,
)

SIZES = {"wordpiece": 260, "sentencepiece": 340, "bpe": 90, "byte_bpe": 300}
TEXT = "the film FILM éàé"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A plain file and compressed ones; only the last has certain letters."""
    directory = tmp_path_factory.mktemp("texts")
    texts, translations = tiny.make_pairs(60)
    (directory / "a.txt").write_text("\n".join(texts))
    with gzip.open(directory / "b.gz", "wt") as file:
        file.write("\n".join(translations))
    with lzma.open(directory / "c.xz", "wt", encoding="utf-8") as file:
        file.write("éàé éàé\n" * 50)
    return [directory / name for name in ("a.txt", "b.gz", "c.xz")]


def run(*arguments, code=0):
    return command_line.run("vocabulary", *arguments, code=code).strip()


def learn(files, kind, output, *options, code=0):
    common = ("--kind", kind, "--size", SIZES[kind], "--output", output)
    return run(*files, *common, *options, code=code)


def test_wordpiece(files, tmp_path):
    path = tmp_path / "new" / "vocab.txt"
    assert learn(files, "wordpiece", path) == str(path)
    tokenizer = WordPieceTokenizer(path)
    assert list(tokenizer.vocabulary) == train_wordpiece(files, SIZES["wordpiece"])
    assert "film" in tokenizer.vocabulary and "FILM" not in tokenizer.vocabulary
    learn(files, "wordpiece", path, "--cased", "--character-coverage", "1.0")
    assert WordPieceTokenizer(path, lowercase=False).vocabulary.count("é") == 1
    assert "F" in WordPieceTokenizer(path, lowercase=False).vocabulary


def test_sentencepiece(files, tmp_path):
    path, again = tmp_path / "a.model", tmp_path / "b.model"
    learn(files, "sentencepiece", path)
    learn(files, "sentencepiece", again)
    content = path.read_bytes()
    assert content == again.read_bytes()
    assert content == train_sentencepiece(files, SIZES["sentencepiece"])
    tokenizer = SentencePieceTokenizer(path)
    other = shutil.copy(path, tmp_path / "pieces")  # a file of any name
    assert SentencePieceTokenizer(other).get_config() == tokenizer.get_config()
    for wrong in ("no-such", str(tmp_path / "missing.bin")):
        with pytest.raises(FileNotFoundError, match=f"Received: '{wrong}', and"):
            SentencePieceTokenizer(wrong)
    assert tokenizer.detokenize(tokenizer([TEXT]))[0].numpy().decode() == TEXT


@pytest.mark.parametrize(
    "kind, build, train, names",
    [
        ("bpe", BytePairTokenizer, train_bpe, ("codes.txt", "vocabulary.txt")),
        ("byte_bpe", GPT2Tokenizer, train_byte_bpe, ("vocabulary.json", "merges.txt")),
    ],
)
def test_byte_pairs(files, tmp_path, kind, build, train, names):
    path = tmp_path / kind
    assert learn(files, kind, path) == str(path)
    tokenizer = build(*[path / name for name in names])
    expected = build(*train(files, SIZES[kind]))
    assert tokenizer.get_config() == expected.get_config()
    assert tokenizer.vocabulary_size == SIZES[kind]
    assert tokenizer.detokenize(tokenizer([TEXT]))[0].numpy().decode() == TEXT
    assert "is not empty" in learn(files, kind, path, code=1)
    if kind == "byte_bpe":
        assert (path / names[1]).read_text().startswith("#version: 0.2\n")


@pytest.mark.usefixtures("eagerly")
def test_fastai(files, tmp_path):
    path = tmp_path / "vocabulary.json"
    assert run(*files, "--kind", "fastai", "--size", 40, "--output", path) == str(path)
    tokenizer = FastaiTokenizer(path)
    assert list(tokenizer.vocabulary) == train_fastai_vocabulary(files, 40)
    assert tokenizer.unknown_id not in tokenizer("The film").numpy()
    message = run(*files, "--kind", "fastai", "--size", 8, "--output", path, code=1)
    assert "`size` must hold the 9 special tokens" in message


def test_mistakes_are_one_line_and_write_nothing(files, tmp_path):
    path, empty = tmp_path / "out", tmp_path / "empty.txt"
    empty.write_text("\n \n")
    path.write_text("old")
    message = learn([tmp_path / "none.txt"], "wordpiece", path, code=1)
    assert message == f"Error: No such file: {tmp_path / 'none.txt'}."
    message = learn([empty], "sentencepiece", path, code=1)
    assert message == ("Error: Texts for a vocabulary must have words. Received: none.")
    message = learn(files, "sentencepiece", path, "--cased", code=1)
    assert "Only wordpiece takes --cased. Received: --kind sentencepiece." in message
    message = learn(files, "bpe", path / "inside", code=1)
    assert str(path) in message and "Error: " in message
    common = ("--size", 9, "--output", path)
    for kind in SIZES:
        message = run(*files, "--kind", kind, *common, code=1)
        used = kind in ("bpe", "byte_bpe")  # they write a directory
        expected = "exists and is not" if used else "`vocabulary_size` must hold"
        assert expected in message, message
    assert path.read_text() == "old" and len([*tmp_path.iterdir()]) == 2
    options = ("--size", 300, "--output")
    assert "must not be a file to read" in run(
        *files, "--kind", "wordpiece", *options, files[-1], code=1
    )
    message = run(*files, "--kind", "wordpiece", *options, tmp_path, code=1)
    assert "must be a file" in message
