// Collective operations of a group of ranks, and messages between two of them. All ranks of the group call
// the same collectives in the same order with the same sizes. A call returns when this rank's result is
// available.
//
// Values are added in the order of the ranks, so that results have the same bits in every run. If a rank dies
// or does not call, or if its function or size differs from that of the other ranks, all ranks that wait for
// it throw Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"

namespace smelt {

enum class CollectiveKind : uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all };
enum class CollectiveSum : uint8_t { add, max };

/// The communicator of one group of ranks, as one of these ranks uses it.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int64_t rank() const = 0;  // number of this process in the group, from 0 on
  virtual int64_t size() const = 0;  // number of ranks in the group

  /// Replaces each element of `data`, at all ranks, by the sum (or maximum) of that element over the ranks.
  virtual void all_reduce(std::span<std::byte> data, DType dtype, CollectiveSum sum) = 0;
  /// The `from` of each rank consists of size() parts, each as long as `to`. Sets `to` at rank r to the
  /// elementwise sum (or maximum) over all ranks of part number r of their `from`.
  virtual void reduce_scatter(std::span<const std::byte> from, std::span<std::byte> to, DType dtype,
                              CollectiveSum sum) = 0;
  /// Concatenates the `from` of all ranks, which have equal length, in `to`, in the order of the ranks.
  virtual void all_gather(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// Sends part number i of `from` to rank i, and receives part number i of `to` from rank i. Both consist of
  /// size() parts of equal length.
  virtual void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// Send a message to, and receive a message from, another rank of the group. The receiver's and the
  /// sender's sizes must be equal. Messages between two ranks arrive in the order in which they were sent.
  virtual void send(std::span<const std::byte> data, int64_t to) = 0;
  virtual void receive(std::span<std::byte> data, int64_t from) = 0;
};

}  // namespace smelt
