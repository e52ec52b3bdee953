// SPDX-License-Identifier: BSL-1.0
// All of kiln::optim: optimizers, learning rates over time, and what is done to gradients before a step.
#pragma once

#include <kiln/optim/adadelta.hpp>     // Adadelta
#include <kiln/optim/adagrad.hpp>      // Adagrad
#include <kiln/optim/adam.hpp>         // Adam, AdamW
#include <kiln/optim/adamax.hpp>       // Adamax
#include <kiln/optim/averaged.hpp>     // ExponentialMovingAverage
#include <kiln/optim/grad_scaler.hpp>  // GradScaler
#include <kiln/optim/gradients.hpp>    // clip_grad_norm, clip_grad_value
#include <kiln/optim/lamb.hpp>         // Lamb
#include <kiln/optim/lbfgs.hpp>        // LBFGS
#include <kiln/optim/lion.hpp>         // Lion
#include <kiln/optim/nadam.hpp>        // NAdam
#include <kiln/optim/radam.hpp>        // RAdam
#include <kiln/optim/rmsprop.hpp>      // RMSprop
#include <kiln/optim/schedulers.hpp>   // StepLR, ExponentialLR, LinearLR, CosineAnnealingLR ...
#include <kiln/optim/schedules.hpp>    // OneCycleLR, ReduceLROnPlateau, SequentialLR, ChainedScheduler
#include <kiln/optim/sgd.hpp>          // SGD
