# SPDX-License-Identifier: BSL-1.0
"""kiln for Python: tensors, gradients, modules and optimizers over libkiln_c, with torch's names.

Needs ctypes only; numpy's arrays are taken and given where numpy is there. The library is found by KILN_LIBRARY, beside
this file, or as the system finds libraries. Every failure is a kiln.Error, whose text is the library's sentence.
"""
import array
import contextlib
import ctypes as c
import os
import pathlib

try:
    import numpy
except ImportError:
    numpy = None


class _Handle(c.Structure):
    _fields_ = [("id", c.c_uint64)]


class _Option(c.Structure):
    _fields_ = [("name", c.c_char_p), ("kind", c.c_int32), ("n_whole_list", c.c_int32), ("whole", c.c_int64),
                ("number", c.c_double), ("text", c.c_char_p), ("whole_list", c.POINTER(c.c_int64))]


class _Int64(c.c_int64):
    """ctypes drops the bits of an integer that do not fit; this one refuses it."""

    @classmethod
    def from_param(cls, value):
        if not -2**63 <= value < 2**63:
            raise OverflowError(f"{value} does not fit 64 bits")
        return c.c_int64(value)


def _load():
    beside = pathlib.Path(__file__).with_name("libkiln_c.so")
    # PyDLL keeps the interpreter's lock: a tensor that is still to be computed is for one thread at a time.
    lib = c.PyDLL(os.environ.get("KILN_LIBRARY") or (str(beside) if beside.exists() else "libkiln_c.so"))
    out, p, i32, i64, f64, h, t = c.c_void_p, c.c_void_p, c.c_int32, _Int64, c.c_double, _Handle, c.c_char_p
    sizes = [p, i32]
    for name, arguments in {
            "seed": [c.c_uint64], "set_grad_enabled": [i32, out], "from_host": [i32, *sizes, p, c.c_size_t, out],
            "zeros": [i32, *sizes, out], "ones": [i32, *sizes, out], "full": [i32, *sizes, f64, out],
            "arange": [i32, f64, f64, f64, out], "randn": [i32, *sizes, out], "rand": [i32, *sizes, out],
            "scalar_float": [f64, i32, out], "scalar_int": [i64, i32, out], "tensor_free": [h],
            "tensor_dtype": [h, out], "tensor_dim": [h, out], "tensor_sizes": [h, p, i32], "eval": [h],
            "to_host": [h, p, c.c_size_t], "item": [h, out], "item_int64": [h, out], "to_dtype": [h, i32, out],
            "assign": [h, h], "call": [t, p, i32, out], "reduce": [t, h, p, i32, i32, out],
            "argmax": [h, i64, i32, out], "softmax": [h, i64, out], "log_softmax": [h, i64, out],
            "matmul": [h, h, out], "reshape": [h, *sizes, out], "transpose": [h, i64, i64, out],
            "permute": [h, *sizes, out], "narrow": [h, i64, i64, i64, out], "select": [h, i64, i64, out],
            "cat": [p, i32, i64, out], "set_requires_grad": [h, i32], "requires_grad": [h, out],
            "backward": [h, h, i32], "grad": [h, out], "zero_grad": [h], "detach": [h, out],
            "module_create": [t, p, i32, out], "module_sequential": [p, i32, out], "module_free": [h],
            "module_forward": [h, h, out], "module_train": [h, i32], "module_parameter_count": [h, out],
            "module_parameter": [h, i64, out], "loss": [t, h, h, p, i32, out],
            "optimizer_create": [t, p, i32, p, i32, out], "optimizer_free": [h], "optimizer_step": [h],
            "optimizer_zero_grad": [h], "optimizer_lr": [h, out], "optimizer_set_lr": [h, f64]}.items():
        getattr(lib, "kiln_" + name).argtypes = arguments
    lib.kiln_version.restype = lib.kiln_last_error.restype = t
    lib.kiln_live_handles.restype = c.c_int64
    return lib


_lib = _load()
__version__ = _lib.kiln_version().decode()


class Error(RuntimeError):
    """A call that failed; `status` is the number of kiln/c.h."""

    def __init__(self, status):
        super().__init__(_lib.kiln_last_error().decode())
        self.status = status


def _run(name, *arguments):
    if status := getattr(_lib, "kiln_" + name)(*arguments):
        raise Error(status)


def _get(kind, name, *arguments):
    result = kind()
    _run(name, *arguments, c.byref(result))
    return result if kind is _Handle else result.value


def _ints(values):
    values = (values,) if isinstance(values, int) else tuple(values)
    return (c.c_int64 * len(values))(*(_Int64.from_param(each) for each in values)), len(values)


def _text(text):
    if "\0" in text:
        raise ValueError(f"a zero character in {text!r}, where C ends a text")
    return text.encode()


def _handles(things):
    return (_Handle * len(things))(*(each._handle for each in things)), len(things)


def _options(values):
    made = (_Option * len(values))()
    for option, (name, value) in zip(made, values.items()):
        option.name = _text(name)
        if isinstance(value, bool):
            option.kind, option.whole = 2, value
        elif isinstance(value, int):
            option.kind, option.whole = 0, _Int64.from_param(value)
        elif isinstance(value, float):
            option.kind, option.number = 1, value
        elif isinstance(value, str):
            option.kind, option.text = 3, _text(value)
        else:
            option.kind, (option.whole_list, option.n_whole_list) = 4, _ints(value)
    return made, len(values)


# Names in the order of their numbers, with how the array module and ctypes call one that Python has numbers for.
_dtypes = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
_codes = {0: "B", 1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "f", 9: "d"}


def _flat(data, sizes, depth=0):
    """The numbers of nested lists, and their sizes; all lists of one depth have one length."""
    if not isinstance(data, (list, tuple)):
        if depth != len(sizes):
            raise ValueError("tensor: lists of different depth")
        return [data]
    if depth == len(sizes):
        sizes.append(len(data))
    if sizes[depth] != len(data):
        raise ValueError(f"tensor: lists of {sizes[depth]} and {len(data)} at one depth")
    return [x for each in data for x in _flat(each, sizes, depth + 1)]


def _nested(values, sizes):
    if len(sizes) < 2:
        return values if sizes else values[0]
    step = len(values) // sizes[0] if sizes[0] else 0
    return [_nested(values[i * step:(i + 1) * step], sizes[1:]) for i in range(sizes[0])]


class Tensor:
    """A handle to a tensor; made by tensor(), zeros(), randn(), ... and by operations."""

    def __init__(self, handle):
        self._handle = handle

    def __del__(self, free=_lib.kiln_tensor_free):
        if self._handle.id:
            free(self._handle)

    dtype = property(lambda self: _dtypes[_get(c.c_int32, "tensor_dtype", self._handle)])
    ndim = property(lambda self: _get(c.c_int32, "tensor_dim", self._handle))
    T = property(lambda self: self.transpose(-2, -1))

    @property
    def shape(self):
        sizes = (c.c_int64 * self.ndim)()
        _run("tensor_sizes", self._handle, sizes, len(sizes))
        return tuple(sizes)

    @property
    def requires_grad(self):
        return bool(_get(c.c_int32, "requires_grad", self._handle))

    @requires_grad.setter
    def requires_grad(self, on):
        _run("set_requires_grad", self._handle, bool(on))

    @property
    def grad(self):
        handle = _get(_Handle, "grad", self._handle)
        return Tensor(handle) if handle.id else None

    def backward(self, gradient=None, retain_graph=False):
        _run("backward", self._handle, gradient._handle if gradient is not None else _Handle(), retain_graph)

    def zero_grad(self):
        _run("zero_grad", self._handle)

    def _elements(self):
        number = _dtypes.index(self.dtype)
        if number not in _codes:
            return self.to("float32")._elements()
        values = array.array(_codes[number], bytes(array.array(_codes[number]).itemsize * self.numel()))
        _run("to_host", self._handle, (c.c_char * (len(values) * values.itemsize)).from_buffer(values) if values
             else None, len(values) * values.itemsize)
        return values

    def tolist(self):
        values = self._elements().tolist()
        return _nested([bool(x) for x in values] if self.dtype == "bool" else values, self.shape)

    def numpy(self):
        kind = "float32" if self.dtype == "bfloat16" else self.dtype
        return numpy.array(self._elements()).astype(kind).reshape(self.shape)

    def item(self):
        if self.dtype.startswith(("float", "bfloat")):
            return _get(c.c_double, "item", self._handle)
        value = _get(c.c_int64, "item_int64", self._handle)
        return bool(value) if self.dtype == "bool" else value

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def to(self, dtype):
        return Tensor(_get(_Handle, "to_dtype", self._handle, _dtypes.index(dtype)))

    def detach(self):
        return Tensor(_get(_Handle, "detach", self._handle))

    def copy_(self, values):
        _run("assign", self._handle, _operand(values)._handle)
        return self

    def reshape(self, *sizes):
        return Tensor(_get(_Handle, "reshape", self._handle, *_ints(sizes[0] if len(sizes) == 1 else sizes)))

    def transpose(self, a, b):
        return Tensor(_get(_Handle, "transpose", self._handle, a, b))

    def permute(self, *order):
        return Tensor(_get(_Handle, "permute", self._handle, *_ints(order[0] if len(order) == 1 else order)))

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]

    def __getitem__(self, places):
        result, axis = self, 0
        for place in places if isinstance(places, tuple) else (places,):
            if isinstance(place, slice):
                begin, end, step = place.indices(result.shape[axis] if axis < result.ndim else 0)
                if step != 1:
                    raise IndexError(f"a step of {step}: slices of tensors have steps of 1")
                result = Tensor(_get(_Handle, "narrow", result._handle, axis, begin, max(end - begin, 0)))
                axis += 1
            else:
                if axis < result.ndim and not -result.shape[axis] <= place < result.shape[axis]:
                    raise IndexError(f"index {place} of an axis of {result.shape[axis]}")  # what ends a for loop
                result = Tensor(_get(_Handle, "select", result._handle, axis, place))
        return result

    def _reduce(self, name, axis, keepdim):
        axes, count = _ints(() if axis is None else axis)
        return Tensor(_get(_Handle, "reduce", _text(name), self._handle, axes, count, keepdim))

    def softmax(self, axis=-1):
        return Tensor(_get(_Handle, "softmax", self._handle, axis))

    def log_softmax(self, axis=-1):
        return Tensor(_get(_Handle, "log_softmax", self._handle, axis))

    def argmax(self, axis=-1, keepdim=False):
        return Tensor(_get(_Handle, "argmax", self._handle, axis, keepdim))

    def __matmul__(self, other):
        return Tensor(_get(_Handle, "matmul", self._handle, other._handle))

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __repr__(self):
        return f"tensor({self.tolist()}, dtype={self.dtype})"

    __hash__ = object.__hash__


def _operand(value):
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int)):
        return Tensor(_get(_Handle, "scalar_int", value, 0 if isinstance(value, bool) else 5))
    return Tensor(_get(_Handle, "scalar_float", value, 8))


def call(name, *operands):
    """A pointwise operation by its name in kiln."""
    operands = [_operand(each) for each in operands]
    return Tensor(_get(_Handle, "call", _text(name), *_handles(operands)))


def _define_methods():
    def pointwise(name):
        return lambda self, *others: call(name, self, *others)

    def reduction(name):
        return lambda self, axis=None, keepdim=False: self._reduce(name, axis, keepdim)

    for name in "add sub mul div pow".split():
        called = "truediv" if name == "div" else name
        setattr(Tensor, f"__{called}__", pointwise(name))
        setattr(Tensor, f"__r{called}__", lambda self, other, name=name: call(name, other, self))
    for name in "lt le gt ge eq ne neg abs".split():
        setattr(Tensor, f"__{name}__", pointwise(name))
    for name in "exp log sin cos tanh sqrt sigmoid relu square".split():
        setattr(Tensor, name, pointwise(name))
    for name in "sum prod mean max min var std norm any all".split():
        setattr(Tensor, name, reduction(name))


_define_methods()


def tensor(data, dtype=None, requires_grad=False):
    """A tensor of nested lists, a number or an array of numpy; float32, int64 or bool by what is in it."""
    if numpy is not None and isinstance(data, numpy.ndarray):
        memory = numpy.array(data, order="C")
        if memory.dtype.name not in _dtypes:
            raise TypeError(f"tensor: an array of {memory.dtype}, which kiln has no type for")
        return _made("from_host", memory.dtype.name, memory.shape, memory.ctypes.data, memory.nbytes,
                     requires_grad=requires_grad, final=dtype)
    sizes = []
    values = _flat(data, sizes)
    natural = 0 if values and all(isinstance(x, bool) for x in values) else 9
    if natural and values and all(isinstance(x, int) for x in values):
        natural = 5
    memory = array.array(_codes[natural], values)
    return _made("from_host", _dtypes[natural], sizes, memory.buffer_info()[0], len(memory) * memory.itemsize,
                 requires_grad=requires_grad, final=dtype or {0: "bool", 5: "int64", 9: "float32"}[natural])


def _made(name, dtype, sizes, *more, requires_grad=False, final=None):
    made = Tensor(_get(_Handle, name, _dtypes.index(dtype), *_ints(sizes), *more)).to(final or dtype)
    if requires_grad:
        made.requires_grad = True
    return made


def _new(name, sizes, dtype, *more, **options):
    return _made(name, dtype, sizes[0] if len(sizes) == 1 else sizes, *more, **options)


def zeros(*sizes, dtype="float32", **more):
    return _new("zeros", sizes, dtype, **more)


def ones(*sizes, dtype="float32", **more):
    return _new("ones", sizes, dtype, **more)


def full(sizes, value, dtype="float32", **more):
    return _new("full", (sizes,), dtype, value, **more)


def randn(*sizes, dtype="float32", **more):
    return _new("randn", sizes, dtype, **more)


def rand(*sizes, dtype="float32", **more):
    return _new("rand", sizes, dtype, **more)


def arange(start, end=None, step=1, dtype=None):
    if end is None:
        start, end = 0, start
    whole = all(isinstance(x, int) for x in (start, end, step))
    return Tensor(_get(_Handle, "arange", _dtypes.index(dtype or ("int64" if whole else "float32")), start, end, step))


def cat(parts, axis=0):
    return Tensor(_get(_Handle, "cat", *_handles(list(parts)), axis))


def manual_seed(seed):
    _run("seed", seed % 2**64)


def live_handles():
    return _lib.kiln_live_handles()


@contextlib.contextmanager
def no_grad():
    before = _get(c.c_int32, "set_grad_enabled", False)
    try:
        yield
    finally:
        _run("set_grad_enabled", before, None)


class Module:
    """A layer by its name in torch.nn, with that one's options by name."""

    def __init__(self, name, **options):
        self._handle = _Handle()
        self._handle = _get(_Handle, "module_create", _text(name), *_options(options))

    def __del__(self, free=_lib.kiln_module_free):
        if self._handle.id:
            free(self._handle)

    def __call__(self, x):
        return Tensor(_get(_Handle, "module_forward", self._handle, x._handle))

    def parameters(self):
        count = _get(c.c_int64, "module_parameter_count", self._handle)
        return [Tensor(_get(_Handle, "module_parameter", self._handle, i)) for i in range(count)]

    def train(self, on=True):
        _run("module_train", self._handle, on)
        return self

    def eval(self):
        return self.train(False)


class Linear(Module):
    def __init__(self, in_features, out_features, **options):
        super().__init__("Linear", in_features=in_features, out_features=out_features, **options)


class ReLU(Module):
    def __init__(self):
        super().__init__("ReLU")


class Sequential(Module):
    def __init__(self, *parts):
        self._handle = _Handle()
        self._handle = _get(_Handle, "module_sequential", *_handles(parts))


class Optimizer:
    """SGD, Adam, ... by name, over parameters, with torch's options."""

    def __init__(self, name, parameters, **options):
        self._handle = _Handle()
        self._handle = _get(_Handle, "optimizer_create", _text(name), *_handles(list(parameters)),
                            *_options(options))

    def __del__(self, free=_lib.kiln_optimizer_free):
        if self._handle.id:
            free(self._handle)

    def step(self):
        _run("optimizer_step", self._handle)

    def zero_grad(self):
        _run("optimizer_zero_grad", self._handle)

    lr = property(lambda self: _get(c.c_double, "optimizer_lr", self._handle),
                  lambda self, lr: _run("optimizer_set_lr", self._handle, lr))


class SGD(Optimizer):
    def __init__(self, parameters, lr=1e-3, **options):
        super().__init__("SGD", parameters, lr=lr, **options)


class Adam(Optimizer):
    def __init__(self, parameters, lr=1e-3, **options):
        super().__init__("Adam", parameters, lr=lr, **options)


def loss(name, x, target, **options):
    """A loss by name: mse, l1, smoothl1, huber, bce, bcelogits, ce, nll, kl."""
    return Tensor(_get(_Handle, "loss", _text(name), x._handle, target._handle, *_options(options)))


def mse_loss(x, target, **options):
    return loss("mse", x, target, **options)


def cross_entropy(x, target, **options):
    return loss("ce", x, target, **options)
