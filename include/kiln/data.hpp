// SPDX-License-Identifier: BSL-1.0
// All of kiln::data: sets, what cuts them into batches, and the files that they come from. Include it beside kiln.hpp,
// which has the tensors; needs zlib.
#pragma once

#include <kiln/data/collate.hpp>         // default_collate
#include <kiln/data/csv.hpp>             // read_csv, csv_dataset
#include <kiln/data/data_loader.hpp>     // DataLoader
#include <kiln/data/dataset.hpp>         // Dataset, IterableDataset
#include <kiln/data/idx.hpp>             // read_idx, read_idx_tensor
#include <kiln/data/mnist.hpp>           // mnist
#include <kiln/data/npy_folder.hpp>      // NpyFolder, DatasetFolder
#include <kiln/data/sampler.hpp>         // SequentialSampler, RandomSampler, WeightedRandomSampler, DistributedSampler
#include <kiln/data/subset.hpp>          // Subset, random_split, k_fold
#include <kiln/data/tensor_dataset.hpp>  // TensorDataset
#include <kiln/data/transforms.hpp>      // map, transform, transforms::Normalize, RandomCrop ...
