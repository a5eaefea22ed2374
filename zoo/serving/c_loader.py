"""A program that runs a SavedModel through TensorFlow's C library.

TensorFlow Serving and this program call the same C++ function, `LoadSavedModel`. Keras
variables and Python functions, which Python can load by other means, fail here as they
fail in the server. The program imports only the standard library, and is started by its
path: python -I c_loader.py < runs.jsonl > events.jsonl

The first line of its input is an object of `library`, the path of libtensorflow_cc;
`extensions`, a list of paths of operation libraries; and `directory` and `tag` of the
SavedModel. Each other line is a run, {"feeds": {tensor: base64 TensorProto}, "fetches":
[tensor]}.

Each line of the events is an object: first `operations`, a base64 OpList of the library
without extensions; then `loaded`; then for each run `outputs` or `failed`, a message.
They are written before the next run is read. An `error` is the last event.
"""

import base64
import ctypes
import json
import math
import os
import sys

_STRING = 7
_STRING_STRUCT_BYTES = 24


class _Output(ctypes.Structure):
    """The C struct TF_Output: one output of an operation."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class _Buffer(ctypes.Structure):
    """The C struct TF_Buffer: bytes and their length."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("deallocator", ctypes.c_void_p),
    ]


class LoaderError(Exception):
    """An error of TensorFlow, with its message."""


_POINTER_RESULTS = (
    "TF_NewStatus TF_NewGraph TF_NewSessionOptions TF_LoadLibrary TF_AllocateTensor "
    "TF_LoadSessionFromSavedModel TF_GraphOperationByName TF_TensorData "
    "TF_StringGetDataPointer"
).split()


class Library:
    """TensorFlow's shared library at a path; OSError if it cannot be opened."""

    def __init__(self, path):
        # Operation libraries search for TensorFlow's symbols among the global ones.
        self.c = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        for name in _POINTER_RESULTS:
            # By default ctypes truncates addresses to 32 bits.
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_NewBufferFromString", "TF_GetAllOpList"):
            getattr(self.c, name).restype = ctypes.POINTER(_Buffer)
        self.c.TF_Message.restype = ctypes.c_char_p
        for name in ("TF_Dim", "TF_TensorByteSize", "TF_StringGetSize"):
            getattr(self.c, name).restype = ctypes.c_size_t
        self.status = ctypes.c_void_p(self.c.TF_NewStatus())

    def check(self):
        """Raises LoaderError if the last call failed."""
        if self.c.TF_GetCode(self.status):
            message = self.c.TF_Message(self.status)
            raise LoaderError(message.decode("utf-8", "replace"))


class Session:
    """A SavedModel, loaded as the server loads it; LoaderError if it cannot be."""

    def __init__(self, library, directory, tag):
        self.tensorflow = library
        self.graph = ctypes.c_void_p(library.c.TF_NewGraph())
        options = ctypes.c_void_p(library.c.TF_NewSessionOptions())
        tags = (ctypes.c_char_p * 1)(tag.encode())
        source = directory.encode(), tags, len(tags)
        load = library.c.TF_LoadSessionFromSavedModel
        session = load(options, None, *source, self.graph, None, library.status)
        self.session = ctypes.c_void_p(session)
        library.check()

    def run(self, feeds, fetches):
        """Runs the graph once; LoaderError if TensorFlow reports an error.

        `feeds` has serialized TensorProtos by the names of tensors. The result has the
        dtype, the shape and the content of each tensor of `fetches`.
        """
        inputs = (_Output * len(feeds))(*map(self._endpoint, feeds))
        outputs = (_Output * len(fetches))(*map(self._endpoint, fetches))
        values, c = (ctypes.c_void_p * len(feeds))(), self.tensorflow.c
        results = (ctypes.c_void_p * len(fetches))()
        try:
            for index, proto in enumerate(feeds.values()):
                values[index] = self._tensor(proto)
            fed = inputs, values, len(feeds)
            fetched = outputs, results, len(fetches)
            status = self.tensorflow.status
            c.TF_SessionRun(self.session, None, *fed, *fetched, None, 0, None, status)
            self.tensorflow.check()
        finally:
            for value in filter(None, values):
                c.TF_DeleteTensor(ctypes.c_void_p(value))
        return [self._describe(ctypes.c_void_p(result)) for result in results]

    def _endpoint(self, tensor_name):
        name, _, index = tensor_name.partition(":")
        operation = self.tensorflow.c.TF_GraphOperationByName(self.graph, name.encode())
        if not operation:
            raise LoaderError(f"The graph has no operation {name!r}.")
        return _Output(operation, int(index or 0))

    def _tensor(self, proto):
        c = self.tensorflow.c
        # TF_TensorFromProto replaces its type and shape.
        tensor = ctypes.c_void_p(c.TF_AllocateTensor(1, None, 0, ctypes.c_size_t(4)))
        buffer = c.TF_NewBufferFromString(proto, ctypes.c_size_t(len(proto)))
        c.TF_TensorFromProto(buffer, tensor, self.tensorflow.status)
        c.TF_DeleteBuffer(buffer)
        self.tensorflow.check()
        return tensor.value

    def _describe(self, tensor):
        c = self.tensorflow.c
        shape = [c.TF_Dim(tensor, axis) for axis in range(c.TF_NumDims(tensor))]
        dtype = c.TF_TensorType(tensor)
        address = c.TF_TensorData(tensor)
        if dtype == _STRING:
            content = []
            for element in range(math.prod(shape)):
                pointer = ctypes.c_void_p(address + element * _STRING_STRUCT_BYTES)
                data = c.TF_StringGetDataPointer(pointer)
                data = ctypes.string_at(data, c.TF_StringGetSize(pointer))
                content.append(_base64(data))
        else:
            size = c.TF_TensorByteSize(tensor)
            # An empty tensor may have no address.
            content = _base64(ctypes.string_at(address, size) if size else b"")
        c.TF_DeleteTensor(tensor)
        return {"dtype": dtype, "shape": shape, "content": content}


def _base64(data):
    return base64.b64encode(data).decode("ascii")


def _emit(**event):
    # Flushed, so that a crash or an endless loop does not lose earlier events.
    print(json.dumps(event), flush=True)


def main():
    """Loads the SavedModel of the first line, and runs the other lines."""
    # What a model prints must not be among the events: it goes to standard error.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    try:
        library = Library(job["library"])
        # As the server does unless a flag enables XLA. The C API lacks this function:
        # it is tensorflow::DisableXlaCompilation().
        library.c._ZN10tensorflow21DisableXlaCompilationEv()
        listed = library.c.TF_GetAllOpList().contents
        _emit(operations=_base64(ctypes.string_at(listed.data, listed.length)))
        for path in job["extensions"]:
            library.c.TF_LoadLibrary(path.encode(), library.status)
            library.check()
        session = Session(library, job["directory"], job["tag"])
    except (LoaderError, OSError, AttributeError) as error:
        _emit(error=str(error))
        return
    _emit(loaded=True)
    for line in sys.stdin:
        run = json.loads(line)
        feeds = {name: base64.b64decode(data) for name, data in run["feeds"].items()}
        try:
            _emit(outputs=session.run(feeds, run["fetches"]))
        except LoaderError as error:
            _emit(failed=str(error))


if __name__ == "__main__":
    main()
