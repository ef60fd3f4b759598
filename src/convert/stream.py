"""Writes tensors a few rows at a time: the file's bytes are read, computed and written by pieces, where each row is computed by itself.

The converter keeps a tensor as a tree of calls until it is written, and computes it whole then: the file's bytes, their values in
float32 and the result at once. Here a range of the first axis is followed down to the bytes in the file. What mixes rows is computed whole.
"""

import dataclasses
import math

import gguf
import numpy as np
import torch

PIECE_VALUES = 1 << 20  # of a tensor, computed at once
_of_piece = {}  # what is computed of the piece in work, since a tree can name a part twice

# Calls whose rows are those of their arguments.
_UNARY = ("float", "half", "to", "type", "contiguous", "clone", "detach", "numpy", "astype", "__quantize_array")
_MATHS = "add sub mul truediv floordiv mod pow and or xor lshift rshift eq ne lt le gt ge neg invert pos abs".split()
_ROW_BY_ROW = {
    *_UNARY,
    *(f"__{prefix}{name}__" for name in _MATHS for prefix in ("", "r")),
    *("add sub mul div exp exp2 log sqrt abs neg clamp bitwise_and bitwise_or bitwise_right_shift bitwise_left_shift where".split()),
}
_OTHER_AXES = {"transpose": 2, "swapaxes": 2, "unsqueeze": 1, "repeat_interleave": (1, 2), "split": (1, 2), "chunk": (1, 2), "unbind": 1}


class Mixed(Exception):
    """The rows of a call are not those of its arguments."""


def _captured(function, name):
    code = getattr(function, "__code__", None)
    if code is None or name not in code.co_freevars:
        return None
    return function.__closure__[code.co_freevars.index(name)].cell_contents


def _name(function):
    """Name of what a node calls; methods of lazy tensors hide it in a closure."""
    own = getattr(function, "__name__", "")
    if own != "<lambda>":
        return own
    named = _captured(function, "name")
    if named is not None:
        return named
    names = function.__code__.co_names
    return names[0] if names in (("numpy",), ("astype",)) else own


def _rows_of(node, count, first, last):
    """Rows of an argument; what is broadcast along them stays whole."""
    if not isinstance(node, gguf.LazyBase):
        if isinstance(node, (np.ndarray, torch.Tensor)) and node.ndim > 0 and node.shape[0] == count:
            raise Mixed  # an array among lazy ones: its axes cannot be told
        return node
    return rows(node, first, last)


def _elementwise(node, args, first, last):
    ndim, count = len(node._meta.shape), node._meta.shape[0]
    made = []
    for arg in args:
        lazy = isinstance(arg, gguf.LazyBase)
        if lazy and (len(arg._meta.shape) < ndim or arg._meta.shape[0] != count):
            made.append(gguf.LazyBase.to_eager(arg))
        else:
            made.append(_rows_of(arg, count, first, last))
    return made


def _call(node, function, args, first, last):
    """Rows of what a function returns."""
    if hasattr(function, "rows"):
        return function.rows(*(_stored(arg) for arg in args), first, last)
    name, (source, *rest) = _name(function), args
    shape = node._meta.shape
    if name in _ROW_BY_ROW:
        return function(*_elementwise(node, args, first, last), **node._kwargs)
    if name == "view" and len(rest) == 1 and not isinstance(rest[0], (int, tuple, list)):
        return function(rows(source, first, last), *rest)  # another type
    if name in ("view", "reshape", "flatten") and source._meta.shape:
        return _reshaped(source, shape, first, last)
    if name == "__getitem__":
        key = rest[0] if isinstance(rest[0], tuple) else (rest[0],)
        if isinstance(key[0], slice) and key[0].step in (None, 1) and key[0].start in (None, 0) and len(source._meta.shape) >= len(key):
            if any(not isinstance(one, (slice, int)) for one in key[1:]) or key[0].stop is not None:
                raise Mixed
            return rows(source, first, last)[(slice(None), *key[1:])]
    if name in ("cat", "concat", "stack"):
        return _joined(name, function, args, node._kwargs, (first, last))
    if name in _OTHER_AXES and not node._kwargs:
        axes = _OTHER_AXES[name]
        places = range(0, axes) if isinstance(axes, int) else range(*axes)
        dims = [rest[at] if at < len(rest) else 0 for at in places]
        ndim = len(source._meta.shape)
        if all(isinstance(dim, int) and dim % (ndim + (name == "unsqueeze")) != 0 for dim in dims):
            return function(rows(source, first, last), *rest)
    raise Mixed


def _stored(node):
    """A tensor of the file, whose bytes are read where they are used, and not kept."""
    return node._data if node._data is not None else node._func(*gguf.LazyBase.to_eager(node._args), **node._kwargs)


def _reshaped(source, shape, first, last):
    """The order of values stays: they are in those rows of the source that hold them."""
    own, of_source = (math.prod(all_of[1:]) for all_of in (shape, source._meta.shape))
    low, high = first * own // of_source, -(-last * own // of_source)
    cut = first * own - low * of_source
    return rows(source, low, high).reshape(-1)[cut : cut + (last - first) * own].reshape(last - first, *shape[1:])


def _joined(name, function, args, kwargs, wanted):
    parts, (first, last) = args[0], wanted
    dim = (args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0)))
    if dim % (len(parts[0]._meta.shape) + (name == "stack")) != 0:
        return function([rows(part, first, last) for part in parts], *args[1:], **kwargs)
    if name == "stack":
        return function([rows(part, 0, part._meta.shape[0]) for part in parts[first:last]], *args[1:], **kwargs)
    found, at = [], 0
    for part in parts:
        count = part._meta.shape[0]
        low, high = max(first - at, 0), min(last - at, count)
        if low < high:
            found.append(rows(part, low, high))
        at += count
    return function(found, *args[1:], **kwargs)


def rows(node, first, last):
    """Rows of a lazy tensor, computed without the others; all of them where the call mixes them."""
    if node._data is not None:
        return node._data[first:last]
    key = (id(node), first, last)
    if key not in _of_piece:
        try:
            _of_piece[key] = _rows(node, first, last)
        except Mixed:
            _of_piece[key] = gguf.LazyBase.to_eager(node)[first:last]
    return _of_piece[key]


def _rows(node, first, last):
    args = node._args
    if len(args) == 1 and isinstance(args[0], gguf.utility.LocalTensor):
        tensor, place = args[0], args[0].data_range
        size = place.size // max(1, tensor.shape[0])
        part = dataclasses.replace(place, offset=place.offset + first * size, size=(last - first) * size)
        return node._func(dataclasses.replace(tensor, shape=(last - first, *tensor.shape[1:]), data_range=part))
    if not args or not node._meta.shape:
        raise Mixed
    if _name(node._func) == "eager_tuple_element":
        (shared, index), function = args, _captured(node._func, "fn")
        if shared[1] is None and shared[0][0]._meta.shape[0] == node._meta.shape[0]:
            return _call(node, function, shared[0], first, last)[index]
        raise Mixed
    return _call(node, node._func, args, first, last)


def install():
    whole = gguf.LazyNumpyTensor.tofile

    def tofile(self, *args, **kwargs):
        shape = self._meta.shape
        values = math.prod(shape)
        if self._data is not None or len(shape) < 2 or values <= PIECE_VALUES:
            return whole(self, *args, **kwargs)
        step = max(1, PIECE_VALUES * shape[0] // values)
        for first in range(0, shape[0], step):
            last = min(first + step, shape[0])
            piece = rows(self, first, last)
            _of_piece.clear()
            assert piece.shape == (last - first, *shape[1:]) and piece.dtype == self._meta.dtype
            piece.tofile(*args, **kwargs)

    gguf.LazyNumpyTensor.tofile = tofile
