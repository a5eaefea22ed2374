"""The time of a new token in longer texts: what is measured and compared."""

import json

import pytest


@pytest.fixture
def lengths(monkeypatch):
    """The module under test, with peers that only record how they are called."""
    from benchmarks import generation_lengths

    called = []

    def peer(name):
        def make(threads, dtype, new):
            return lambda: called.append((name, threads, new)), None

        return make

    makers = {name: peer(name) for name in ("zoo", "keras_nlp")}
    monkeypatch.setattr(generation_lengths, "MAKERS", makers)
    monkeypatch.setattr(generation_lengths, "read_rate", lambda threads: 1e9)
    generation_lengths.called = called
    return generation_lengths


def test_peers_take_turns_at_every_length(lengths, capsys):
    lengths.main(["--threads", "1", "--repetitions", "2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["max_new_tokens"] for row in rows] == [32, 128, 512]
    assert rows[0]["zoo_growth_ms"] == rows[0]["attention_ms"] == 0
    assert lengths.called[:4] == [("zoo", 1, 32), ("keras_nlp", 1, 32)] * 2
    assert len(lengths.called) == 3 * 2 * 3  # with one call that is not measured


def test_attention_reads_the_keys_and_values_before_a_token(lengths):
    # 16 + 32 entries on average, 12 blocks, 4 rows, width 768, keys and values.
    assert lengths.attention_ms(64, 1e9) == pytest.approx(
        48 * 12 * 4 * 768 * 2 * 4 / 1e6
    )
