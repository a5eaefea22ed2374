"""The README.md of a published preset, with the metadata that a hub shows."""

import json
import pathlib
import re

from zoo.presets.directories import preset_info
from zoo.presets.publishing import CARD

# The package that reads a layout, as the hub calls it.
LIBRARIES = {"hugging_face": "transformers", "keras_nlp": "keras-hub"}
PACKAGE = "keras-context-zoo"
# How the licence of a preset record may begin, and how the hub calls it.
LICENCES = r"Apache-2\.0|MIT\b|CC[ -]BY(?:[ -]SA)?[ -][1-4]\.[0-9]"


def write_card(directory, name, facts):
    """Writes the card of a preset directory; see `model_card`."""
    text = model_card(name, **facts)
    (pathlib.Path(directory) / CARD).write_text(text, "utf-8")


def model_card(
    name, family, parameters, layout, task=None, tag=None, labels=None, base=None
):
    """A card: metadata in YAML, what the model is, how to load it, its base.

    Args:
        name: str, "owner/name".
        family: str.
        parameters: int.
        layout: str, of the files, such as "zoo".
        task, tag: str, the names of the task, here and in the hub, or None.
        labels: list of str, or None.
        base: str, the name of the shipped preset that was trained further, or None.
    """
    record = preset_info(base) if base else {}
    licence = record.get("licence", "")
    known = re.match(LICENCES, licence)
    metadata = {
        "library_name": LIBRARIES.get(layout, PACKAGE),
        "pipeline_tag": tag,
        "license": known and known[0].lower().replace(" ", "-"),
    }
    head = [f"{key}: {value}" for key, value in metadata.items() if value]
    head += ["tags:", "- keras", "- tensorflow", f"- {json.dumps(family)}"]
    kind = f"A model for the task `{task}`" if task else "A model without a task"
    lines = [
        *("---", *head, "---", "", f"# {name.split('/')[-1]}", ""),
        f"{kind}, of the family {family}, with {parameters:,} parameters.",
        *("", "```python", "import zoo  # pip install keras-context-zoo", ""),
        *(f'model = zoo.from_preset("hf://{name}")', "```", ""),
    ]
    if labels:
        lines += [f"Labels: {', '.join(map(json.dumps, labels))}.", ""]
    if base:
        lines += [f"It was trained further from the preset `{base}` of zoo.", ""]
    for field in ("description", "licence", "trained_on", "limits"):
        if field in record:
            title = field.replace("_", " ").capitalize()
            lines += [f"- {title} of `{base}`: {record[field]}"]
    return "\n".join(lines).rstrip() + "\n"
