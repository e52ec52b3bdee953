/* SPDX-License-Identifier: BSL-1.0
 * The header is C99: compiled as such, with every warning an error. */
#include <kiln/c.h>

static kiln_status trained(double* loss_value) {
  const int64_t sizes[] = {4, 2};
  const kiln_option layer[] = {{.name = "in_features", .kind = KILN_OPTION_INT, .whole = 2},
                               {.name = "out_features", .kind = KILN_OPTION_INT, .whole = 1}};
  const kiln_option rate = {.name = "lr", .kind = KILN_OPTION_FLOAT, .number = 0.1};
  kiln_tensor x = {0}, y = {0}, target = {0}, loss = {0}, parameters[2] = {{0}, {0}};
  const kiln_tensor no_gradient = {0};
  kiln_module linear = {0};
  kiln_optimizer sgd = {0};
  kiln_status status = kiln_randn(KILN_FLOAT32, sizes, 2, &x);
  if (!status) status = kiln_module_create("Linear", layer, 2, &linear);
  if (!status) status = kiln_module_parameter(linear, 0, &parameters[0]);
  if (!status) status = kiln_module_parameter(linear, 1, &parameters[1]);
  if (!status) status = kiln_optimizer_create("SGD", parameters, 2, &rate, 1, &sgd);
  if (!status) status = kiln_module_forward(linear, x, &y);
  if (!status) status = kiln_call("sin", &y, 1, &target);
  if (!status) status = kiln_loss("mse", y, target, NULL, 0, &loss);
  if (!status) status = kiln_backward(loss, no_gradient, 0);
  if (!status) status = kiln_optimizer_step(sgd);
  if (!status) status = kiln_item(loss, loss_value);
  return status;
}

int main(void) {
  double loss;
  return trained(&loss) == KILN_OK && kiln_last_error() && kiln_live_handles() ? 0 : 1;
}
