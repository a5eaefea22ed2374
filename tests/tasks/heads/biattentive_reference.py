"""The biattentive classification network, in NumPy."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def shares_of(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def read_one_way(x, weights):
    kernel, recurrent, bias = weights
    m = c = np.zeros(len(recurrent))
    found = []
    for row in x:
        i, f, g, o = np.split(row @ kernel + m @ recurrent + bias, 4)
        c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
        m = sigmoid(o) * np.tanh(c)
        found.append(m)
    return np.array(found)


def read_both_ways(x, weights, name):
    forward = read_one_way(x, weights[f"{name}_forward"])
    backward = read_one_way(x[::-1], weights[f"{name}_backward"])[::-1]
    return np.concatenate([forward, backward], axis=-1)


def largest(x, weights):
    kernel, bias = weights
    values = x @ kernel + bias
    return np.array([max(values[k : k + 4]) for k in range(0, len(values), 4)])


def network(vectors, weights):
    """Logits from the vectors of one text or two, each (L, D) without padding."""
    kernel, bias = weights["word_dense"]
    encoded = [
        read_both_ways(np.maximum(x @ kernel + bias, 0), weights, "text")
        for x in vectors
    ]
    pooled = []
    for number, x in enumerate(encoded):
        prefix, other = ("", "pair_")[number], encoded[-1 - number]
        a = np.array([shares_of(other @ vector) @ other for vector in x])
        fused = np.concatenate([x, x - a, x * a], axis=-1)
        h = read_both_ways(fused, weights, f"{prefix}integrator")
        share = shares_of((h @ weights[f"{prefix}pooling"][0])[:, 0])
        pooled += [h.max(0), h.min(0), h.mean(0), share @ h]
    x = np.concatenate(pooled)
    for name in ("hidden_1", "hidden_2", "classifier"):
        x = largest(x, weights[name])
    return x
