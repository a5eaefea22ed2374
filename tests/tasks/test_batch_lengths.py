"""How far the batches of a task are padded."""

import pytest


@pytest.mark.parametrize("jit_compile", [False, True])
def test_rows_are_padded_to_a_bucket_only_where_xla_compiles(make_task, jit_compile):
    task = make_task(compile={"jit_compile": jit_compile})
    texts = ["good good", "bad", "good bad good"]
    lengths = [x["token_ids"].shape[1] for x in task.batches(texts, batch_size=2)]
    assert lengths == ([8, 8] if jit_compile else [5, 3])
