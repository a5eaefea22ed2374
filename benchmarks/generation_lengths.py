"""The time of a new token while texts get longer, on the CPU.

    python -m benchmarks.generation_lengths

GPT-2 small with random weights continues 4 prompts of 16 tokens, greedily, by 32, 128
and 512 tokens. Each line of JSON has the milliseconds per token of zoo and of
keras-nlp, which take turns. `attention_ms` is a bound of what attention must add: the
mean time to read the keys and values of all tokens before the new one, at the rate of
one large array. `zoo_growth_ms` is what a token of zoo takes more than in the shortest
texts.
"""

import argparse
import json
import statistics

from benchmarks import gpt_generation
from benchmarks.peers import limit_tensorflow, median_seconds

LENGTHS = 32, 128, 512
DTYPE = "float32"
MAKERS = {
    "zoo": gpt_generation.continue_with_zoo,
    "keras_nlp": gpt_generation.continue_with_keras_nlp,
}


def read_rate():
    """Bytes per second at which TensorFlow reads a large array."""
    call, _ = gpt_generation.make_reading(DTYPE)
    total = gpt_generation.NEW * gpt_generation.WEIGHTS * 4
    return total / statistics.median(call().seconds for _ in range(5))


def attention_ms(new, rate):
    """The mean time to read keys and values for a new token, in milliseconds."""
    entries = gpt_generation.LENGTH + new / 2
    values = 2 * gpt_generation.BLOCKS * gpt_generation.WIDTH * gpt_generation.ROWS
    return 1e3 * 4 * values * entries / rate


def measure(new, repetitions):
    """Milliseconds per token of each peer, dict of name to float."""
    calls = {name: make(DTYPE, new)[0] for name, make in MAKERS.items()}
    found = median_seconds(calls, repetitions)
    return {name: 1e3 * value / new for name, value in found.items()}


def main(arguments=None):
    """Prints one JSON line for each length."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args(arguments)
    limit_tensorflow(options.threads)
    rate, shortest = read_rate(), None
    for new in LENGTHS:
        found = measure(new, options.repetitions)
        shortest = shortest or {"new": new, **found}
        more = attention_ms(new, rate) - attention_ms(shortest["new"], rate)
        result = {"max_new_tokens": new}
        result |= {f"{name}_ms": round(value, 1) for name, value in found.items()}
        result["zoo_growth_ms"] = round(found["zoo"] - shortest["zoo"], 1)
        result["attention_ms"] = round(more, 1)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
