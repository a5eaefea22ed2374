"""Vocabularies from files and lists, and what is refused."""

import pytest

from zoo.text import Vocabulary, WordPieceTokenizer, save_vocabulary


def test_line_number_is_the_id(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("a\r\n##b \né\u2028x\n".encode())
    vocabulary = Vocabulary(path, required=["a"])
    assert vocabulary.tokens == ("a", "##b", "é\u2028x")
    assert vocabulary.ids == {"a": 0, "##b": 1, "é\u2028x": 2}
    assert Vocabulary(str(path)).tokens == Vocabulary(vocabulary.tokens).tokens
    path.write_text("a\nb")  # the last line may lack its end
    assert Vocabulary(path).tokens == ("a", "b")


def test_a_token_of_white_space_in_googles_chinese_vocabulary(tmp_path):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2028", "##\u2028", "a"]
    (tmp_path / "vocab.txt").write_text("".join(f"{t}\r\n" for t in tokens))
    tokenizer = WordPieceTokenizer(tmp_path / "vocab.txt")
    assert tokenizer.vocabulary[5:] == ("\u2028", "##", "a")
    assert tokenizer("a\u2028a \u2028").numpy().tolist() == [7, 7]
    (tmp_path / "vocab.txt").write_text("a\r\n\r\nb\r\n")
    with pytest.raises(ValueError, match="must not have empty tokens"):
        Vocabulary(tmp_path / "vocab.txt")


def test_save_and_read_back(tmp_path):
    tokens = ("a", "##b", "中", "é")
    save_vocabulary(tokens, tmp_path / "new" / "vocab.txt")
    assert Vocabulary(tmp_path / "new" / "vocab.txt").tokens == tokens
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["vocab.txt"]
