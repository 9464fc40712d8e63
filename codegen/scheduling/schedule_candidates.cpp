#include "codegen/scheduling/schedule_kernels.h"

#include <algorithm>

#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/cuda/device_model.h"

namespace smelt {
namespace {

constexpr int64_t kMostElements = 64;  // of a row in one thread
constexpr int64_t kSharedFloats = kPlainSharedBytes / 4;

class Candidates {
 public:
  Candidates(const Kernel& kernel, const Symbols& symbols)
      : kernel_(kernel), shape_(kernel), first_(kernel.schedule), found_{first_} {
    columns_ = shape_.inner < 0 ? 1 : std::max<int64_t>(1, symbols.upper(kernel.axes[shape_.inner].extent));
  }

  std::vector<Schedule> all() {
    if (shape_.is_reduced())
      tiles();
    else if (first_.flat)
      flat();
    else if (!sums_in_memory())
      rows();
    return std::move(found_);
  }

 private:
  void add(const Schedule& schedule) {
    if (!llvm::is_contained(found_, schedule)) found_.push_back(schedule);
  }

  void add_other_order(Schedule s) {
    s.interleaved = !s.interleaved;
    add(s);
  }

  bool sums_in_memory() const {
    return llvm::any_of(shape_.all_of(Instruction::Kind::accumulate),
                        [&](int id) { return shape_.accumulation(id) == Accumulation::memory; });
  }

  /// Philox makes the bits of eight columns at once, of four at the cost of eight.
  std::vector<int> widths() const {
    std::vector<int> all = {first_.vector_width};
    if (first_.vector_width == 8) all.push_back(4);
    if (first_.vector_width == 4) all.push_back(8);
    return all;
  }

  void rows() {
    for (const int width : widths()) rows(width);
  }

  void rows(int width) {
    const int64_t vectors = (columns_ + width - 1) / width;
    for (int team = 4; team <= 512; team *= 2)
      for (const int threads : {128, 256, 512}) {
        const int64_t own = (vectors + team - 1) / team;
        if (team > threads || (first_.vectors > 0 && own * width > kMostElements)) continue;
        if (team > 2 * vectors || (first_.splits == 0 && threads > std::max(team, 256))) continue;
        for (const int64_t unroll : {int64_t{1}, std::min<int64_t>(own, 2), std::min<int64_t>(own, 4)}) {
          Schedule s = first_;
          s.vector_width = width, s.team = team, s.threads = threads, s.unroll = static_cast<int>(unroll);
          if (first_.vectors > 0) s.vectors = static_cast<int>(own);
          if (s.splits == 0) s.grain = threads / team;
          add(s);
          if (s.splits > 0) add_other_order(s);
          for (const int distance : {0, 1, 2}) {
            if (first_.prefetch_distance == 0 || unroll < std::min<int64_t>(own, 4)) continue;
            s.prefetch_distance = distance;
            add(s);
          }
        }
      }
  }

  void flat() {
    for (const int width : widths())
      for (const int threads : {128, 256, 512})
        for (const int unroll : {1, 2, 4, 8}) {
          if (width * unroll > kMostElements / 2) continue;
          Schedule s = first_;
          s.vector_width = width, s.threads = s.team = threads, s.unroll = unroll;
          s.vectors = s.splits > 0 ? 0 : unroll;
          s.grain = int64_t{threads} * width * unroll;
          add(s);
        }
  }

  /// Returns whether shared memory holds the states of the reductions of all thread groups of a tile, with at
  /// least two scalars per state.
  bool fits_shared(const Schedule& s) const {
    int64_t scalars = 0;
    for (int id : shape_.all_of(Instruction::Kind::reduce))
      scalars += std::max<int64_t>(2, std::ssize(info(kernel_.instructions[id].reduce_op).state));
    return int64_t{exchanging_groups(s)} * s.team * s.vector_width * scalars <= kSharedFloats;
  }

  void tiles() {
    for (const int width : widths())
      for (int team = 1; team <= 32 && team * width < 2 * columns_; team *= 2)
        for (const int threads : {256, 512})
          for (const int unroll : {4, 8}) {
            Schedule s = first_;
            s.vector_width = width, s.team = team, s.threads = threads, s.unroll = unroll;
            s.tile = int64_t{team} * width;
            if (fits_shared(s)) add(s);
          }
  }

  const Kernel& kernel_;
  KernelShape shape_;
  const Schedule& first_;
  std::vector<Schedule> found_;
  int64_t columns_ = 1;
};

}  // namespace

std::vector<Schedule> schedule_candidates(const Kernel& kernel, const Symbols& symbols) {
  return Candidates(kernel, symbols).all();
}

}  // namespace smelt
