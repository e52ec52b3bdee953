# SPDX-License-Identifier: BSL-1.0
"""What one writes first with a tensor library, with the values that must come: python3 sessions.py

PYTHONPATH has kiln.py, KILN_LIBRARY names libkiln_c.so.
"""
import ctypes
import gc
import math

import kiln


def near(got, wanted, within=1e-5):
    if isinstance(wanted, list):
        assert len(got) == len(wanted), (got, wanted)
        for g, w in zip(got, wanted):
            near(g, w, within)
    else:
        assert abs(got - wanted) <= within * max(1.0, abs(wanted)), (got, wanted)


def refused(status, text, f):
    try:
        f()
    except kiln.Error as error:
        assert error.status == status and text in str(error), (error.status, str(error))
    else:
        raise AssertionError(f"no error where status {status} was due")


def raised(kind, f):
    try:
        f()
    except kind:
        return
    raise AssertionError(f"no {kind} where one was due")


def tensors():
    x = kiln.tensor([[1, 2, 3], [4, 5, 6.5]])
    assert x.shape == (2, 3) and x.dtype == "float32" and x.ndim == 2 and x.numel() == 6 and len(x) == 2
    assert x.tolist() == [[1, 2, 3], [4, 5, 6.5]]
    assert x[1].tolist() == [4, 5, 6.5] and x[1, 2].item() == 6.5 and x[:, 1].tolist() == [2, 5]
    assert x[:, 1:].tolist() == [[2, 3], [5, 6.5]] and x[-1, -1].item() == 6.5
    assert [row.tolist() for row in x] == x.tolist()
    assert kiln.tensor([1, 2]).dtype == "int64" and kiln.tensor([True]).tolist() == [True]
    assert kiln.tensor(3).shape == () and kiln.tensor(3).item() == 3 and kiln.tensor([]).tolist() == []
    assert kiln.zeros(2, 2).tolist() == [[0, 0], [0, 0]] and kiln.ones((2,), dtype="int32").tolist() == [1, 1]
    assert kiln.full((2,), 7).tolist() == [7, 7] and kiln.arange(3).tolist() == [0, 1, 2]
    near(kiln.arange(0.0, 1.0, 0.25).tolist(), [0, 0.25, 0.5, 0.75])
    assert kiln.zeros(2, 0).tolist() == [[], []]
    kiln.manual_seed(5)
    first = kiln.randn(3).tolist()
    kiln.manual_seed(5)
    assert kiln.randn(3).tolist() == first
    assert kiln.tensor([1, 0], dtype="bool").tolist() == [True, False] and kiln.ones(1, requires_grad=True).requires_grad
    assert "tensor([1, 2], dtype=int64)" == repr(kiln.tensor([1, 2]))
    if kiln.numpy is not None:
        assert (x.numpy() == kiln.numpy.array([[1, 2, 3], [4, 5, 6.5]])).all()
        assert kiln.tensor(x.numpy()).tolist() == x.tolist() and kiln.tensor(x.numpy().T).tolist() == x.T.tolist()
        for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"):
            there = kiln.tensor(kiln.numpy.array([[1, 0, 1]], dtype=name))
            assert there.dtype == name and there.numpy().dtype.name == name and there.numpy().tolist() == [[1, 0, 1]]
        assert kiln.tensor(kiln.numpy.zeros((0, 3))).shape == (0, 3) and kiln.tensor(kiln.numpy.array(2.5)).item() == 2.5


def operations():
    a, b = kiln.tensor([[1.0, 2.0], [3.0, 4.0]]), kiln.tensor([[5.0, 6.0], [7.0, 8.0]])
    assert (a + b).tolist() == [[6, 8], [10, 12]] and (a * b).tolist() == [[5, 12], [21, 32]]
    assert (a - 1).tolist() == [[0, 1], [2, 3]] and (1 - a).tolist() == [[0, -1], [-2, -3]]
    assert (12 / a).tolist() == [[12, 6], [4, 3]] and (-a)[0].tolist() == [-1, -2] and (a**2)[1].tolist() == [9, 16]
    assert (a @ b).tolist() == [[19, 22], [43, 50]] and a.T.tolist() == [[1, 3], [2, 4]]
    assert (a + kiln.tensor([10.0, 20.0])).tolist() == [[11, 22], [13, 24]]
    assert (a > 2).tolist() == [[False, False], [True, True]] and (a == 2).dtype == "bool"
    assert a.sum().item() == 10 and a.sum(axis=0).tolist() == [4, 6] and a.mean(axis=1, keepdim=True).shape == (2, 1)
    assert a.max().item() == 4 and a.min(axis=1).tolist() == [1, 3] and b.argmax(axis=0).tolist() == [1, 1]
    near(a.std().item(), math.sqrt(5 / 3))
    near(a.exp()[0].tolist(), [math.e, math.e**2])
    near(a.softmax()[0].tolist(), [1 / (1 + math.e), math.e / (1 + math.e)])
    assert a.reshape(4).tolist() == [1, 2, 3, 4] and a.reshape(1, -1).shape == (1, 4)
    assert kiln.zeros(2, 3, 4).permute(2, 0, 1).shape == (4, 2, 3) and kiln.cat([a, b]).shape == (4, 2)
    assert (kiln.tensor([1, 2]) + 1).dtype == "int64" and (kiln.tensor([1, 2]) + 0.5).tolist() == [1.5, 2.5]
    assert a.to("float16").tolist() == a.tolist() and kiln.tensor([1.5]).to("int32").item() == 1


def gradients():
    x = kiln.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert x.requires_grad and x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [[2, 4], [6, 8]]
    x.zero_grad()
    assert x.grad is None
    (x.sin() @ kiln.ones(2, 1)).sum().backward()
    near(x.grad.tolist(), [[math.cos(1), math.cos(2)], [math.cos(3), math.cos(4)]])
    assert not x.detach().requires_grad
    with kiln.no_grad():
        y = x * 2
        assert not y.requires_grad
    y = x * 2
    y.backward(kiln.full((2, 2), 0.5))
    near(x.grad.tolist(), [[math.cos(k) + 1 for k in (1, 2)], [math.cos(k) + 1 for k in (3, 4)]])


def training():
    kiln.manual_seed(1)
    x = kiln.randn(64, 2)
    labels = (x[:, 0] * x[:, 1] > 0).to("int64")
    model = kiln.Sequential(kiln.Linear(2, 16), kiln.ReLU(), kiln.Linear(16, 2))
    assert [p.shape for p in model.parameters()] == [(16, 2), (16,), (2, 16), (2,)]
    optimizer = kiln.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = kiln.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    right = (model(x).argmax(axis=1) == labels).to("float32").mean().item()
    assert losses[0] > 0.5 and losses[-1] < 0.15 and right > 0.95, (losses[0], losses[-1], right)

    # One step of SGD, by hand: the gradient of mean((w - 3)^2) at 1 is -4.
    w = kiln.tensor([1.0], requires_grad=True)
    kiln.mse_loss(w, kiln.tensor([3.0])).backward()
    sgd = kiln.SGD([w], lr=0.25)
    sgd.step()
    assert w.item() == 2 and sgd.lr == 0.25
    sgd.lr = 0.5
    assert sgd.lr == 0.5


def errors():
    refused(1, "shape", lambda: kiln.zeros(2, 3) + kiln.zeros(4))
    refused(2, "axis", lambda: kiln.zeros(2).sum(axis=1))
    refused(3, "option", lambda: kiln.Linear(2, 3, depth=4))
    refused(3, "nothing", lambda: kiln.call("nothing", kiln.zeros(1)))
    refused(6, "", lambda: kiln.zeros(1).backward())
    refused(9, "null", lambda: kiln.Tensor(kiln._Handle()).shape)
    refused(3, "", lambda: kiln.arange(0.0, math.inf))
    for f in (lambda: kiln.zeros(2**64 + 2), lambda: kiln.zeros(2) + 2**63, lambda: kiln.zeros(2).sum(axis=2**64),
              lambda: kiln.zeros(2).transpose(0, 2**64), lambda: kiln.Linear(2**64 + 1, 1)):
        raised((OverflowError, ctypes.ArgumentError), f)
    raised(ValueError, lambda: kiln.tensor([[1, 2], [3]]))
    raised(ValueError, lambda: kiln.call("exp\0", kiln.zeros(1)))
    raised(IndexError, lambda: kiln.zeros(2)[2])
    raised(TypeError, lambda: kiln.tensor(["a"]))


if __name__ == "__main__":
    for session in (tensors, operations, gradients, training, errors):
        session()
        gc.collect()
        assert kiln.live_handles() == 0, (session.__name__, kiln.live_handles())
        print(f"{session.__name__}: as written")
