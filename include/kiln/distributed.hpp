// SPDX-License-Identifier: BSL-1.0
// Training on many processes, started by mpirun: collectives and data parallel models, for tensors on the processor. It
// needs MPI. (kiln/distributed/nccl.hpp adds those on GPUs.)
#pragma once

#include <kiln/distributed/collectives.hpp>    // all_reduce, broadcast, all_gather
#include <kiln/distributed/data_parallel.hpp>  // DistributedDataParallel
#include <kiln/distributed/mpi.hpp>            // initialize
#include <kiln/distributed/process_group.hpp>  // rank, world_size, barrier
