// Collective operations of a group of ranks: copies and sums of memory. All ranks of the group call the same
// functions in the same order with the same sizes. A call returns when this rank's result is available.
//
// Sums are made in the order of the ranks, so that the same ranks give the same bits. A failure of any rank
// (it died, its call differs, it does not come) is an Error at all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"

namespace smelt {

enum class CollectiveKind : uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all };
enum class CollectiveSum : uint8_t { add, max };

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int64_t rank() const = 0;  // of this process within the group
  virtual int64_t size() const = 0;

  /// Every rank's `data` becomes the sum of all of them.
  virtual void all_reduce(std::span<std::byte> data, DType dtype, CollectiveSum sum) = 0;
  /// `from` is size() parts of equal length; `to` becomes the sum of all ranks' part number rank().
  virtual void reduce_scatter(std::span<const std::byte> from, std::span<std::byte> to, DType dtype,
                              CollectiveSum sum) = 0;
  /// Concatenates all ranks' `from`, which have equal length, in `to`.
  virtual void all_gather(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// Part number i of `from` goes to rank i; part number i of `to` comes from it. Parts are of equal length.
  virtual void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// The receiver's and the sender's sizes must be equal. Messages between two ranks keep their order.
  virtual void send(std::span<const std::byte> data, int64_t to) = 0;
  virtual void receive(std::span<std::byte> data, int64_t from) = 0;
};

}  // namespace smelt
