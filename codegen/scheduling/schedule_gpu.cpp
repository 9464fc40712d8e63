// Schedules for a GPU: accesses of 16 bytes, enough of them in flight, rows in registers where these suffice.
#include <algorithm>
#include <bit>

#include "codegen/kernel_passes/index_bounds.h"
#include "codegen/kernel_passes/instruction_order.h"
#include "codegen/kernel_passes/keep_columns.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "codegen/kernel_passes/legalize.h"
#include "codegen/kernel_passes/vector_accesses.h"
#include "codegen/launches/fit_tails.h"
#include "codegen/scheduling/schedule_targets.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

// What of the device decides stands in DeviceModel. These are measured on an H200, in the unit that is said,
// and depend on the instructions of a thread more than on the chip.

/// Bytes of one access, the widest that there is; numbers that one call of Philox makes.
constexpr int64_t kAccessBytes = 16, kRandomNumbers = 8;
/// Threads that share a row, at most.
constexpr int64_t kLargestTeam = 512;
/// Threads of a block: of rows, of walks and of tiles, and of flat ranges.
constexpr int kRowThreads = 128, kWalkThreads = 512, kFlatThreads = 256, kTileThreads = 512;
/// Elements of a row in one thread.
constexpr int64_t kRowElements = 32;
/// Registers of a thread for what it keeps of them, and where one or two warps have a row.
constexpr int64_t kPayload = 64, kWarpPayload = 160;
/// Of a kernel that walks, so many blocks share a multiprocessor; values kept from row to row may take so
/// many eighths of a thread's registers, in large blocks and in smaller ones.
constexpr int64_t kWalkBlocks = 2, kLargeBlockEighths = 3, kSmallBlockEighths = 6;
/// Elements that a lane keeps, at least, before fewer lanes share a row.
constexpr int64_t kFewElements = 16;
/// Registers of a thread for loads that are under way: of rows that stay in registers as they come from
/// memory, else as f32; more of them in flat kernels, which keep nothing, and fewer beside a reduction.
constexpr int64_t kRowsInFlight = 64, kInFlight = 32, kFlatInFlight = 64;
/// Indices: a sum of more than a few is shared by a block's threads. Up to kLongSum each has a share of about
/// eight, whose loads are under way together; beyond, few lanes lie along the columns, so that more blocks
/// share it.
constexpr int64_t kShortSum = 64, kLongSum = 512;
/// Elements that a thread loads of one reduced index, of which eight still fit registers.
constexpr int64_t kSharedLoads = 8;
constexpr int kShareInFlight = 8, kFewInFlight = 4, kLongTeam = 4;
/// Rows a multiprocessor that few warps each walk, where no registers hold them; of fewer each has a large
/// block.
constexpr int64_t kManyRows = 8;
/// Rows of a team that walks, from which on the next ones are prefetched.
constexpr int64_t kLongWalk = 8;
/// Bytes after which memory's channels come again, as far as is seen from a walk's time.
constexpr int64_t kChannelPeriod = 64 << 10;

int64_t pow2_ceil(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
int64_t pow2_floor(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class GpuScheduler {
 public:
  GpuScheduler(Kernel& kernel, const Symbols& symbols, const DeviceModel& device)
      : k_(kernel),
        s_(kernel.schedule),
        symbols_(symbols),
        device_(device),
        shape_(kernel),
        accesses_(kernel, shape_) {}

  /// False where the values that the kernel keeps of its rows do not fit registers.
  bool run() {
    s_ = {.splits = s_.splits, .cached = s_.cached};
    llvm::sort(s_.cached);
    s_.cached.erase(std::unique(s_.cached.begin(), s_.cached.end()), s_.cached.end());
    s_.flat = can_be_flat(k_);
    s_.vector_width = static_cast<int>(vector_width());
    columns_ =
        shape_.inner < 0 ? 1 : std::max<int64_t>(1, bound_or_large(k_.axes[shape_.inner].extent, symbols_));
    bool fits = true;
    if (shape_.is_reduced())
      tiles();
    else if (s_.flat)
      flat();
    else
      fits = rows();
    s_.index32 = has_32_bit_indices(k_, symbols_);
    return fits;
  }

 private:
  // ---- the device

  int64_t warp() const { return device_.warp_threads; }
  /// Threads that keep it busy: fewer lanes share a row where there are as many without them.
  int64_t enough_threads() const {
    return int64_t{device_.multiprocessors} * device_.multiprocessor_threads / 2;
  }
  int64_t many_rows() const { return kManyRows * device_.multiprocessors; }
  /// Fewer leave half of the multiprocessors idle.
  int64_t few_tiles() const { return pow2_floor(device_.multiprocessors / 2); }
  /// Registers of a thread for values that a walk by blocks of so many threads keeps.
  int64_t walk_payload(int64_t threads, int64_t eighths) const {
    return device_.multiprocessor_registers / (kWalkBlocks * threads) * eighths / 8;
  }
  int64_t large_walk_payload() const { return walk_payload(kWalkThreads, kLargeBlockEighths); }
  int64_t small_walk_payload() const { return walk_payload(kFlatThreads, kSmallBlockEighths); }

  // ---- vectors

  /// As many elements as 16 bytes of the narrowest memory hold, at most 8, of f32 where more of that moves;
  /// eight where Philox makes eight.
  int64_t vector_width() const {
    if (shape_.inner < 0 || accesses_.need_order()) return 1;
    const bool random = accesses_.draw_random();
    const int64_t narrowest = accesses_.narrowest();
    if (narrowest == 0 && !random) return 1;
    int64_t wanted = random ? kRandomNumbers : std::clamp<int64_t>(kAccessBytes / narrowest, 2, 8);
    const int64_t most = s_.flat ? kInFlight / 2 : 2 * kPayload;
    while (wanted > (s_.flat ? 4 : 2) && wanted * accesses_.loads() > most) wanted /= 2;
    if (wanted > 4 && !random && accesses_.are_mostly_wide()) wanted = 4;
    if (random) return wanted;
    return std::min(wanted, pow2_ceil(bound_or_large(k_.axes[shape_.inner].extent, symbols_)));
  }

  /// What one vector of each load takes, in the block that loads most.
  int64_t loaded_registers() const { return s_.vector_width * accesses_.loaded_bytes() / 4; }

  int64_t in_flight() const {
    if (accesses_.need_order()) return 1;
    const bool reduces = !shape_.all_of(Kind::reduce).empty();
    const int64_t registers = s_.flat && s_.vector_width <= 4 ? kFlatInFlight
                              : reduces                       ? kInFlight / 2
                                                              : kInFlight;
    return std::clamp<int64_t>(registers / (accesses_.loads() * s_.vector_width), 1, 8);
  }

  // ---- rows

  /// Vectors of each load of a row that stays in registers.
  int64_t kept_in_flight() const {
    if (accesses_.need_order()) return 1;
    return std::clamp<int64_t>(kRowsInFlight / std::max<int64_t>(1, loaded_registers()), 1, 8);
  }

  int64_t accumulators(Accumulation how) const {
    return llvm::count_if(shape_.all_of(Kind::accumulate),
                          [&](int id) { return shape_.accumulation(id) == how; });
  }

  /// Registers for each element of a row that stay taken from one block to another or from row to row; flags
  /// are bits.
  int64_t kept_values() const {
    const int64_t flags =
        llvm::count_if(s_.cached, [&](int id) { return k_.instructions[id].dtype == DType::boolean; });
    return static_cast<int64_t>(s_.cached.size()) - flags + (flags > 0) + accumulators(Accumulation::column);
  }

  int64_t rows_at_bound() const {
    Dim range = 1;
    for (int axis : shape_.parallel) range *= k_.axes[axis].extent;
    return std::max<int64_t>(1, bound_or_large(range, symbols_));
  }

  /// The fewest lanes that have little to keep and still leave enough threads for all rows: what is done once
  /// a row costs each of them.
  int64_t smallest_team(int64_t vectors) const {
    int64_t team = std::min(warp(), pow2_ceil(vectors));
    const auto kept = [&](int64_t lanes) {
      return quotient_up(vectors, lanes) * s_.vector_width * std::max<int64_t>(1, kept_values());
    };
    while (team > 4 && kept(team / 2) <= kFewElements && rows_at_bound() * team / 2 >= enough_threads())
      team /= 2;
    return team;
  }

  /// A warp for a row where that is enough; many threads with little each beyond.
  int64_t team_size(int64_t vectors, int64_t most_elements) const {
    const auto elements = [&](int64_t team) { return quotient_up(vectors, team) * s_.vector_width; };
    for (int64_t team = smallest_team(vectors); team <= kLargestTeam; team *= 2) {
      const int64_t payload = team <= 2 * warp() ? kWarpPayload : kPayload;
      if (elements(team) > most_elements || elements(team) * kept_values() > payload) continue;
      while (team > warp() && team < kWalkThreads && elements(team) > kRowElements / 2) team *= 2;
      return team;
    }
    return 0;
  }

  /// 0 where no registers hold a row.
  int64_t row_team() const {
    const int64_t vectors = quotient_up(columns_, s_.vector_width), team = team_size(vectors, kRowElements);
    return team == 0 && kept_values() > 0 ? team_size(vectors, 2 * kRowElements) : team;
  }

  /// More lanes for a row that is walked, while they share its vectors evenly, until registers leave room for
  /// enough threads.
  int64_t walking_team(int64_t team) const {
    const int64_t vectors = quotient_up(columns_, s_.vector_width);
    const auto kept = [&] { return quotient_up(vectors, team) * s_.vector_width * kept_values(); };
    while (team > 0 && team < kLargestTeam && kept() > small_walk_payload() && vectors % (2 * team) == 0)
      team *= 2;
    return team;
  }

  /// A row's last vectors are for less than half of its lanes.
  bool leaves_lanes_idle(int64_t team) const {
    const int64_t vectors = quotient_up(columns_, s_.vector_width);
    return team > warp() && vectors > team && 2 * (vectors % team) <= team && vectors % team > 0;
  }

  /// Vectors of half the width, where they come out even.
  void fill_lanes(int64_t& team) {
    const int width = s_.vector_width;
    s_.vector_width = width / 2;
    const int64_t narrow_team = width > 4 ? row_team() : 0;
    if (narrow_team > 0 && quotient_up(columns_, s_.vector_width) % narrow_team == 0)
      team = narrow_team;
    else
      s_.vector_width = width;
  }

  bool rows() {
    if (accumulators(Accumulation::memory) > 0) return rows_with_sums_in_memory(), s_.cached.empty();
    int64_t team = row_team();
    if (leaves_lanes_idle(team) && !accesses_.draw_random()) fill_lanes(team);
    if (s_.splits > 0) team = walking_team(team);
    const int64_t vectors = quotient_up(columns_, s_.vector_width);
    const bool fits = team > 0;
    const bool apart = rows_at_bound() >= many_rows() && accumulators(Accumulation::column) == 0;
    s_.team = static_cast<int>(fits ? team : apart ? kRowThreads : kWalkThreads);
    s_.vectors = fits ? static_cast<int>(quotient_up(vectors, team)) : 0;
    // A walk waits for every row: its teams are few, and all loads of one should be under way.
    const int64_t flying = s_.splits > 0 && s_.vectors <= 4 ? 4 : kept_in_flight();
    s_.unroll = static_cast<int>(fits ? std::min<int64_t>(flying, s_.vectors) : in_flight());
    set_block(!fits && accumulators(Accumulation::column) > 0);
    if (fits && is_long_walk())
      walk_long();
    else
      s_.interleaved = s_.splits > 0 && (shares_begin_alike() || shares_end_unevenly());
    return fits || s_.cached.empty();
  }

  /// One row is on its way while the last one is worked on: lanes with little each, few teams.
  void walk_long() {
    const int64_t vectors = quotient_up(columns_, s_.vector_width);
    while (s_.vectors > 2 && vectors % (2 * s_.team) == 0 && 2 * s_.team <= kFlatThreads)
      s_.team *= 2, s_.vectors /= 2;
    s_.unroll = std::min<int>(s_.unroll, static_cast<int>(s_.vectors));
    s_.threads = std::max<int>(s_.team, std::min(s_.threads, kFlatThreads));
    s_.prefetch_distance = 1;
    s_.interleaved = shares_begin_alike();
  }

  /// Every element of such a sum belongs to one thread: of a team that is the block, or of a block that is
  /// one thread.
  void rows_with_sums_in_memory() {
    bool owned = true;
    for (int id : shape_.all_of(Kind::accumulate)) {
      if (shape_.accumulation(id) != Accumulation::memory) continue;
      const Access& access = k_.instructions[id].access;
      owned &= access.computed < 0 && shape_.inner >= 0 && s_.cached.empty();
      for (int axis : shape_.columns) owned &= !access.strides[axis].is_zero();
      for (int axis : shape_.parallel) owned &= access.strides[axis].is_zero();
    }
    s_.team = owned ? kRowThreads : 1;
    s_.vectors = 0, s_.unroll = 1;
    if (!owned) s_.vector_width = 1;
    s_.threads = s_.team;
  }

  void set_block(bool one_team) {
    const int64_t kept = s_.vectors * s_.vector_width * kept_values();
    const int64_t many = accesses_.loads() * s_.vector_width > kPayload ? kFlatThreads : kWalkThreads;
    const int64_t walking = kept <= large_walk_payload()   ? many
                            : kept <= small_walk_payload() ? kFlatThreads
                                                           : kRowThreads;
    const int64_t wanted = s_.splits > 0 ? walking : kRowThreads;
    int64_t threads = one_team ? s_.team : std::max<int64_t>(s_.team, wanted);
    const int64_t rows = rows_at_bound();
    while (threads / 2 >= std::max<int64_t>(s_.team, warp()) && threads / 2 / s_.team >= rows) threads /= 2;
    s_.threads = static_cast<int>(threads);
    s_.grain = s_.splits > 0 ? 1 : threads / s_.team;
  }

  int64_t rows_of_share() const { return quotient_up(rows_at_bound(), s_.splits); }

  /// A short one has begun before a prefetched row can arrive earlier.
  bool is_long_walk() const {
    return s_.splits > 0 && rows_at_bound() >= kLongWalk * s_.splits * (s_.threads / s_.team);
  }

  /// Shares of few rounds whose last one leaves teams without a row: interleaved, few blocks alone have such
  /// a round.
  bool shares_end_unevenly() const {
    const int64_t teams = s_.threads / s_.team;
    return rows_of_share() < kLongWalk * teams && rows_of_share() % teams != 0;
  }

  /// Shares of neighbouring rows whose places differ in high bits alone: all blocks would read from the same
  /// channels of the memory at a time.
  bool shares_begin_alike() const {
    const int64_t share = rows_of_share() * columns_ * accesses_.narrowest();
    return share > 0 && share % kChannelPeriod == 0;
  }

  // ---- flat ranges

  void flat() {
    s_.threads = s_.team = s_.splits > 0 ? kWalkThreads : kFlatThreads;
    s_.unroll = static_cast<int>(in_flight());
    s_.vectors = s_.splits > 0 ? 0 : s_.unroll;
    s_.grain = int64_t{s_.threads} * s_.vector_width * s_.unroll;
    s_.interleaved = s_.splits > 0;
  }

  // ---- reduced kernels

  void tiles() {
    Dim reduced = 1;
    for (int axis : shape_.reduced) reduced *= k_.axes[axis].extent;
    const int64_t length = std::max<int64_t>(1, bound_or_large(reduced, symbols_));
    const bool segment = k_.axes[shape_.reduced.front()].begin >= 0;
    const int64_t expected = segment ? length / rows_at_bound() : length;
    if (!segment && expected > kShortSum && expected <= kLongSum)
      share_at_once(expected);
    else
      share_in_rounds(length, expected, segment);
    s_.tile = int64_t{s_.team} * s_.vector_width;
    s_.unroll = segment || expected <= kShortSum ? kFewInFlight : shared_in_flight(expected);
    s_.grain = segment && expected <= kShortSum ? 4 : 1;
  }

  /// A thread's whole share, or its halves, or as many of it as registers hold.
  int shared_in_flight(int64_t length) const {
    const int64_t share = quotient_up(length, s_.threads / s_.team);
    const int most = accesses_.loads() * s_.vector_width <= kSharedLoads ? kShareInFlight : kFewInFlight;
    if (share <= most) return static_cast<int>(share);
    return share <= 2 * most && share % 2 == 0 ? static_cast<int>(share / 2) : most;
  }

  int lanes_along_columns(int64_t most) const {
    return static_cast<int>(std::min(pow2_ceil(quotient_up(columns_, s_.vector_width)), most));
  }

  /// Shares of eight or a little less that are all of one size, where whole warps can have them.
  void share_at_once(int64_t length) {
    if (s_.vector_width > 4 && !accesses_.draw_random()) s_.vector_width = 4;
    set_teams(pow2_floor(length / kShareInFlight));
    const Schedule uneven = s_;
    for (int64_t share = kShareInFlight; share > kShareInFlight / 2; --share) {
      if (length % share != 0) continue;
      set_teams(length / share);
      if (s_.threads % warp() == 0) return;
    }
    s_ = uneven;
  }

  void set_teams(int64_t teams) {
    s_.team = lanes_along_columns(std::min(warp(), pow2_ceil(kFlatThreads / teams)));
    s_.threads = static_cast<int>(s_.team * teams);
  }

  /// Few columns leave threads for the reduced axes; many reduced indices want them.
  void share_in_rounds(int64_t length, int64_t expected, bool segment) {
    const int64_t most_threads = segment ? kFlatThreads : kTileThreads;
    s_.team = lanes_along_columns(segment ? kFlatThreads : warp());
    if (expected > kShortSum) {
      s_.team = std::min(s_.team, kLongTeam);
      narrow_tiles(segment ? 1 : rows_at_bound());
    }
    const int64_t teams = std::clamp<int64_t>(pow2_ceil(length) / 4, 1, most_threads / s_.team);
    s_.threads = static_cast<int>(s_.team * teams);
  }

  /// Two sectors of each row at a time, or less where most multiprocessors would have nothing to do: vectors
  /// of four, then fewer lanes.
  void narrow_tiles(int64_t rows) {
    const auto tiles = [&] { return quotient_up(columns_, int64_t{s_.team} * s_.vector_width) * rows; };
    if (s_.vector_width > 4 && tiles() < few_tiles() && !accesses_.draw_random()) s_.vector_width = 4;
    while (s_.team > 2 && tiles() < few_tiles()) s_.team /= 2;
  }

  Kernel& k_;
  Schedule& s_;
  const Symbols& symbols_;
  const DeviceModel& device_;
  KernelShape shape_;
  VectorAccesses accesses_;
  int64_t columns_ = 1;
};

}  // namespace

bool lighten_schedule(Kernel& kernel) {
  Schedule& s = kernel.schedule;
  const bool reduced = count_axes(kernel, AxisKind::reduced) > 0;
  if (s.unroll > 1) {
    s.unroll = 1;
  } else if (!reduced && s.threads > kFlatThreads && s.team <= kFlatThreads) {
    s.threads = kFlatThreads;
    if (s.splits == 0) s.grain = s.threads / s.team;
  } else if (s.vector_width > 1) {
    s.vector_width /= 2, s.vectors *= 2;
    if (reduced) s.tile /= 2;
  } else if (!reduced && !s.flat && s.vectors > 1 && s.team < kLargestTeam) {
    s.team *= 2, s.vectors = (s.vectors + 1) / 2;
    s.threads = std::max(s.threads, s.team);
    if (s.splits == 0) s.grain = s.threads / s.team;
  } else {
    return false;
  }
  fit_tails(kernel);
  legalize_for_gpu(kernel);
  return true;
}

void schedule_for_gpu(Kernel& kernel, const Symbols& symbols, const DeviceModel& device) {
  if (!GpuScheduler(kernel, symbols, device).run())
    fail_with(Status::internal, "kernel {}: no registers for the values kept of its rows", kernel.name);
  if (!kernel.schedule.cached.empty()) return;
  Kernel keeping = kernel;
  if (!keep_columns(keeping)) return;
  number_by_blocks(keeping);
  if (GpuScheduler(keeping, symbols, device).run()) kernel = std::move(keeping);
}

void take_schedule(Kernel& kernel, const Schedule& schedule) {
  kernel.schedule = schedule;
  fit_tails(kernel);
  legalize_for_gpu(kernel);
}

}  // namespace smelt
