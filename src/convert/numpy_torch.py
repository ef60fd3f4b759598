"""What llama.cpp's converter uses of PyTorch, over NumPy. start.py puts it in torch's place where there is none.

Tensors of 16 and 8 bits that NumPy has no type for keep their bits; arithmetic is in float32 and rounds to nearest even, as PyTorch's on the CPU.
A meta tensor is a view of one zero: shapes are computed without its memory. What is missing raises MissingError, whose text svc looks for.
"""

import builtins
import contextlib
import math
import operator
import sys
import types

import numpy as np

__version__ = "0"  # transformers must not take it for PyTorch


class MissingError(RuntimeError):
    def __init__(self, what):
        super().__init__(f"this model needs PyTorch: NumPy's converter has no {what}")


class dtype:
    def __init__(self, name, storage, bits=None, is_float=False):
        self.name, self.storage, self.bits = name, np.dtype(storage), bits  # bits: what they mean, where NumPy has no type
        self.is_floating_point = is_float
        self.itemsize = self.storage.itemsize

    def __repr__(self):
        return f"torch.{self.name}"


bfloat16 = dtype("bfloat16", np.uint16, "bf16", True)
float8_e4m3fn = dtype("float8_e4m3fn", np.uint8, "e4m3", True)
float8_e5m2 = dtype("float8_e5m2", np.uint8, "e5m2", True)
float8_e8m0fnu = dtype("float8_e8m0fnu", np.uint8, "e8m0", True)
float16, float32, float64 = (dtype(f"float{n}", f"f{n // 8}", None, True) for n in (16, 32, 64))
uint8, int8, int16, int32, int64 = dtype("uint8", "u1"), dtype("int8", "i1"), dtype("int16", "i2"), dtype("int32", "i4"), dtype("int64", "i8")
uint16, uint32, uint64 = dtype("uint16", "u2"), dtype("uint32", "u4"), dtype("uint64", "u8")
bool = dtype("bool", np.bool_)
half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
_OF_NUMPY = {t.storage: t for t in (float16, float32, float64, uint8, int8, int16, int32, int64, uint16, uint32, uint64, bool)}


class Size(tuple):
    def numel(self):
        return math.prod(self)


class device:
    def __init__(self, kind="cpu"):
        self.type = kind


def _is_meta(a):
    return a.size > 1 and not builtins.any(s for s, n in zip(a.strides, a.shape) if n > 1)


def _zeros(shape, storage):
    return np.lib.stride_tricks.as_strided(np.zeros(1, storage), tuple(shape), (0,) * len(shape))


def _e4m3(codes):
    sign, exponent, fraction = codes >> 7, (codes >> 3) & 15, codes & 7
    value = np.where(exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0 ** (exponent.astype(np.int32) - 7))
    value = np.where((codes & 127) == 127, np.nan, value)
    return np.where(sign == 1, -value, value).astype(np.float32)


_CODES = np.arange(256, dtype=np.uint8)
with np.errstate(over="ignore"):
    _TABLES = {
        "e4m3": _e4m3(_CODES),
        "e5m2": (_CODES.astype(np.uint16) << 8).view(np.float16).astype(np.float32),
        "e8m0": np.where(_CODES == 255, np.nan, np.exp2(_CODES.astype(np.float64) - 127)).astype(np.float32),
    }


def _value(t):
    """The values in a type that NumPy computes with."""
    if t.dtype.bits is None:
        return t.a
    if _is_meta(t.a):
        return _zeros(t.a.shape, np.float32)
    if t.dtype.bits == "bf16":
        wide = t.a.astype(np.uint32)
        wide <<= 16
        return wide.view(np.float32)
    return _TABLES[t.dtype.bits][t.a]


def _store(a, to):
    """Values in the storage of a type."""
    if _is_meta(a):
        return _zeros(a.shape, to.storage)
    if to.bits is None:
        with np.errstate(over="ignore", invalid="ignore"):
            return a.astype(to.storage, copy=False)
    if to.bits != "bf16":
        raise MissingError(f"rounding to {to!r}")
    bits = np.ascontiguousarray(a, dtype=np.float32).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(a), np.uint16(0x7FC0), rounded)


def _shape(args):
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


def _raw(x):
    return _value(x) if isinstance(x, Tensor) else x


def _result(a, *sources):
    """A tensor of a computed array; of sources in 16 bits that NumPy lacks the result is in these, as in PyTorch."""
    if not isinstance(a, np.ndarray):
        a = np.asarray(a)
    tensors = [s for s in sources if isinstance(s, Tensor) and s.a.ndim > 0] or [s for s in sources if isinstance(s, Tensor)]
    floats = {s.dtype for s in tensors if s.dtype.is_floating_point}
    if a.dtype.kind == "f" and len(floats) == 1:
        (only,) = floats
        return Tensor(_store(a, only), only)
    return Tensor(a if a.dtype != np.float64 or not floats or float64 in floats else a.astype(np.float32))


def _compute(function, *sources):
    """An elementwise function, of meta tensors without their memory."""
    values = [_raw(s) for s in sources]
    # A Python number does not widen, as in PyTorch.
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    if builtins.any(_is_meta(v) for v in arrays):
        shape = np.broadcast_shapes(*(v.shape for v in arrays))
        small = [v.reshape(-1)[:1] if isinstance(v, np.ndarray) else v for v in values]
        with np.errstate(all="ignore"):
            one = np.asarray(function(*small))
        return _result(_zeros(shape, one.dtype), *sources)
    with np.errstate(all="ignore"):
        return _result(function(*values), *sources)


class Tensor:
    def __init__(self, a, as_dtype=None):
        self.a = a
        self.dtype = as_dtype if as_dtype is not None else _OF_NUMPY[a.dtype]

    shape = property(lambda self: Size(self.a.shape))
    ndim = property(lambda self: self.a.ndim)
    device = property(lambda self: device("meta" if _is_meta(self.a) else "cpu"))
    T = property(lambda self: self._like(self.a.T))
    mT = property(lambda self: self._like(np.swapaxes(self.a, -1, -2)))
    data = property(lambda self: self)
    requires_grad = False

    def _like(self, a):
        return Tensor(a, self.dtype)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingError(f"Tensor.{name}")

    def __repr__(self):
        return f"tensor({_value(self)}, dtype={self.dtype!r})"

    def __len__(self):
        return self.a.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        keys = tuple(k.a if isinstance(k, Tensor) else k for k in keys)
        return self._like(np.asarray(self.a[keys]))

    def __setitem__(self, key, value):
        keys = key if isinstance(key, tuple) else (key,)
        stored = _store(np.asarray(_raw(value)), self.dtype)
        self.a[tuple(k.a if isinstance(k, Tensor) else k for k in keys)] = stored

    def __bool__(self):
        return builtins.bool(_value(self))

    def __int__(self):
        return builtins.int(_value(self))

    def __float__(self):
        return builtins.float(_value(self))

    def __index__(self):
        return operator.index(_value(self).item())

    __hash__ = object.__hash__

    # --- shapes
    def reshape(self, *shape):
        return self._like(self.a.reshape(_shape(shape)))

    def view(self, *shape):
        if len(shape) == 1 and isinstance(shape[0], dtype):
            to = shape[0]
            if to.itemsize == self.a.itemsize:
                return Tensor(self.a.view(to.storage), to)
            if _is_meta(self.a):
                last = self.a.shape[-1] * self.a.itemsize // to.itemsize
                return Tensor(_zeros((*self.a.shape[:-1], last), to.storage), to)
            return Tensor(np.ascontiguousarray(self.a).view(to.storage), to)
        return self.reshape(*shape)

    def permute(self, *dims):
        return self._like(np.transpose(self.a, _shape(dims)))

    def transpose(self, first, second):
        return self._like(np.swapaxes(self.a, first, second))

    swapaxes = swapdims = transpose

    def t(self):
        return self.T

    def squeeze(self, dim=None):
        if dim is None:
            return self._like(np.squeeze(self.a))
        return self._like(np.squeeze(self.a, dim)) if self.a.shape[dim] == 1 else self

    def unsqueeze(self, dim):
        return self._like(np.expand_dims(self.a, dim))

    def flatten(self, start_dim=0, end_dim=-1):
        shape = self.a.shape or (1,)
        end = end_dim % len(shape)
        return self.reshape(*shape[:start_dim], -1, *shape[end + 1 :])

    def expand(self, *sizes):
        sizes = _shape(sizes)
        own = (1,) * (len(sizes) - self.a.ndim) + self.a.shape
        return self._like(np.broadcast_to(self.a, tuple(o if s == -1 else s for s, o in zip(sizes, own))))

    def size(self, dim=None):
        return self.shape if dim is None else self.a.shape[dim]

    def dim(self):
        return self.a.ndim

    def numel(self):
        return self.a.size

    def element_size(self):
        return self.a.itemsize

    def split(self, size, dim=0):
        if isinstance(size, builtins.int):
            total = self.a.shape[dim]
            size = [builtins.min(size, total - at) for at in range(0, total, size)]
        cuts = np.cumsum(size)
        if cuts[-1] != self.a.shape[dim]:
            raise RuntimeError(f"split sizes {list(size)} do not sum up to {self.a.shape[dim]}")
        return tuple(self._like(part) for part in np.split(self.a, cuts[:-1], axis=dim))

    def chunk(self, chunks, dim=0):
        return self.split(-(-self.a.shape[dim] // chunks), dim)

    def unbind(self, dim=0):
        return tuple(self._like(part) for part in np.moveaxis(self.a, dim, 0))

    def repeat_interleave(self, repeats, dim=None):
        if dim is not None and _is_meta(self.a):
            shape = list(self.a.shape)
            shape[dim] *= repeats
            return self._like(_zeros(shape, self.a.dtype))
        return self._like(np.repeat(self.a, _raw(repeats), axis=dim))

    def repeat(self, *sizes):
        return self._like(np.tile(self.a, _shape(sizes)))

    def index_select(self, dim, index):
        return self._like(np.take(self.a, index.a, axis=dim))

    def narrow(self, dim, start, length):
        return self._like(np.take(self.a, range(start, start + length), axis=dim))

    def flip(self, *dims):
        return self._like(np.flip(self.a, _shape(dims)))

    def roll(self, shifts, dims=None):
        return self._like(np.roll(self.a, shifts, dims))

    def movedim(self, source, destination):
        return self._like(np.moveaxis(self.a, source, destination))

    # --- types and copies
    def to(self, *args, **kwargs):
        to = next((x for x in (*args, kwargs.get("dtype")) if isinstance(x, dtype)), None)
        if to is None or to is self.dtype:
            return self
        return Tensor(_store(_value(self), to), to)

    type = to

    def float(self):
        return self.to(float32)

    def half(self):
        return self.to(float16)

    def double(self):
        return self.to(float64)

    def long(self):
        return self.to(int64)

    def int(self):
        return self.to(int32)

    def bool(self):
        return self.to(bool)

    def contiguous(self):
        return self if _is_meta(self.a) else self._like(np.ascontiguousarray(self.a).reshape(self.a.shape))

    def clone(self):
        return self if _is_meta(self.a) else self._like(self.a.copy())

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        if self.dtype.bits is not None:
            raise MissingError(f"NumPy type of {self.dtype!r}")
        return self.a

    def tolist(self):
        return _value(self).tolist()

    def item(self):
        return _value(self).item()

    def new_zeros(self, *shape, dtype=None):
        return zeros(*shape, dtype=dtype or self.dtype)

    def copy_(self, other):
        self[...] = other
        return self

    # --- sums
    def _reduced(self, function, dim, keepdim):
        return _result(np.asarray(function(_value(self), axis=dim, keepdims=keepdim)), self)

    def sum(self, dim=None, keepdim=False):
        return self._reduced(np.sum, dim, keepdim)

    def mean(self, dim=None, keepdim=False):
        return self._reduced(np.mean, dim, keepdim)

    def any(self, dim=None, keepdim=False):
        return self._reduced(np.any, dim, keepdim)

    def all(self, dim=None, keepdim=False):
        return self._reduced(np.all, dim, keepdim)

    def max(self, dim=None, keepdim=False):
        if dim is not None:
            raise MissingError("Tensor.max of a dimension")
        return self._reduced(np.max, dim, keepdim)

    def min(self, dim=None, keepdim=False):
        if dim is not None:
            raise MissingError("Tensor.min of a dimension")
        return self._reduced(np.min, dim, keepdim)

    def norm(self, dim=None, keepdim=False):
        return _result(np.asarray(np.sqrt(np.sum(np.square(_value(self)), axis=dim, keepdims=keepdim))), self)

    def sort(self, dim=-1):
        order = np.argsort(_value(self), axis=dim, kind="stable")
        return self._like(np.take_along_axis(self.a, order, axis=dim)), Tensor(order)

    def clamp(self, min=None, max=None):
        return _compute(lambda a: np.clip(a, min, max), self)

    def softmax(self, dim):
        e = np.exp(_value(self) - np.max(_value(self), axis=dim, keepdims=True))
        return _result(e / e.sum(axis=dim, keepdims=True), self)


def _method(function, name=None):
    def method(self, *others):
        return _compute(function, self, *others)

    method.__name__ = name or function.__name__  # stream.py reads it
    return method


for _name, _function in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "floordiv": operator.floordiv,
    "mod": operator.mod, "pow": operator.pow, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift,
}.items():
    setattr(Tensor, f"__{_name}__", _method(_function, f"__{_name}__"))
    setattr(Tensor, f"__i{_name}__", _method(_function, f"__i{_name}__"))
    setattr(Tensor, f"__r{_name}__", _method(lambda a, b, f=_function: f(b, a), f"__r{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _method(getattr(operator, _name), f"__{_name}__"))
Tensor.__neg__, Tensor.__invert__, Tensor.__pos__ = _method(operator.neg, "__neg__"), _method(operator.invert, "__invert__"), lambda self: self
Tensor.__matmul__ = lambda self, other: _result(_value(self) @ _value(other), self, other)
for _name in ("exp", "exp2", "log", "sqrt", "abs", "round", "sin", "cos", "reciprocal"):
    setattr(Tensor, _name, _method(getattr(np, _name)))
Tensor.__abs__ = Tensor.abs
Tensor.rsqrt = _method(lambda a: 1 / np.sqrt(a), "rsqrt")
for _name, _of in {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "pow": "pow", "ne": "ne", "eq": "eq", "gt": "gt", "lt": "lt"}.items():
    setattr(Tensor, _name, getattr(Tensor, f"__{_of}__"))


def _div_(self, other):
    self.a = (self / other).a
    return self


Tensor.div_ = _div_


def _lazy(args):
    """The class of the first lazy tensor among arguments and lists of them."""
    for x in args:
        if not isinstance(x, Tensor) and hasattr(type(x), "__torch_function__"):
            return type(x)
        if isinstance(x, (list, tuple)) and (found := _lazy(x)) is not None:
            return found
    return None


def _function(f):
    def call(*args, **kwargs):
        if (lazy := _lazy((*args, *kwargs.values()))) is not None:
            return lazy.__torch_function__(call, (), args, kwargs)
        return f(*args, **kwargs)

    call.__name__ = f.__name__
    return call


def _common(tensors):
    kinds = {t.dtype for t in tensors}
    if len(kinds) == 1:
        return tensors[0].dtype, [t.a for t in tensors]
    values = [_value(t) for t in tensors]
    return _OF_NUMPY[np.result_type(*values)], values


@_function
def cat(tensors, dim=0, axis=None):
    tensors = list(tensors)
    dim = dim if axis is None else axis
    kind, arrays = _common(tensors)
    if builtins.any(_is_meta(a) for a in arrays):
        shape = list(arrays[0].shape)
        shape[dim] = builtins.sum(a.shape[dim] for a in arrays)
        return Tensor(_zeros(shape, kind.storage), kind)
    return Tensor(np.concatenate(arrays, axis=dim), kind)


concat = cat


@_function
def stack(tensors, dim=0):
    return cat.__wrapped__([t.unsqueeze(dim) for t in tensors], dim)


def _cat_plain(tensors, dim=0):
    return cat(tensors, dim)


cat.__wrapped__ = _cat_plain


@_function
def equal(first, second):
    return first.a.shape == second.a.shape and builtins.bool(np.array_equal(_value(first), _value(second)))


@_function
def where(condition, first, second):
    return _compute(lambda c, a, b: np.where(c, a, b), condition, first, second)


@_function
def bitwise_and(a, b):
    return a & b


@_function
def bitwise_or(a, b):
    return a | b


@_function
def bitwise_right_shift(a, b):
    return a >> b


@_function
def bitwise_left_shift(a, b):
    return a << b


def _named(name):
    def call(tensor, *args, **kwargs):
        return getattr(tensor, name)(*args, **kwargs)

    call.__name__ = name
    return _function(call)


for _name in (
    "squeeze", "unsqueeze", "reshape", "permute", "transpose", "split", "chunk", "flatten", "exp", "exp2", "log", "sqrt", "sin", "cos", "abs",
    "sum", "mean", "any", "all", "sort", "norm", "repeat_interleave", "index_select", "roll", "flip", "clamp", "unbind", "swapaxes", "neg",
):
    globals()[_name] = _named(_name)
Tensor.neg = Tensor.__neg__


@_function
def nonzero(tensor):
    return Tensor(np.argwhere(_value(tensor)))


def _kind(given, a):
    return Tensor(_store(a, given), given) if given is not None else Tensor(a)


def tensor(data, dtype=None, **_):
    a = np.asarray(data)
    if dtype is None and a.dtype == np.float64:
        dtype = float32
    return _kind(dtype, a)


def from_numpy(a):
    return Tensor(a)


def empty(*size, dtype=None, device=None, **kwargs):
    shape = tuple(kwargs["size"]) if "size" in kwargs else _shape(size)
    kind = dtype or float32
    return Tensor(_zeros(shape, kind.storage) if device == "meta" else np.zeros(shape, kind.storage), kind)


def zeros(*size, dtype=None, **kwargs):
    return empty(*size, dtype=dtype, **{k: v for k, v in kwargs.items() if k == "size"})


def full(size, value, dtype=None, **_):
    return _kind(dtype, np.full(tuple(size), value, dtype=None if isinstance(value, (builtins.bool, builtins.int)) else np.float32))


def ones(*size, dtype=None, **_):
    return _kind(dtype or float32, np.ones(_shape(size), np.float32))


@_function
def zeros_like(other, dtype=None, **_):
    return zeros(*other.shape, dtype=dtype or other.dtype)


@_function
def ones_like(other, dtype=None, **_):
    return ones(*other.shape, dtype=dtype or other.dtype)


def arange(*bounds, dtype=None, **_):
    a = np.arange(*bounds)
    return _kind(dtype or (float32 if a.dtype.kind == "f" else int64), a)


def finfo(kind):
    if kind.bits is not None:
        raise MissingError(f"finfo of {kind!r}")
    return np.finfo(kind.storage)


def is_tensor(x):
    return isinstance(x, Tensor)


def inference_mode(_mode=True):
    return contextlib.nullcontext()


no_grad = inference_mode


def load(*_args, **_kwargs):
    raise MissingError("reader of .bin files; use a repository with safetensors")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise MissingError(f"torch.{name}")


class _Functional(types.ModuleType):
    @staticmethod
    def softplus(x):
        return _compute(lambda a: np.logaddexp(a, 0), x)

    @staticmethod
    def linear(x, weight):
        return x @ weight.T

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingError(f"torch.nn.functional.{name}")


nn = types.ModuleType("torch.nn")
nn.functional = _Functional("torch.nn.functional")


def install():
    """Takes torch's place among the modules."""
    module = sys.modules[__name__]
    sys.modules.update({"torch": module, "torch.nn": nn, "torch.nn.functional": nn.functional})
