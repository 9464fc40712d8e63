// Time model of collectives: t = latency + bytes * seconds_per_byte, for each kind and number of ranks. The
// numbers are measured by measure_collectives.h; without a measurement, those of a ring over one link.
//
// `bytes` counts the whole: a rank's data before all_reduce, reduce_scatter and all_to_all, and after
// all_gather. A ring of k ranks moves 2(k-1)/k of them over each link for all_reduce, (k-1)/k for the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/ranks/communicator.h"

namespace smelt {

struct CollectiveTime {
  double latency = 0, seconds_per_byte = 0;

  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
  bool operator==(const CollectiveTime&) const = default;
};

/// Returns the part of the bytes that a ring moves over each link.
double ring_share(CollectiveKind kind, int64_t ranks);

/// A link of the ring. `latency` is the time of a step between two ranks without that of its bytes.
struct RingLink {
  double latency = 0, bytes_per_second = 0;
};

class CollectiveRates {
 public:
  struct Row {
    CollectiveKind kind = CollectiveKind::all_reduce;
    int64_t ranks = 2;
    CollectiveTime time;
    bool operator==(const Row&) const = default;
  };
  /// `assumed`: for kinds without a row.
  CollectiveRates(std::vector<Row> rows, const RingLink& assumed)
      : rows_(std::move(rows)), assumed_(assumed) {}

  bool is_measured() const { return !rows_.empty(); }
  /// Returns the time for `ranks` ranks; 0 for one rank. A number of ranks without a row is scaled from the
  /// nearest row of the kind, as for a ring: latency by its steps, bytes by ring_share.
  CollectiveTime time(CollectiveKind kind, int64_t ranks) const;

 private:
  std::vector<Row> rows_;
  RingLink assumed_;
};

struct TimedSize {
  double bytes = 0, seconds = 0;
};
/// Returns the line through the sizes by least squares of relative errors, with neither term below 0: a large
/// size counts as much as a small one. At least one size.
CollectiveTime fit_line(std::span<const TimedSize> sizes);

}  // namespace smelt
