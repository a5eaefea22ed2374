"""What clients of one version of a model find changed in another one."""

import json
import pathlib
import reprlib

from zoo.checks.user_warnings import warn_user
from zoo.files.state_files import read_state
from zoo.serving.graph import SavedGraph
from zoo.serving.versions import find_versions, parse_version

FACTS = pathlib.PurePath("assets.extra", "model.json")
_FACTS_SHAPE = {
    **dict.fromkeys(("labels?", "columns?", "answers?", "table?", "padded?"), [str]),
    "sequence_length?": int,
}


def facts_file(**facts):
    """`extra_files` of `write_version`: facts that clients need and no graph shows.

    Args:
        labels: list of str, in the order of the scores.
        sequence_length: int, the number of tokens after which a text is truncated.
        columns: list of str, the inputs of `serving_default` in their order.
        answers, table: lists of str, the outputs that are an answer to one text, and
            those that become columns of a table; all outputs without them.
        padded: list of str, the outputs (B, W) whose rows end in padding. The first one
            has strings.
    """
    facts = {name: value for name, value in facts.items() if value not in (None, [])}
    return {FACTS.name: json.dumps(facts, ensure_ascii=False)}


def find_earlier(base_dir, number=None):
    """The highest version, below `number` if it is given, as a path; None if none."""
    versions = find_versions(base_dir)
    below = [n for n in versions if number is None or n < number]
    return versions[max(below)] if below else None


def find_changes(before, after):
    """What clients of a version find changed in another one, list of str.

    It is empty if `before` is no SavedModel. ValueError if `after` is none.
    """
    new, facts = SavedGraph(after).signatures, read_facts(after)
    try:
        old, earlier = SavedGraph(before).signatures, read_facts(before)
    except (OSError, ValueError):
        return []
    changes = _find_missing("signature {}", old, new)
    for name in old.keys() & new.keys():
        for side in ("inputs", "outputs"):
            what = f"{side[:-1]} {{}} of {name!r}"
            ends = [getattr(graph[name], side) for graph in (old, new)]
            changes += _find_missing(what, *ends)
            changes += [
                f"{what.format(repr(key))} is {_describe(ends[1][key])} instead of "
                f"{_describe(ends[0][key])}"
                for key in ends[0].keys() & ends[1].keys()
                if _describe(ends[0][key]) != _describe(ends[1][key])
            ]
    for name in facts.keys() & earlier.keys():
        if facts[name] != earlier[name]:
            values = [reprlib.repr(found[name]) for found in (facts, earlier)]
            changes.append(f"{name} is {values[0]} instead of {values[1]}")
    return sorted(changes)


def warn_of_changes(staging, base_dir, version):
    """Warns of what changes for clients if `staging` becomes the next version."""
    before = find_earlier(base_dir, version)
    changes = find_changes(before, staging) if before else []
    if changes:
        warn_user(
            f"Clients of version {before.name} in {base_dir} may fail with the new "
            f"one: {'; '.join(changes)}. Change them, or export to another directory."
        )


def describe_changes(version):
    """The reason of the doctor's finding about an earlier version, str."""
    version = version.resolve()
    number = parse_version(version.name)
    before = None if number is None else find_earlier(version.parent, number)
    if before is None:
        return "there is no earlier version"
    changes = find_changes(before, version)
    if changes:
        return f"warning: since version {before.name}, {'; '.join(changes)}"
    return f"clients find the same names, types and labels as in version {before.name}"


def _find_missing(what, old, new):
    """What only one of two dicts has, list of str."""
    return [
        *(f"{what.format(repr(name))} is gone" for name in old.keys() - new.keys()),
        *(f"{what.format(repr(name))} is new" for name in new.keys() - old.keys()),
    ]


def _describe(endpoint):
    """Type and shape of an input or output, without its name in the graph."""
    if endpoint.tensor is None:
        return "ragged or sparse"
    if endpoint.shape is None:
        return f"{endpoint.dtype} of unknown shape"
    sizes = ", ".join("?" if size == -1 else str(size) for size in endpoint.shape)
    return f"{endpoint.dtype} ({sizes})"


def read_facts(version):
    """The facts of a version, see `facts_file`; empty for an export without them."""
    try:
        return read_state(
            pathlib.Path(version, FACTS), "the facts of a version", _FACTS_SHAPE
        )
    except (OSError, ValueError):
        return {}
