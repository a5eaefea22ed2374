"""The preparation of pretraining runs by Apache Beam."""

import collections
import dataclasses
import functools
import hashlib
import itertools
import json
import pathlib
import zlib

import apache_beam as beam
import numpy as np

from zoo.beam.pipelines import make_runner, running
from zoo.data.files.corpus_parts import digest
from zoo.files.buckets import local_path, place_of, remove
from zoo.files.whole_files import replacing, write_json
from zoo.pretraining import find_recipe
from zoo.pretraining.preparation import Preparation
from zoo.pretraining.running import check_recipe
from zoo.pretraining.running import prepare as prepare_run

BUCKETS = 64  # between which words and digests are divided
PLACES = 40  # bits for the place of a word in a part, below the number of the part


def prepare(recipe, data, output, runner=None, options=None, echo=print):
    """Prepares the text of a pretraining run with Apache Beam.

    `zoo.pretraining.run` with the same recipe, data and output goes on from it. The
    files in `output` are those that it would write itself, byte for byte, whatever the
    runner and the number of workers. A document that cannot be read is left out, and
    is named in a file of `output` that ends in `.faults.jsonl`.

    The workers read `data` and write to `output`, so both are in a bucket, or on a disk
    that all of them share. `zoo` is installed on all of them.

    Args:
        recipe: `zoo.pretraining.Recipe`, or the name or path of one.
        data: directory with the text.
        output: directory of the run.
        runner: str, such as "FlinkRunner"; by default Beam's in-process runner.
        options: dict of Beam's pipeline options, such as {"direct_num_workers": 2,
            "direct_running_mode": "multi_processing"}.
        echo: function that is called with lines about the progress.

    Returns:
        dict of the names of what was written to the number of faults.

    Raises:
        FileNotFoundError: if there are no files of the recipe.
        ValueError: if the recipe is of an objective that has no such preparation, there
            is no readable text, the runner or an option is unknown, or `output` has
            another run.

    Example:
        zoo.beam.prepare("bert.json", "text", "run", options={"direct_num_workers": 2})
    """
    if not hasattr(recipe, "kind"):
        recipe = find_recipe(recipe)
    if not recipe.kind.prepares:
        raise ValueError(
            "Apache Beam prepares the text of masked, causal and bidirectional "
            f"language models and of translators. Received: {recipe.kind.name}. Use "
            "`zoo pretrain`, which prepares it."
        )
    # Workers may have another working directory.
    data, output = (local_path(path).absolute() for path in (data, output))
    preparation = BeamPreparation(output, runner, options or {}, echo)
    check_recipe(recipe, data, output, 1)
    output.mkdir(parents=True, exist_ok=True)
    prepare_run(recipe, data, output, preparation)
    remove(preparation.parts)
    return preparation.faults


class BeamPreparation(Preparation):
    """A `Preparation` by a runner of Apache Beam.

    Every worker reads parts of the corpus and writes their rows to files of its own, so
    that no text goes through the runner. What goes through it are counts of words, and
    with `unique` 16 bytes of each document.

    Args:
        output: pathlib.Path, directory of the run.
        runner, options, echo: see `prepare`.
    """

    def __init__(self, output, runner, options, echo):
        self.output, self.parts, self.echo = output, output / "parts", echo
        self.faults = {}
        self._runner, self._options = make_runner(runner, options)
        self._repeats = {}

    def count(self, corpus, count):
        """Counts words; see the base class."""
        folder = self._new("counts")
        arguments = corpus, count, self._find_repeats(corpus)
        with self._pipeline() as pipeline:
            _ = (
                self._parts(pipeline, corpus)
                | "count" >> beam.FlatMap(functools.partial(_count_part, *arguments))
                | beam.GroupByKey()
                | "merge" >> beam.Map(functools.partial(_merge_counts, folder))
            )
        words, firsts, counts = [], [], []
        for path in _files(folder):
            for column, more in zip(
                (words, firsts, counts), _unpack(path), strict=True
            ):
                column += more
        remove(local_path(folder))
        order = np.argsort(np.array(firsts, np.int64)).tolist()
        return collections.Counter({words[n]: counts[n] for n in order})

    def write(self, corpus, write, join, directory):
        """Writes rows; see the base class."""
        name = directory.name
        pieces, noted = self._new(name), self._new(f"{name}.faults")
        faults = self.output / f"{name}.faults.jsonl"
        arguments = corpus, write, pieces, noted, self._find_repeats(corpus)
        with self._pipeline() as pipeline:
            _ = self._parts(pipeline, corpus) | "write" >> beam.Map(
                functools.partial(_write_part, *arguments)
            )
        lines = [path.read_text("utf-8") for path in _files(noted)]
        self.faults[name] = sum(text.count("\n") for text in lines)
        if lines:
            with replacing(faults) as temporary:
                temporary.write_text("".join(lines), "utf-8")
            self.echo(f"{name}: {self.faults[name]} documents left out, see {faults}")
        if not _files(pieces):
            raise ValueError(
                "The files of a recipe must have documents that can be read. Received: "
                f"none for {name}. See {faults}, or give other files."
            )
        join(_files(pieces), directory)
        remove(local_path(pieces))
        self.echo(str(directory))

    def _pipeline(self):
        return running(self._runner, self._options)

    def _parts(self, pipeline, corpus):
        """The numbered parts of a corpus, a collection."""
        parts = [[*map(_for_workers, part)] for part in corpus.parts()]
        parts = [*enumerate(parts)]
        return pipeline | beam.Create(parts) | beam.Reshuffle()

    def _find_repeats(self, corpus):
        """A directory with the places of the repeated documents of each part, or None.

        The first of equal documents is none of them.
        """
        if not corpus.unique:
            return None
        key = hashlib.blake2b(repr(corpus.paths).encode(), digest_size=8).hexdigest()
        if key not in self._repeats:
            folder = self._new(f"repeats/{key}")
            with self._pipeline() as pipeline:
                _ = (
                    self._parts(pipeline, corpus)
                    | "digest" >> beam.FlatMap(functools.partial(_digest_part, corpus))
                    | "by digest" >> beam.GroupByKey()
                    | beam.FlatMap(_find_repeated)
                    | "by part" >> beam.GroupByKey()
                    | "write"
                    >> beam.MapTuple(functools.partial(_write_repeats, folder))
                )
            self._repeats[key] = folder
        return self._repeats[key]

    def _new(self, name):
        """The place of a directory that the workers write to, str, where nothing is."""
        remove(self.parts / name)
        return place_of(self.parts / name)


def _for_workers(span):
    """A span whose path has a meaning for all workers."""
    return dataclasses.replace(span, path=place_of(span.path))


def _new_documents(corpus, repeats, number, part, fault=lambda *place: None):
    """The readable documents of a part, without those that are repeated."""
    left_out = set()
    path = repeats and local_path(f"{repeats}/{number}.json")
    if path and path.exists():
        left_out = set(json.loads(path.read_text()))
    for place, document in enumerate(corpus.read(part, fault)):
        if place not in left_out:
            yield document


def _count_part(corpus, count, repeats, element):
    """Yields the counts of the words of a part, divided by a hash of the words."""
    counts, buckets = count(_new_documents(corpus, repeats, *element)), {}
    for place, (word, number) in enumerate(counts.items(), start=element[0] << PLACES):
        key = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
        columns = buckets.setdefault(zlib.crc32(key) % BUCKETS, ([], [], []))
        for column, value in zip(columns, (word, place, number), strict=True):
            column.append(value)
    for bucket, columns in buckets.items():
        yield bucket, _pack(*columns)


def _merge_counts(folder, element):
    """Adds the counts of the words of a bucket, and writes them."""
    bucket, packed = element
    firsts, counts = {}, collections.Counter()
    for words, places, numbers in map(_unpack, packed):
        for word, place, number in zip(words, places, numbers, strict=True):
            firsts[word] = min(place, firsts.get(word, place))
            counts[word] += number
    with replacing(f"{folder}/{bucket}") as temporary:
        counts = map(counts.get, firsts)
        temporary.write_bytes(_pack([*firsts], [*firsts.values()], [*counts]))


def _pack(words, places, counts):
    """Lists of words, str or bytes, and of numbers as compressed JSON."""
    if encoded := isinstance(words[0], bytes):
        words = [word.decode("latin-1") for word in words]
    return zlib.compress(json.dumps([encoded, words, places, counts]).encode())


def _unpack(packed):
    """The inverse of `_pack`; `packed` is bytes or the path of a file."""
    if isinstance(packed, pathlib.Path):
        packed = packed.read_bytes()
    encoded, words, *numbers = json.loads(zlib.decompress(packed))
    return [word.encode("latin-1") for word in words] if encoded else words, *numbers


def _write_part(corpus, write, pieces, noted, repeats, element):
    """Writes the rows of a part, and what could not be read."""
    faults, piece = [], local_path(f"{pieces}/{element[0]:08}", directory=False)

    def note(span, place, error):
        text = {"path": place_of(span.path), "place": place, "error": str(error)}
        faults.append(json.dumps(text, ensure_ascii=False) + "\n")

    documents = _new_documents(corpus, repeats, *element, note)
    first = next(documents, None)
    if first is not None:
        remove(piece)  # of an attempt that failed later
        write([(element[0], itertools.chain([first], documents))], piece)
    if faults:
        with replacing(f"{noted}/{element[0]:08}") as temporary:
            temporary.write_text("".join(faults), "utf-8")


def _digest_part(corpus, element):
    """Yields the digests and places of the documents of a part, divided by digest."""
    buckets = {}
    for place, document in enumerate(corpus.read(element[1], lambda *place: None)):
        key = digest(document)
        buckets.setdefault(key[0] % BUCKETS, []).append((key, place))
    for bucket, keys in buckets.items():
        yield bucket, (element[0], keys)


def _find_repeated(element):
    """Yields the number of each part, and the places of its repeated documents."""
    seen = set()
    for number, keys in sorted(element[1]):
        repeated = [place for key, place in keys if key in seen or seen.add(key)]
        if repeated:
            yield number, repeated


def _write_repeats(folder, number, places):
    write_json(f"{folder}/{number}.json", sorted(itertools.chain(*places)))


def _files(folder):
    """What a directory has, in the order of the names; [] if it does not exist."""
    folder = local_path(folder)
    return sorted(folder.iterdir()) if folder.exists() else []
