"""Writes safetensors files with numpy alone: eight bytes of length, a JSON header, the tensors."""

import json
import struct

import numpy as np

NAMES = {"float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64", "uint16": "U16", "uint8": "U8",
         "bool": "BOOL"}


def write(path, tensors, metadata=None):
    """tensors: a dict of arrays by name; all have a record a row."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header, at = {}, 0
    if metadata:
        header["__metadata__"] = {key: str(value) for key, value in metadata.items()}
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in header:
            if name != "__metadata__":
                file.write(arrays[name].tobytes())


def padded(rows, fill, dtype=np.int32):
    """Lists of different lengths as one array, filled up on the right."""
    array = np.full((len(rows), max(1, max(map(len, rows), default=1))), fill, dtype)
    for i, row in enumerate(rows):
        array[i, :len(row)] = row
    return array
