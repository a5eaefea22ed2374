"""Protocol buffers of SavedModels and of TensorFlow Serving, without their packages.

The messages are declared with the fields that this package uses. So a SavedModel is
read without importing TensorFlow, and warm-up records need no tensorflow-serving-api.
"""

import math

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# A field is `name=number:type`, where `*` means repeated and `{}` a map from string.
# Numbers and types are those of tensorflow/core and tensorflow_serving/apis. The names
# are our own. Enums are declared as int32.
_SCHEMA = """
SavedModel: meta_graphs=2:MetaGraphDef*
MetaGraphDef: meta_info_def=1:MetaInfoDef graph_def=2:GraphDef
  signature_def=5:SignatureDef{}
MetaInfoDef: tags=4:string* tensorflow_version=5:string
SignatureDef: inputs=1:TensorInfo{} outputs=2:TensorInfo{} method_name=3:string
TensorInfo: name=1:string dtype=2:int32 tensor_shape=3:TensorShape
  coo_sparse=4:Opaque composite_tensor=5:Opaque
Opaque:
TensorShape: dim=2:Dimension* unknown_rank=3:bool
Dimension: size=1:int64
GraphDef: node=1:NodeDef* functions=2:FunctionLibrary
FunctionLibrary: function=1:FunctionDef*
FunctionDef: signature=1:OpDef node_def=3:NodeDef* attr=5:AttrValue{}
OpList: op=1:OpDef*
OpDef: name=1:string
NodeDef: name=1:string op=2:string input=3:string* attr=5:AttrValue{}
AttrValue: list=1:ListValue b=5:bool func=10:NameAttrList
ListValue: func=9:NameAttrList*
NameAttrList: name=1:string
TensorProto: dtype=1:int32 tensor_shape=2:TensorShape tensor_content=4:bytes
  float_val=5:float* double_val=6:double* int_val=7:int32* string_val=8:bytes*
  int64_val=10:int64* bool_val=11:bool* uint32_val=16:uint32* uint64_val=17:uint64*
PredictionLog: predict_log=6:PredictLog
PredictLog: request=1:PredictRequest
PredictRequest: model_spec=1:ModelSpec inputs=2:TensorProto{}
ModelSpec: name=1:string signature_name=3:string
"""

# From the number of a tensorflow.DataType to its name in NumPy.
DTYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    19: "float16",
    22: "uint32",
    23: "uint64",
}
_NUMBERS = {name: number for number, name in DTYPES.items()}

# All other integers are in `int_val`.
_VALUE_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "string": "string_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def _add_field(message, package, token):
    """Adds one `name=number:type` of the schema to a DescriptorProto."""
    name, _, declaration = token.partition("=")
    number, _, kind = declaration.partition(":")
    field = message.field.add(name=name, number=int(number))
    repeated = kind.endswith(("*", "{}"))
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    element = kind.rstrip("*{}")
    if kind.endswith("{}"):
        entry = message.nested_type.add(
            name=name.title().replace("_", "") + "Entry",
            options=descriptor_pb2.MessageOptions(map_entry=True),
        )
        _add_field(entry, package, "key=1:string")
        _add_field(entry, package, f"value=2:{element}")
        element = f"{message.name}.{entry.name}"
    scalar = getattr(field, f"TYPE_{element.upper()}", None)
    if scalar is None:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{package}.{element}"
    else:
        field.type = scalar


def _build_messages(schema, package="zoo.serving"):
    file = descriptor_pb2.FileDescriptorProto(
        name="zoo/serving.proto", package=package, syntax="proto3"
    )
    for token in schema.split():
        if token.endswith(":"):
            message = file.message_type.add(name=token[:-1])
        else:
            _add_field(message, package, token)
    # The default pool may hold TensorFlow's own messages, now or later.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        message.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{package}.{message.name}")
        )
        for message in file.message_type
    }


_MESSAGES = _build_messages(_SCHEMA)

SavedModel = _MESSAGES["SavedModel"]
MetaGraphDef = _MESSAGES["MetaGraphDef"]
OpList = _MESSAGES["OpList"]
PredictionLog = _MESSAGES["PredictionLog"]
TensorProto = _MESSAGES["TensorProto"]


def encode_tensor(array):
    """An array, also of str or bytes, as a TensorProto; else TypeError."""
    array = np.asarray(array)
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    if dtype not in _NUMBERS:
        raise TypeError(
            "A tensor must hold numbers, booleans or strings. "
            f"Received: dtype={array.dtype}. Cast it first."
        )
    proto = TensorProto(dtype=_NUMBERS[dtype])
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if dtype == "string":
        # Arrays of dtype object may hold str or bytes.
        proto.string_val.extend(
            element.encode("utf-8") if isinstance(element, str) else bytes(element)
            for element in array.flat
        )
    else:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        proto.tensor_content = little.tobytes()
    return proto


def decode_tensor(proto):
    """A TensorProto in any of its encodings as an array; strings are bytes in objects.

    ValueError if the data type is not supported, or the number of values does not match
    the shape.
    """
    dtype = DTYPES.get(proto.dtype)
    if dtype in (None, "float16", "bfloat16"):
        raise ValueError(
            "A tensor in a request must hold float32, float64, integers, booleans or "
            f"strings. Received: DataType {proto.dtype}. Convert it to one of these."
        )
    shape = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_content and dtype == "string":
        raise ValueError(
            "Strings of a tensor must be in `string_val` to be checked here. Received: "
            "`tensor_content`. Write the request again."
        )
    if proto.tensor_content:
        values = np.frombuffer(proto.tensor_content, np.dtype(dtype).newbyteorder("<"))
    else:
        values = list(getattr(proto, _VALUE_FIELDS.get(dtype, "int_val")))
        values = np.array(values, object if dtype == "string" else dtype)
        # The encoding omits repetitions of the last value.
        missing = math.prod(shape) - len(values)
        if len(values) and missing > 0:
            values = np.concatenate([values, np.repeat(values[-1:], missing)])
    if len(values) != math.prod(shape):
        raise ValueError(
            "A tensor must have as many values as its shape requires. Received: "
            f"{len(values)} values for shape {shape}. Write the request again."
        )
    return values.reshape(shape)
