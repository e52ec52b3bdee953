#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes tests/transform/stored.hpp: what JAX's transforms give in double, for the functions that jacobian.test.cpp and
vmap.test.cpp write in kiln. tests/transform/stored.py > tests/transform/stored.hpp; needs `pip install jax`."""
import textwrap

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def values(n, a, b, m):
    """n numbers that need no table: ((i * a + b) mod m) / m - 1/2."""
    return jnp.array([((i * a + b) % m) / m - 0.5 for i in range(n)])


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def layer(w):
    return lambda x: jax.nn.softmax(jnp.tanh(w @ x)) * jnp.sum(x * x)


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2) + jax.nn.logsumexp(x @ w)


def put(name, array):
    flat = ", ".join(repr(float(v)) for v in jnp.ravel(array))
    print("\n".join(textwrap.wrap(f"inline const std::vector<double> {name}{{ {flat}}};", 118, subsequent_indent="    ")))


print("// SPDX-License-Identifier: BSL-1.0")
print(f"// Made by tests/transform/stored.py with JAX {jax.__version__}, in double.")
print("#pragma once\n\n#include <vector>\n\n// clang-format off\nnamespace stored {")
x = values(100, 37, 11, 101) * 3
h = jax.hessian(rosenbrock)(x)
put("rosenbrock_gradient", jax.grad(rosenbrock)(x))
put("rosenbrock_diagonal", jnp.diagonal(h))
put("rosenbrock_beside", jnp.diagonal(h, 1))
put("rosenbrock_hvp", jax.jvp(jax.grad(rosenbrock), (x,), (values(100, 13, 5, 97),))[1])
w, v = values(12, 7, 3, 17).reshape(3, 4), values(4, 5, 2, 11)
put("layer_jacobian", jax.jacrev(layer(w))(v))
put("layer_jvp", jax.jvp(layer(w), (v,), (values(4, 3, 1, 7),))[1])
put("layer_vjp", jax.vjp(layer(w), v)[1](values(3, 2, 1, 5))[0])
put("layer_hessians", jax.hessian(layer(w))(v))
w, xs, ys = values(8, 7, 3, 17).reshape(4, 2), values(12, 5, 2, 13).reshape(3, 4), values(6, 3, 1, 7).reshape(3, 2)
put("loss_by_w", jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(w, xs, ys))
put("loss_by_x", jax.vmap(jax.grad(loss, argnums=1), in_axes=(None, 0, 0))(w, xs, ys))
put("loss_hessians", jax.vmap(jax.hessian(loss, argnums=1), in_axes=(None, 0, 0))(w, xs, ys))
pairs = jax.vmap(jax.vmap(loss, in_axes=(None, 0, None)), in_axes=(None, None, 0), out_axes=1)(w, xs, ys)
put("loss_of_pairs", pairs)
print("}  // namespace stored\n// clang-format on")
