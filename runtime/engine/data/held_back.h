// Ranges of a data set, and its division into training data and held-back data.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/error.h"

namespace smelt {

/// The items [begin, end) of `data`, whose unit depends on Data (tokens, records, packed rows).
template <typename Data>
struct Part {
  std::shared_ptr<const Data> data;
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// A range for training and a range for validation.
template <typename Data>
struct Parts {
  Part<Data> train, held_back;
};

/// Returns all of `data` for training and all of `held_back` for validation. If `held_back` is null, the last
/// `fraction` of `data` is held back instead; throws Error if `fraction` is not in [0, 1).
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
