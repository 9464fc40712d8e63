// Kernels without reduced axes: a team of threads shares a row, or a block a part of a flat range.
#include <algorithm>

#include "codegen/scheduling/schedule_gpu.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Registers of a thread for what it keeps of them where one or two warps have a row.
constexpr int64_t kWarpPayload = 160;
/// In a kernel with a grid-stride loop, the number of blocks that share a multiprocessor, and the eighths of
/// a thread's registers that values kept from row to row may take, in large blocks and in smaller ones.
constexpr int64_t kWalkBlocks = 2, kLargeBlockEighths = 3, kSmallBlockEighths = 6;
/// Elements that a lane keeps, at least, before fewer lanes share a row.
constexpr int64_t kFewElements = 16;
/// Registers of a thread for loads that are in flight of rows that stay in registers, as they come from
/// memory.
constexpr int64_t kRowsInFlight = 64;
/// The least rows per multiprocessor for loops by few warps each, where no registers hold a row; of fewer
/// rows, each has a large block.
constexpr int64_t kManyRows = 8;
/// The least rows of a team's loop from which on the next rows are prefetched.
constexpr int64_t kLongWalk = 8;
/// The period of the memory channels in bytes, as inferred from the time of loops over rows.
constexpr int64_t kChannelPeriod = 64 << 10;

class RowScheduler {
 public:
  explicit RowScheduler(GpuKernel& kernel) : gpu_(kernel), s_(kernel.schedule) {}

  bool run() {
    if (!s_.flat) return rows();
    flat();
    return true;
  }

 private:
  bool rows() {
    if (gpu_.accumulators(Accumulation::memory) > 0) return rows_with_sums_in_memory(), s_.cached.empty();
    const bool is_fixed = gpu_.sums_in_order();
    int64_t team = is_fixed ? fixed_team(gpu_.columns) : row_team();
    if (leaves_lanes_idle(team) && !gpu_.accesses.draw_random() && !is_fixed) fill_lanes(team);
    if (s_.splits > 0 && !is_fixed) team = walking_team(team);
    const int64_t vectors = gpu_.vectors();
    const bool fits = is_fixed ? fits_registers(team) : team > 0;
    const bool apart = gpu_.rows_at_bound() >= many_rows() && gpu_.accumulators(Accumulation::column) == 0;
    s_.team = static_cast<int>(fits || is_fixed ? team : apart ? long_row_team() : kWalkThreads);
    s_.vectors = fits ? static_cast<int>(quotient_up(vectors, team)) : 0;
    // A grid-stride loop waits for every row: its teams are few, so all loads of a row should be in flight.
    const int64_t flying = s_.splits > 0 && s_.vectors <= 4 ? 4 : kept_in_flight();
    s_.unroll = static_cast<int>(fits ? std::min<int64_t>(flying, s_.vectors) : gpu_.in_flight());
    set_block(!fits && gpu_.accumulators(Accumulation::column) > 0);
    if (fits && is_long_walk() && !is_fixed)
      walk_long();
    else
      s_.interleaved = s_.splits > 0 && (shares_begin_alike() || shares_end_unevenly());
    return fits || s_.cached.empty();
  }

  void flat() {
    s_.threads = s_.team = s_.splits > 0 ? kWalkThreads : kFlatThreads;
    s_.unroll = static_cast<int>(gpu_.in_flight());
    s_.vectors = s_.splits > 0 ? 0 : s_.unroll;
    s_.grain = int64_t{s_.threads} * s_.vector_width * s_.unroll;
    s_.interleaved = s_.splits > 0;
  }

  // ---- the device

  /// Threads that keep it busy: fewer lanes share a row where there are as many without them.
  int64_t enough_threads() const {
    return int64_t{gpu_.device.multiprocessors} * gpu_.device.multiprocessor_threads / 2;
  }
  int64_t many_rows() const { return kManyRows * gpu_.device.multiprocessors; }
  /// Returns the registers of a thread for values that a grid-stride loop by blocks of `threads` threads
  /// keeps.
  int64_t walk_payload(int64_t threads, int64_t eighths) const {
    return gpu_.device.multiprocessor_registers / (kWalkBlocks * threads) * eighths / 8;
  }
  int64_t large_walk_payload() const { return walk_payload(kWalkThreads, kLargeBlockEighths); }
  int64_t small_walk_payload() const { return walk_payload(kFlatThreads, kSmallBlockEighths); }

  // ---- the threads of a row

  /// Returns the registers that one vector of each load takes, in the block that loads most.
  int64_t loaded_registers() const { return s_.vector_width * gpu_.accesses.loaded_bytes() / 4; }

  /// Vectors of each load of a row that stays in registers.
  int64_t kept_in_flight() const {
    if (gpu_.accesses.need_order()) return 1;
    return std::clamp<int64_t>(kRowsInFlight / std::max<int64_t>(1, loaded_registers()), 1, 8);
  }

  /// Registers for each element of a row that stay taken from one block to another or from row to row; flags
  /// are bits.
  int64_t kept_values() const {
    const int64_t flags = llvm::count_if(
        s_.cached, [&](int id) { return gpu_.kernel.instructions[id].dtype == DType::boolean; });
    return static_cast<int64_t>(s_.cached.size()) - flags + (flags > 0) +
           gpu_.accumulators(Accumulation::column);
  }

  /// The fewest lanes that have little to keep and still leave enough threads for all rows: what is done once
  /// a row costs each of them.
  int64_t smallest_team(int64_t vectors) const {
    int64_t team = std::min(gpu_.warp(), pow2_ceil(vectors));
    const auto kept = [&](int64_t lanes) {
      return quotient_up(vectors, lanes) * s_.vector_width * std::max<int64_t>(1, kept_values());
    };
    while (team > 4 && kept(team / 2) <= kFewElements && gpu_.rows_at_bound() * team / 2 >= enough_threads())
      team /= 2;
    return team;
  }

  /// A warp for a row where that is enough; many threads with little each beyond.
  int64_t team_size(int64_t vectors, int64_t most_elements) const {
    const auto elements = [&](int64_t team) { return quotient_up(vectors, team) * s_.vector_width; };
    for (int64_t team = smallest_team(vectors); team <= kLargestTeam; team *= 2) {
      const int64_t payload = team <= 2 * gpu_.warp() ? kWarpPayload : kPayload;
      if (elements(team) > most_elements || elements(team) * kept_values() > payload) continue;
      while (team > gpu_.warp() && team < kWalkThreads && elements(team) > kRowElements / 2) team *= 2;
      return team;
    }
    return 0;
  }

  bool fits_registers(int64_t team) const {
    const int64_t elements = quotient_up(gpu_.vectors(), team) * s_.vector_width;
    return elements <= 2 * kRowElements && elements * kept_values() <= kWarpPayload;
  }

  /// Returns the team for few rows, at most one block per multiprocessor, whose time is that of their loads:
  /// as many threads share a row as it has vectors.
  int64_t team_of_small_m() const {
    if (gpu_.rows_at_bound() > gpu_.device.multiprocessors || s_.splits > 0) return 0;
    const int64_t team = std::min<int64_t>(kFlatThreads, pow2_ceil(gpu_.vectors()));
    return team > gpu_.warp() && quotient_up(gpu_.vectors(), team) == 1 ? team : 0;
  }

  /// 0 where no registers hold a row.
  int64_t row_team() const {
    if (const int64_t team = team_of_small_m(); team > 0) return team;
    const int64_t vectors = gpu_.vectors(), team = team_size(vectors, kRowElements);
    return team == 0 && kept_values() > 0 ? team_size(vectors, 2 * kRowElements) : team;
  }

  /// Blocks of columns that load something: the second one reads a row again.
  int64_t sweeps() const {
    return llvm::count_if(gpu_.kernel.blocks, [&](const KernelBlock& block) {
      return block.scope == KernelBlock::Scope::column && llvm::any_of(block.instructions, [&](int id) {
               return gpu_.kernel.instructions[id].kind == Kind::load;
             });
    });
  }

  /// Returns the team of a row, for many rows that do not fit registers. Rows that are resident concurrently
  /// share the L2. With fewer of them, a row is still cached when it is read again; with smaller teams it is
  /// not. Still larger teams would lose the gain at their barriers.
  int64_t long_row_team() const { return sweeps() > 1 ? kLargestTeam : kRowThreads; }

  /// Returns a larger team for rows in a grid-stride loop: doubles it, while its lanes share the vectors of a
  /// row evenly, until the registers suffice for enough threads.
  int64_t walking_team(int64_t team) const {
    const int64_t vectors = gpu_.vectors();
    const auto kept = [&] { return quotient_up(vectors, team) * s_.vector_width * kept_values(); };
    while (team > 0 && team < kLargestTeam && kept() > small_walk_payload() && vectors % (2 * team) == 0)
      team *= 2;
    return team;
  }

  /// A row's last vectors are for less than half of its lanes.
  bool leaves_lanes_idle(int64_t team) const {
    const int64_t vectors = gpu_.vectors();
    return team > gpu_.warp() && vectors > team && 2 * (vectors % team) <= team && vectors % team > 0;
  }

  /// Vectors of half the width, where they come out even.
  void fill_lanes(int64_t& team) {
    const int width = s_.vector_width;
    s_.vector_width = width / 2;
    const int64_t narrow_team = width > 4 ? row_team() : 0;
    if (narrow_team > 0 && gpu_.vectors() % narrow_team == 0)
      team = narrow_team;
    else
      s_.vector_width = width;
  }

  /// One row is prefetched while the last one is worked on: lanes with little each, few teams.
  void walk_long() {
    const int64_t vectors = gpu_.vectors();
    while (s_.vectors > 2 && vectors % (2 * s_.team) == 0 && 2 * s_.team <= kFlatThreads)
      s_.team *= 2, s_.vectors /= 2;
    s_.unroll = std::min<int>(s_.unroll, static_cast<int>(s_.vectors));
    s_.threads = std::max<int>(s_.team, std::min(s_.threads, kFlatThreads));
    s_.prefetch_distance = 1;
    s_.interleaved = shares_begin_alike();
  }

  /// Assigns every element of a sum in memory to one thread: of a team that is the block, or of a block that
  /// is one thread.
  void rows_with_sums_in_memory() {
    bool owned = true;
    for (int id : gpu_.shape.all_of(Kind::accumulate)) {
      if (gpu_.shape.accumulation(id) != Accumulation::memory) continue;
      const Access& access = gpu_.kernel.instructions[id].access;
      owned &= access.computed < 0 && gpu_.shape.inner >= 0 && s_.cached.empty();
      for (int axis : gpu_.shape.columns) owned &= !access.strides[axis].is_zero();
      for (int axis : gpu_.shape.parallel) owned &= access.strides[axis].is_zero();
    }
    s_.team = owned ? kRowThreads : 1;
    s_.vectors = 0, s_.unroll = 1;
    if (!owned) s_.vector_width = 1;
    s_.threads = s_.team;
  }

  void set_block(bool one_team) {
    const int64_t kept = s_.vectors * s_.vector_width * kept_values();
    const int64_t many = gpu_.accesses.loads() * s_.vector_width > kPayload ? kFlatThreads : kWalkThreads;
    const int64_t walking = kept <= large_walk_payload()   ? many
                            : kept <= small_walk_payload() ? kFlatThreads
                                                           : kRowThreads;
    const int64_t wanted = s_.splits > 0 ? walking : kRowThreads;
    int64_t threads = one_team ? s_.team : std::max<int64_t>(s_.team, wanted);
    const int64_t rows = gpu_.rows_at_bound();
    while (threads / 2 >= std::max<int64_t>(s_.team, gpu_.warp()) && threads / 2 / s_.team >= rows)
      threads /= 2;
    s_.threads = static_cast<int>(threads);
    s_.grain = s_.splits > 0 ? 1 : threads / s_.team;
  }

  int64_t rows_of_share() const { return quotient_up(gpu_.rows_at_bound(), s_.splits); }

  /// A short one has begun before a prefetched row can arrive earlier.
  bool is_long_walk() const {
    return s_.splits > 0 && gpu_.rows_at_bound() >= kLongWalk * s_.splits * (s_.threads / s_.team);
  }

  /// Shares of few rounds whose last one leaves teams without a row: interleaved, few blocks alone have such
  /// a round.
  bool shares_end_unevenly() const {
    const int64_t teams = s_.threads / s_.team;
    return rows_of_share() < kLongWalk * teams && rows_of_share() % teams != 0;
  }

  /// Returns whether the shares of neighbouring rows begin at addresses that differ in high bits alone: all
  /// blocks would then read from the same memory channels concurrently.
  bool shares_begin_alike() const {
    const int64_t share = rows_of_share() * gpu_.columns * gpu_.accesses.narrowest();
    return share > 0 && share % kChannelPeriod == 0;
  }

  GpuKernel& gpu_;
  Schedule& s_;
};

}  // namespace

bool schedule_rows(GpuKernel& kernel) { return RowScheduler(kernel).run(); }

}  // namespace smelt
