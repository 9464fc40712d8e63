// Kernels with reduced axes: lanes lie along the columns of a tile, the other threads share the reduced axes.
#include <algorithm>

#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/scheduling/schedule_gpu.h"

namespace smelt {
namespace {

/// Indices: a sum of more than a few is shared by a block's threads. Up to kLongSum each has a share of about
/// eight, whose loads are in flight together; beyond, few lanes lie along the columns, so that more blocks
/// share it.
constexpr int64_t kShortSum = 64, kLongSum = 512;
/// Elements that a thread loads of one reduced index, of which eight still fit registers.
constexpr int64_t kSharedLoads = 8;
constexpr int kShareInFlight = 8, kFewInFlight = 4, kLongTeam = 4;

class TileScheduler {
 public:
  explicit TileScheduler(GpuKernel& kernel) : gpu_(kernel), s_(kernel.schedule) {}

  void run() {
    Dim reduced = 1;
    for (int axis : gpu_.shape.reduced) reduced *= gpu_.kernel.axes[axis].extent;
    const int64_t length = std::max<int64_t>(1, bound_or_large(reduced, gpu_.symbols));
    const bool segment = gpu_.kernel.axes[gpu_.shape.reduced.front()].begin >= 0;
    const int64_t expected = segment ? length / gpu_.rows_at_bound() : length;
    if (!segment && expected > kShortSum && expected <= kLongSum)
      share_at_once(expected);
    else
      share_in_rounds(length, expected, segment);
    s_.tile = int64_t{s_.team} * s_.vector_width;
    s_.unroll = segment || expected <= kShortSum ? kFewInFlight : shared_in_flight(expected);
    s_.grain = segment && expected <= kShortSum ? 4 : 1;
  }

 private:
  /// Fewer leave half of the multiprocessors idle.
  int64_t few_tiles() const { return pow2_floor(gpu_.device.multiprocessors / 2); }

  /// A thread's whole share, or its halves, or as many of it as registers hold.
  int shared_in_flight(int64_t length) const {
    const int64_t share = quotient_up(length, s_.threads / s_.team);
    const int most = gpu_.accesses.loads() * s_.vector_width <= kSharedLoads ? kShareInFlight : kFewInFlight;
    if (share <= most) return static_cast<int>(share);
    return share <= 2 * most && share % 2 == 0 ? static_cast<int>(share / 2) : most;
  }

  int lanes_along_columns(int64_t most) const {
    return static_cast<int>(std::min(pow2_ceil(gpu_.vectors()), most));
  }

  /// Shares of eight or a little less that are all of one size, where whole warps can have them.
  void share_at_once(int64_t length) {
    if (s_.vector_width > 4 && !gpu_.accesses.draw_random()) s_.vector_width = 4;
    set_teams(pow2_floor(length / kShareInFlight));
    const Schedule uneven = s_;
    for (int64_t share = kShareInFlight; share > kShareInFlight / 2; --share) {
      if (length % share != 0) continue;
      set_teams(length / share);
      if (s_.threads % gpu_.warp() == 0) return;
    }
    s_ = uneven;
  }

  void set_teams(int64_t teams) {
    s_.team = lanes_along_columns(std::min(gpu_.warp(), pow2_ceil(kFlatThreads / teams)));
    s_.threads = static_cast<int>(s_.team * teams);
  }

  /// Few columns leave threads for the reduced axes; many reduced indices want them.
  void share_in_rounds(int64_t length, int64_t expected, bool segment) {
    const int64_t most_threads = segment ? kFlatThreads : kTileThreads;
    s_.team = lanes_along_columns(segment ? kFlatThreads : gpu_.warp());
    if (expected > kShortSum) {
      s_.team = std::min(s_.team, kLongTeam);
      narrow_tiles(segment ? 1 : gpu_.rows_at_bound());
    }
    const int64_t teams = std::clamp<int64_t>(pow2_ceil(length) / 4, 1, most_threads / s_.team);
    s_.threads = static_cast<int>(s_.team * teams);
  }

  /// Narrows tiles to two sectors of each row, or less where most multiprocessors would be idle: vectors of
  /// four, then fewer lanes.
  void narrow_tiles(int64_t rows) {
    const auto tiles = [&] { return quotient_up(gpu_.columns, int64_t{s_.team} * s_.vector_width) * rows; };
    if (s_.vector_width > 4 && tiles() < few_tiles() && !gpu_.accesses.draw_random()) s_.vector_width = 4;
    while (s_.team > 2 && tiles() < few_tiles()) s_.team /= 2;
  }

  GpuKernel& gpu_;
  Schedule& s_;
};

}  // namespace

void schedule_tiles(GpuKernel& kernel) { TileScheduler(kernel).run(); }

}  // namespace smelt
