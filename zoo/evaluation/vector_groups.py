"""Groups of similar vectors."""

import numpy as np

from zoo.checks.number_rules import numbers_checked
from zoo.evaluation.glue_scores import import_library


@numbers_checked()
def group_vectors(vectors, count, seed=0):
    """Divides vectors into groups by k-means, the best of 10 runs.

    Args:
        vectors: float (N, D).
        count: int, the number of groups.
        seed: int.

    Returns:
        list of lists of int, the numbers of the vectors of each group: the largest
        group first, and in it the vector that is nearest to the center. There are fewer
        groups if there are fewer different vectors.

    Raises:
        ImportError: without scikit-learn, which is in the extra `eval`.
        ValueError: if there are fewer vectors than groups.
    """
    if not 1 <= count <= len(vectors):
        raise ValueError(
            "There must be a vector for each group. Received: "
            f"{len(vectors)} vectors for {count} groups."
        )
    library = import_library("sklearn.cluster")
    count = min(count, len(np.unique(vectors, axis=0)))
    means = library.KMeans(count, n_init=10, random_state=seed).fit(vectors)
    distances, found = means.transform(vectors), []
    for group in range(count):
        members = np.flatnonzero(means.labels_ == group)
        found.append(members[np.argsort(distances[members, group])].tolist())
    return sorted(found, key=len, reverse=True)
