/* SPDX-License-Identifier: BSL-1.0
 * kiln for languages that call C: tensors whose type is known at run time (kiln/dynamic.hpp), modules, losses and
 * optimizers by name. C99 and C++. <kiln/c_api.hpp>, in one C++ file of a program or library, is what it declares.
 *
 * Handles are numbers, which a structure keeps apart by type; {0} is the null handle. What a function writes to `out`
 * is a new handle, which the caller frees; on failure it is the null handle. Handles are never dangling: one whose
 * object was freed is refused with KILN_HANDLE_ERROR.
 *
 * Every function that can fail gives a kiln_status, and never throws. All of them refuse null and stale handles
 * (KILN_HANDLE_ERROR), null pointers where there is something to read or write, counts below 0, and text that is not
 * UTF-8 (KILN_VALUE_ERROR); the comments name the other errors. Text ends in a zero byte.
 *
 * All may be called from any thread. A tensor that was not evaluated yet is for one thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- statuses, types, handles */

/* How a call ended: one of the numbers below. An int32_t, so that every value of it is one of its type. */
typedef int32_t kiln_status;
enum {
  KILN_OK = 0,
  KILN_SHAPE_ERROR = 1,  /* shapes that do not fit */
  KILN_INDEX_ERROR = 2,  /* an axis or index outside its range */
  KILN_VALUE_ERROR = 3,  /* a value, name, option, pointer or text that the function does not take */
  KILN_DTYPE_ERROR = 4,  /* an element type that the function is not defined for */
  KILN_DEVICE_ERROR = 5, /* a device that is missing */
  KILN_GRAPH_ERROR = 6,  /* a backward pass or step that cannot run */
  KILN_IO_ERROR = 7,     /* a file that is missing or malformed */
  KILN_MEMORY_ERROR = 8, /* memory that the system did not give */
  KILN_HANDLE_ERROR = 9, /* a null handle, one whose object was freed, or one of another kind */
  KILN_OTHER_ERROR = 10  /* anything else */
};

/* Element types. A bool is a byte of 0 or 1. */
typedef int32_t kiln_dtype;
enum {
  KILN_BOOL = 0,
  KILN_UINT8 = 1,
  KILN_INT8 = 2,
  KILN_INT16 = 3,
  KILN_INT32 = 4,
  KILN_INT64 = 5,
  KILN_FLOAT16 = 6,
  KILN_BFLOAT16 = 7,
  KILN_FLOAT32 = 8,
  KILN_FLOAT64 = 9
};

typedef struct kiln_tensor {
  uint64_t id;
} kiln_tensor;
typedef struct kiln_module {
  uint64_t id;
} kiln_module;
typedef struct kiln_optimizer {
  uint64_t id;
} kiln_optimizer;

/* A named option of a module, a loss or an optimizer: which member holds its value, and the value. */
enum { KILN_OPTION_INT = 0, KILN_OPTION_FLOAT = 1, KILN_OPTION_BOOL = 2, KILN_OPTION_TEXT = 3, KILN_OPTION_INTS = 4 };
typedef struct kiln_option {
  const char* name;
  int32_t kind;         /* KILN_OPTION_... */
  int32_t n_whole_list; /* of KILN_OPTION_INTS */
  int64_t whole;        /* KILN_OPTION_INT; KILN_OPTION_BOOL: 0 or 1 */
  double number;        /* KILN_OPTION_FLOAT */
  const char* text;     /* KILN_OPTION_TEXT */
  const int64_t* whole_list;
} kiln_option;

/* ---- the library */

/* "0.1.0": of the headers that the library was built with. */
const char* kiln_version(void);
/* What the last failure on this thread was, in a sentence; "" if there was none. Valid until the next failure on it. */
const char* kiln_last_error(void);
/* How many handles are alive, of all kinds. */
int64_t kiln_live_handles(void);
/* Starts the random numbers of all that draws any (parameters, dropout, randn) at a seed. */
kiln_status kiln_seed(uint64_t seed);
/* Whether calls on this thread are recorded for backward; what it was before to `before`, which may be NULL. */
kiln_status kiln_set_grad_enabled(int32_t on, int32_t* before);

/* ---- new tensors: `sizes` has n_sizes entries, none for a tensor of no axes. Impossible sizes: KILN_SHAPE_ERROR. */

/* A copy of `bytes` bytes of elements in row-major order. KILN_SHAPE_ERROR unless that is what the sizes need. */
kiln_status kiln_from_host(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, const void* data, size_t bytes,
                           kiln_tensor* out);
/* All elements 0. */
kiln_status kiln_zeros(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out);
/* All elements 1. */
kiln_status kiln_ones(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out);
/* All elements one number. KILN_VALUE_ERROR for one that the type does not hold. */
kiln_status kiln_full(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, double value, kiln_tensor* out);
/* start, start + step, ... before end, 1-d. KILN_VALUE_ERROR for a step of 0, KILN_DTYPE_ERROR for bool. */
kiln_status kiln_arange(kiln_dtype type, double start, double end, double step, kiln_tensor* out);
/* Normally distributed numbers. KILN_DTYPE_ERROR for a type without fractions. */
kiln_status kiln_randn(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out);
/* Uniform numbers in [0, 1). KILN_DTYPE_ERROR for a type without fractions. */
kiln_status kiln_rand(kiln_dtype type, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out);
/* A number beside tensors: changes another operand's type only if its category is higher. KILN_DTYPE_ERROR for a type
 * without fractions. */
kiln_status kiln_scalar_float(double value, kiln_dtype type, kiln_tensor* out);
/* The same of a whole number. KILN_VALUE_ERROR for one that the type does not hold. */
kiln_status kiln_scalar_int(int64_t value, kiln_dtype type, kiln_tensor* out);

/* ---- handles and values */

/* Another handle to the same tensor. */
kiln_status kiln_tensor_share(kiln_tensor x, kiln_tensor* out);
/* Frees a handle; what others share stays. */
kiln_status kiln_tensor_free(kiln_tensor x);
/* The element type. */
kiln_status kiln_tensor_dtype(kiln_tensor x, kiln_dtype* out);
/* The number of axes. */
kiln_status kiln_tensor_dim(kiln_tensor x, int32_t* out);
/* The sizes, to `out`, which has room for `capacity` of them. KILN_SHAPE_ERROR if there are more. */
kiln_status kiln_tensor_sizes(kiln_tensor x, int64_t* out, int32_t capacity);
/* The number of elements. */
kiln_status kiln_tensor_numel(kiln_tensor x, int64_t* out);
/* Computes the value now; otherwise it is computed when somebody asks for it. Errors are those of the calls before. */
kiln_status kiln_eval(kiln_tensor x);
/* Copies the elements, in row-major order, to `bytes` bytes. KILN_SHAPE_ERROR unless they are that many. */
kiln_status kiln_to_host(kiln_tensor x, void* to, size_t bytes);
/* The one element. KILN_SHAPE_ERROR for another number of elements. */
kiln_status kiln_item(kiln_tensor x, double* out);
/* The one element, whole. KILN_SHAPE_ERROR for another number of elements, KILN_DTYPE_ERROR for a type with fractions. */
kiln_status kiln_item_int64(kiln_tensor x, int64_t* out);
/* The elements as another type. */
kiln_status kiln_to_dtype(kiln_tensor x, kiln_dtype type, kiln_tensor* out);
/* Writes values, which broadcast to x's shape, into x's elements. KILN_SHAPE_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_assign(kiln_tensor x, kiln_tensor values);

/* ---- operations */

/* A pointwise operation by name ("add", "exp", "where", "gelu"), on operands that broadcast. KILN_VALUE_ERROR for an
 * unknown name or another number of operands, KILN_SHAPE_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_call(const char* name, const kiln_tensor* operands, int32_t n_operands, kiln_tensor* out);
/* A reduction by name (sum, prod, mean, max, min, any, all, var, std, norm, logsumexp, count_nonzero) over n_axes axes,
 * 0 for all. KILN_VALUE_ERROR for an unknown name or an axis named twice, KILN_INDEX_ERROR. */
kiln_status kiln_reduce(const char* name, kiln_tensor x, const int64_t* axes, int32_t n_axes, int32_t keepdim,
                        kiln_tensor* out);
/* Where the largest element of each row along an axis is, int64. KILN_INDEX_ERROR; KILN_VALUE_ERROR of no elements. */
kiln_status kiln_argmax(kiln_tensor x, int64_t axis, int32_t keepdim, kiln_tensor* out);
/* exp(x) / sum(exp(x)) along an axis. KILN_INDEX_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_softmax(kiln_tensor x, int64_t axis, kiln_tensor* out);
/* log(softmax(x)) without loss of accuracy. KILN_INDEX_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_log_softmax(kiln_tensor x, int64_t axis, kiln_tensor* out);
/* (..., n, k) by (..., k, m): NumPy's rules; float32 and float64. KILN_SHAPE_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_matmul(kiln_tensor a, kiln_tensor b, kiln_tensor* out);
/* x (..., inputs) by the transposed weight (outputs, inputs), plus a bias (outputs), which may be the null handle.
 * KILN_SHAPE_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_linear(kiln_tensor x, kiln_tensor weight, kiln_tensor bias, kiln_tensor* out);
/* The elements in another shape; one size may be -1. KILN_SHAPE_ERROR if their number differs. */
kiln_status kiln_reshape(kiln_tensor x, const int64_t* sizes, int32_t n_sizes, kiln_tensor* out);
/* Two axes exchanged. KILN_INDEX_ERROR. */
kiln_status kiln_transpose(kiln_tensor x, int64_t a, int64_t b, kiln_tensor* out);
/* Axis i of the result is axis order[i]. KILN_SHAPE_ERROR unless each is named once, KILN_INDEX_ERROR. */
kiln_status kiln_permute(kiln_tensor x, const int64_t* order, int32_t n_order, kiln_tensor* out);
/* `length` positions of an axis from `begin` on; a view. KILN_INDEX_ERROR unless all exist. */
kiln_status kiln_narrow(kiln_tensor x, int64_t axis, int64_t begin, int64_t length, kiln_tensor* out);
/* One position of an axis, which is dropped; a view. KILN_INDEX_ERROR. */
kiln_status kiln_select(kiln_tensor x, int64_t axis, int64_t index, kiln_tensor* out);
/* Tensors side by side along an axis that they have. KILN_VALUE_ERROR for none, KILN_SHAPE_ERROR, KILN_INDEX_ERROR. */
kiln_status kiln_cat(const kiln_tensor* parts, int32_t n_parts, int64_t axis, kiln_tensor* out);

/* ---- gradients */

/* Asks for a gradient, or no longer (0). KILN_DTYPE_ERROR without fractions, KILN_GRAPH_ERROR unless x is a leaf. */
kiln_status kiln_set_requires_grad(kiln_tensor x, int32_t on);
/* 1 if gradients flow to or through it. */
kiln_status kiln_requires_grad(kiln_tensor x, int32_t* out);
/* Adds to the gradients of all leaves that x was computed from. `gradient`, of x's shape and type, may be the null
 * handle where x has one element. KILN_GRAPH_ERROR, KILN_SHAPE_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_backward(kiln_tensor x, kiln_tensor gradient, int32_t retain_graph);
/* What backward passes left here; the null handle if none has. */
kiln_status kiln_grad(kiln_tensor x, kiln_tensor* out);
/* Forgets the gradient. */
kiln_status kiln_zero_grad(kiln_tensor x);
/* The same elements without their history. */
kiln_status kiln_detach(kiln_tensor x, kiln_tensor* out);

/* ---- modules, losses, optimizers: names and options are torch's. KILN_VALUE_ERROR for unknown ones. */

/* A layer by name: "Linear" with in_features and out_features, "ReLU", "Conv2d", ... */
kiln_status kiln_module_create(const char* name, const kiln_option* options, int32_t n_options, kiln_module* out);
/* Modules one after the other; they may be freed after it. */
kiln_status kiln_module_sequential(const kiln_module* parts, int32_t n_parts, kiln_module* out);
/* Frees a handle; what a sequence holds stays. */
kiln_status kiln_module_free(kiln_module m);
/* The result for an input, of the type of the parameters. KILN_SHAPE_ERROR, KILN_DTYPE_ERROR. */
kiln_status kiln_module_forward(kiln_module m, kiln_tensor x, kiln_tensor* out);
/* Puts it in training, as it is when made, or in evaluation (0). */
kiln_status kiln_module_train(kiln_module m, int32_t on);
/* How many parameters it has. */
kiln_status kiln_module_parameter_count(kiln_module m, int64_t* out);
/* Parameter `index`, which shares its elements with the module. KILN_INDEX_ERROR. */
kiln_status kiln_module_parameter(kiln_module m, int64_t index, kiln_tensor* out);
/* Its path ("0.weight"), with the zero byte, to `capacity` bytes. KILN_INDEX_ERROR; KILN_VALUE_ERROR for too little room. */
kiln_status kiln_module_parameter_name(kiln_module m, int64_t index, char* to, size_t capacity);

/* A loss by name (mse, l1, smoothl1, huber, bce, bcelogits, ce, nll, kl) of an input and a target. KILN_SHAPE_ERROR,
 * KILN_DTYPE_ERROR, KILN_VALUE_ERROR for classes that there are not. */
kiln_status kiln_loss(const char* name, kiln_tensor input, kiln_tensor target, const kiln_option* options,
                      int32_t n_options, kiln_tensor* out);

/* SGD, Adam, AdamW, RMSprop, Adagrad or Lamb over leaves that require grad, all float32 or all float64. */
kiln_status kiln_optimizer_create(const char* name, const kiln_tensor* parameters, int32_t n_parameters,
                                  const kiln_option* options, int32_t n_options, kiln_optimizer* out);
/* Frees a handle. */
kiln_status kiln_optimizer_free(kiln_optimizer o);
/* Changes every parameter that has a gradient. KILN_GRAPH_ERROR if none has. */
kiln_status kiln_optimizer_step(kiln_optimizer o);
/* Forgets the gradients of its parameters. */
kiln_status kiln_optimizer_zero_grad(kiln_optimizer o);
/* The learning rate. */
kiln_status kiln_optimizer_lr(kiln_optimizer o, double* out);
/* Sets it. KILN_VALUE_ERROR below 0. */
kiln_status kiln_optimizer_set_lr(kiln_optimizer o, double lr);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
