"""A corpus in parts of bounded size, which different processes can read."""

import dataclasses
import hashlib
import pathlib
from collections.abc import Callable

from zoo.data.files.document_formats import Span, find_format, read_spans
from zoo.files.whole_files import OPENERS, open_any

PART_BYTES = 2**25
UTF_16 = {b"\xff\xfe", b"\xfe\xff"}  # its marks; such files are not divided


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The documents of files, in the order of the files.

    The parts depend on the files only: consecutive files, or parts of a large file that
    is not compressed, have about `PART_BYTES` together.

    Args:
        paths: list of paths.
        unique: bool, whether a document that is equal to an earlier one is left out.
        formats: function of a path to a `Format`.
    """

    paths: list
    unique: bool = False
    formats: Callable = find_format

    def parts(self):
        """The parts, list of lists of `Span`."""
        parts, room = [], 0
        for span in (span for path in self.paths for span in self._divide(path)):
            if room <= 0:
                parts.append([])
                room = PART_BYTES
            parts[-1].append(span)
            end = span.path.stat().st_size if span.end is None else span.end
            room -= end - span.begin
        return parts

    def numbered(self):
        """Yields the number and the documents of each part, an iterator."""
        seen = set() if self.unique else None
        for number, part in enumerate(self.parts()):
            yield number, self._unseen(part, seen)

    def documents(self):
        """Yields all documents, lists of str."""
        for _, documents in self.numbered():
            yield from documents

    def read(self, part, fault=None):
        """Yields all documents of a part; see `zoo.data.read_documents` for `fault`."""
        return read_spans(part, self.formats, fault)

    def _unseen(self, part, seen):
        """The documents of a part whose digests are not in `seen`, and adds them."""
        for document in self.read(part):
            if seen is not None:
                key = digest(document)
                if key in seen:
                    continue
                seen.add(key)
            yield document

    def _divide(self, path):
        """The spans of a file."""
        path = pathlib.Path(path)
        divides, size = self.formats(path).divides, path.stat().st_size
        if divides is None or path.suffix in OPENERS or size <= PART_BYTES:
            return [Span(path)]
        edges = [0]
        with open_any(path) as file:
            if file.read(2) in UTF_16:
                return [Span(path)]
            for place in range(PART_BYTES, size, PART_BYTES):
                file.seek(place)
                file.readline()  # the rest of a line
                begin = file.tell()
                while (line := file.readline()) and not divides(line):
                    begin = file.tell()
                if line and begin > edges[-1]:
                    edges.append(begin)
        ends = [*edges[1:], size]
        return [Span(path, *edge) for edge in zip(edges, ends, strict=True)]


def digest(document):
    """16 bytes that are the same for equal documents only."""
    return hashlib.blake2b("\n".join(document).encode(), digest_size=16).digest()
