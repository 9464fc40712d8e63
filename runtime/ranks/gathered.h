// Functions that gather one value per rank of a group at all of its ranks.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "runtime/ranks/communicator.h"

namespace smelt {

/// Returns the `own` values of all ranks, in the order of the ranks. All ranks call it together. Requires: T
/// is trivially copyable.
template <typename T>
std::vector<T> gathered(Communicator& group, const T& own) {
  std::vector<T> all(static_cast<size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Returns whether `own` is true at all ranks. All ranks call it together, and no call returns before all
/// ranks have called.
inline bool holds_at_all(Communicator& group, bool own) {
  const std::vector<unsigned char> all = gathered<unsigned char>(group, own);
  return std::ranges::all_of(all, std::identity());
}

}  // namespace smelt
