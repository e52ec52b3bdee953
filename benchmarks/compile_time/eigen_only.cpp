// SPDX-License-Identifier: BSL-1.0
// What Eigen's own header costs; kiln's cost is counted from here.
#include <Eigen/Dense>
