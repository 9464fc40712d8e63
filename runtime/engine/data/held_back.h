// Parts of shared data: training data and held-back data.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/error.h"

namespace smelt {

template <typename Data>
struct Part {
  std::shared_ptr<const Data> data;
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

template <typename Data>
struct Parts {
  Part<Data> train, held_back;
};

/// The whole of `data` for training and of `held_back` for validation; without the latter, the last
/// `fraction` of `data` is held back.
template <typename Data>
Parts<Data> split(std::shared_ptr<const Data> data, std::shared_ptr<const Data> held_back, double fraction) {
  const int64_t size = data->size();
  if (held_back) return {{data, 0, size}, {held_back, 0, held_back->size()}};
  if (!(fraction >= 0 && fraction < 1))
    fail("validation fraction {}: expected a number from 0 up to, but not, 1", fraction);
  const auto kept = size - static_cast<int64_t>(static_cast<double>(size) * fraction);
  return {{data, 0, kept}, {data, kept, size}};
}

}  // namespace smelt
