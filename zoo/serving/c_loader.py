"""Run a SavedModel through TensorFlow's C library, with no TensorFlow in Python.

TensorFlow Serving and this program end in the same C++ function, `LoadSavedModel`.
What Python can load by other means (Keras variables, Python functions) fails here as
it fails in the server. The program is run by path, in a process of its own:

    python -I c_loader.py < job.json > events.jsonl

Job: `library` path of libtensorflow_cc; `extensions` paths of op libraries;
`directory`; `tag`; `runs`, a list of {"feeds": {tensor: base64 TensorProto},
"fetches": [tensor]}. Events, one JSON object a line, in this order: `operations`
(base64 OpList of the library without extensions), `loaded`, then `outputs` or `error`
for each run with its index `run`. An `error` before `loaded` is the last event.
"""

import base64
import ctypes
import json
import math
import sys

_STRING = 7
_STRING_STRUCT_BYTES = 24


class _Output(ctypes.Structure):
    """TF_Output: one output of an operation."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class _Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("deallocator", ctypes.c_void_p),
    ]


class LoaderError(Exception):
    """TensorFlow refused; the message is its own."""


_POINTER_RESULTS = (
    "TF_NewStatus TF_NewGraph TF_NewSessionOptions TF_LoadLibrary TF_AllocateTensor "
    "TF_LoadSessionFromSavedModel TF_GraphOperationByName TF_TensorData "
    "TF_StringGetDataPointer"
).split()


class Library:
    """The C functions that are needed, with TensorFlow's status turned into errors."""

    def __init__(self, path):
        """Open the shared library at `path`."""
        # Op libraries look for TensorFlow's symbols among the global ones.
        self.c = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        for name in _POINTER_RESULTS:
            # ctypes would cut addresses to 32 bits.
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_NewBufferFromString", "TF_GetAllOpList"):
            getattr(self.c, name).restype = ctypes.POINTER(_Buffer)
        self.c.TF_Message.restype = ctypes.c_char_p
        for name in ("TF_Dim", "TF_TensorByteSize", "TF_StringGetSize"):
            getattr(self.c, name).restype = ctypes.c_size_t
        self.status = ctypes.c_void_p(self.c.TF_NewStatus())

    def check(self):
        """Raise LoaderError if the last call failed."""
        if self.c.TF_GetCode(self.status):
            message = self.c.TF_Message(self.status)
            raise LoaderError(message.decode("utf-8", "replace"))

    def disable_xla(self):
        """Refuse XLA compilation, as the server does unless started with a flag."""
        # The C API has no such function; this is tensorflow::DisableXlaCompilation().
        self.c._ZN10tensorflow21DisableXlaCompilationEv()

    def operations(self):
        """Every registered operation, as a serialized OpList."""
        buffer = self.c.TF_GetAllOpList().contents
        return ctypes.string_at(buffer.data, buffer.length)

    def load_extension(self, path):
        """Register the operations of an op library."""
        self.c.TF_LoadLibrary(path.encode(), self.status)
        self.check()


class Session:
    """A SavedModel, loaded as the server loads it."""

    def __init__(self, library, directory, tag):
        """Load `directory`; raises LoaderError with TensorFlow's message."""
        self.tensorflow = library
        self.graph = ctypes.c_void_p(library.c.TF_NewGraph())
        self.session = ctypes.c_void_p(
            library.c.TF_LoadSessionFromSavedModel(
                ctypes.c_void_p(library.c.TF_NewSessionOptions()),
                None,
                directory.encode(),
                (ctypes.c_char_p * 1)(tag.encode()),
                1,
                self.graph,
                None,
                library.status,
            )
        )
        library.check()

    def run(self, feeds, fetches):
        """Feed serialized TensorProtos by tensor name; returns described tensors."""
        inputs = (_Output * len(feeds))(*map(self._endpoint, feeds))
        outputs = (_Output * len(fetches))(*map(self._endpoint, fetches))
        values = (ctypes.c_void_p * len(feeds))(*map(self._tensor, feeds.values()))
        results = (ctypes.c_void_p * len(fetches))()
        self.tensorflow.c.TF_SessionRun(
            self.session,
            None,
            inputs,
            values,
            len(feeds),
            outputs,
            results,
            len(fetches),
            None,
            0,
            None,
            self.tensorflow.status,
        )
        self.tensorflow.check()
        return [self._describe(ctypes.c_void_p(result)) for result in results]

    def _endpoint(self, tensor_name):
        name, _, index = tensor_name.partition(":")
        operation = self.tensorflow.c.TF_GraphOperationByName(self.graph, name.encode())
        if not operation:
            raise LoaderError(f"The graph has no operation {name!r}.")
        return _Output(operation, int(index or 0))

    def _tensor(self, proto):
        c = self.tensorflow.c
        # Overwritten by the next call, so any tensor will do; the process ends soon
        # and frees it.
        tensor = ctypes.c_void_p(c.TF_AllocateTensor(1, None, 0, ctypes.c_size_t(4)))
        buffer = c.TF_NewBufferFromString(proto, ctypes.c_size_t(len(proto)))
        c.TF_TensorFromProto(buffer, tensor, self.tensorflow.status)
        self.tensorflow.check()
        return tensor.value

    def _describe(self, tensor):
        c = self.tensorflow.c
        shape = [c.TF_Dim(tensor, axis) for axis in range(c.TF_NumDims(tensor))]
        dtype = c.TF_TensorType(tensor)
        address = c.TF_TensorData(tensor)
        if dtype == _STRING:
            elements = range(math.prod(shape))
            content = [self._string(address, element) for element in elements]
        else:
            size = c.TF_TensorByteSize(tensor)
            # An empty tensor may have no address.
            content = _base64(ctypes.string_at(address, size) if size else b"")
        c.TF_DeleteTensor(tensor)
        return {"dtype": dtype, "shape": shape, "content": content}

    def _string(self, address, element):
        c = self.tensorflow.c
        pointer = ctypes.c_void_p(address + element * _STRING_STRUCT_BYTES)
        data = c.TF_StringGetDataPointer(pointer)
        return _base64(ctypes.string_at(data, c.TF_StringGetSize(pointer)))


def _base64(data):
    return base64.b64encode(data).decode("ascii")


def _emit(**event):
    # Flushed, so that a crash or a hang leaves what came before.
    print(json.dumps(event), flush=True)


def main():
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    try:
        library = Library(job["library"])
        library.disable_xla()
        _emit(operations=_base64(library.operations()))
        for path in job["extensions"]:
            library.load_extension(path)
        session = Session(library, job["directory"], job["tag"])
    except (LoaderError, OSError, AttributeError) as error:
        _emit(error=str(error))
        return
    _emit(loaded=True)
    for index, run in enumerate(job["runs"]):
        feeds = {name: base64.b64decode(data) for name, data in run["feeds"].items()}
        try:
            _emit(run=index, outputs=session.run(feeds, run["fetches"]))
        except LoaderError as error:
            _emit(run=index, error=str(error))


if __name__ == "__main__":
    main()
