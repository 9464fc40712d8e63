#include "runtime/engine/training/same_states.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/training/pipeline_stage.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

bool is_whole(const State& state) {
  const auto is_empty = [](const std::vector<std::string>& axes) { return axes.empty(); };
  return state.partial.empty() && std::ranges::all_of(state.cut, is_empty);
}

/// Communicators may compare in double, which represents this number of bits exactly.
constexpr int kComparedBits = 52;

/// Adds a state; of a sharded flat state the segments that are whole at every rank.
void add_state(const Session& session, const State& state, Checksum& sum) {
  const std::span<const std::byte> bytes = session.state(state.name);
  if (!is_in_parts(state)) return sum.add(bytes);
  const int64_t width = size_of(state.dtype);
  for (const Segment& segment : state.segments)
    if (!is_cut(segment))
      sum.add(bytes.subspan(static_cast<size_t>(segment.offset * width),
                            static_cast<size_t>(segment.elements() * width)));
}

int64_t checksum_of_states(const Session& session) {
  Checksum sum;
  for (const State& state : session.plan().states)
    if (is_saved(state) && is_whole(state)) add_state(session, state, sum);
  const uint64_t folded = sum.value() ^ (sum.value() >> kComparedBits);
  return static_cast<int64_t>(folded & ((uint64_t{1} << kComparedBits) - 1));
}

}  // namespace

namespace {

/// Compares ranks that should hold the same states. `own` is their checksum, and -1 at all other ranks.
void require_same(const TrainingRanks& ranks, int64_t own, int64_t step) {
  const int64_t largest = ranks.largest(own);
  const bool is_largest = own == largest || own < 0;
  const int64_t other = ranks.largest(is_largest ? -1 : ranks.rank());
  const int64_t one = ranks.largest(own == largest ? ranks.rank() : -1);
  if (other >= 0)
    fail(
        "ranks {} and {} hold other weights, moments or counters at step {}: all must start from the same "
        "weights and seed, and resume from the same checkpoint",
        std::min(one, other), std::max(one, other), step);
}

}  // namespace

void require_same_states(const Session& session, const TrainingRanks& ranks, int64_t step) {
  if (ranks.count() == 1) return;
  const int64_t own = checksum_of_states(session);
  const auto pipeline = pipeline_stage(session.plan());
  if (!pipeline) return require_same(ranks, own, step);
  for (int64_t stage = 0; stage < pipeline->stages; ++stage)
    require_same(ranks, stage == pipeline->stage ? own : -1, step);
}

}  // namespace smelt
