"""The scores of the layers of models, as a table and as a picture."""

import os

from zoo import visualize


def format_table(result):
    """A Markdown table with a row for each layer.

    Args:
        result: `zoo.programs.vectors.probing.ProbeResult`.

    Returns:
        str.
    """
    lines = [f"| layer | {result.metric} | weight |", "|---|---|---|"]
    for number, (score, weight) in enumerate(
        zip(result.layers, result.weights, strict=True)
    ):
        name = f"{number}" if number else "0, embeddings"
        lines.append(f"| {name} | {100 * score:.1f} | {weight:.2f} |")
    lines.append(f"| weighted sum | {100 * result.mix:.1f} | |")
    lines.append(f"| baseline | {100 * result.baseline:.1f} | |")
    about = f"{result.train:,} examples for training, {result.test:,} for the test."
    return "\n".join(
        [*lines, "", f"{about} Center of the weights: {result.center:.2f}"]
    )


def plot(results, path, title=""):
    """Plots the score over the layer, and the baselines as lines.

    Args:
        results: dict of the name of a preset to `ProbeResult`.
        path: str or path, file to write. The suffix is the format.
        title: str.

    Returns:
        pathlib.Path of the file.
    """
    curves = {}
    for name, result in results.items():
        name, count = os.path.basename(os.path.normpath(name)), len(result.layers)
        scores = [100 * score for score in result.layers]
        curves[name] = (range(count), scores)
        curves[f"{name}, baseline"] = (range(count), [100 * result.baseline] * count)
    metric = next(iter(results.values())).metric
    return visualize.plot_curves(curves, path, title, "layer", metric, pairs=True)
