// Time model of collectives: seconds = latency + bytes * seconds_per_byte, for each kind and number of ranks.
// The coefficients are measured (measure_collectives.h). If there is no measurement, they are those of a ring
// of ranks with equal links.
//
// `bytes` is the size of a rank's data before all_reduce, reduce_scatter and all_to_all, and after
// all_gather. A ring of k ranks moves bytes * 2(k-1)/k over each link for all_reduce, in 2(k-1) steps, and
// bytes * (k-1)/k for the other kinds, in k-1 steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/ranks/communicator.h"

namespace smelt {

/// The coefficients of this model for one kind of collective and one number of ranks.
struct CollectiveTime {
  double latency = 0, seconds_per_byte = 0;

  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
  bool operator==(const CollectiveTime&) const = default;
};

/// Returns the ratio of the bytes that a ring moves over each link to `bytes`: 2(k-1)/k or (k-1)/k.
double ring_share(CollectiveKind kind, int64_t ranks);

/// A link of the ring. `latency` is the time, in seconds, of a collective of two ranks without any bytes; it
/// is assumed to be equal for all kinds.
struct RingLink {
  double latency = 0, bytes_per_second = 0;
};

/// The times of all kinds of collectives for any number of ranks, from measurements or from an assumed link.
class CollectiveRates {
 public:
  /// The measured time of one kind of collective for one number of ranks.
  struct Row {
    CollectiveKind kind = CollectiveKind::all_reduce;
    int64_t ranks = 2;
    CollectiveTime time;
    bool operator==(const Row&) const = default;
  };
  /// `rows` are the measurements. Kinds without a row get the time of a ring whose links are all `assumed`.
  CollectiveRates(std::vector<Row> rows, const RingLink& assumed)
      : rows_(std::move(rows)), assumed_(assumed) {}

  bool is_measured() const { return !rows_.empty(); }
  /// Returns the time for `ranks` ranks; 0 for one rank. If there is no row for that number of ranks, the
  /// row of the kind with the nearest number is scaled as for a ring: its latency by the number of steps of
  /// the ring, and its seconds_per_byte by ring_share.
  CollectiveTime time(CollectiveKind kind, int64_t ranks) const;

 private:
  std::vector<Row> rows_;
  RingLink assumed_;
};

/// One measurement of a collective: its bytes, counted as above, and its time.
struct TimedSize {
  double bytes = 0, seconds = 0;
};
/// Fits a line to the sizes, with latency and seconds_per_byte at least 0. It minimizes the sum of the
/// squared relative errors, so that large sizes do not count more than small ones. Requires: there is at
/// least one size.
CollectiveTime fit_line(std::span<const TimedSize> sizes);

}  // namespace smelt
