// The weights of a session: from files, and into them.
#include "runtime/session/session_weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include "runtime/base/error.h"
#include "runtime/cpu/threads.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/weights/initialize.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/activation_bound.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"
#include "runtime/session/session.h"
#include "runtime/system/log.h"

namespace smelt {

/// The source of a segment's values.
struct WeightMatch {
  int state;
  const Segment* segment;
  const TensorView* tensor;
};

bool holds_weights(const State& state) {
  return state.role == Role::parameter && !state.segments.empty() && state.copy_of.empty() &&
         state.scales_of.empty() && state.zeros_of.empty();
}

namespace {

/// to[c][r] = from[r][c] for `rows` x `columns`, row-major on both sides.
void transpose(std::span<const float> from, std::span<float> to, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 32;  // both sides of a tile stay in the first-level cache
  // Fewer numbers than these are copied before threads have started.
#pragma omp parallel for schedule(static) num_threads(rows* columns > 1 << 18 ? team_threads() : 1)
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile)
      for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
        for (int64_t c = c0; c < std::min(columns, c0 + kTile); ++c)
          to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
}

/// A tensor's own memory, where that can be read as floats.
std::optional<std::span<const float>> floats_in_place(const TensorView& tensor) {
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
  if (tensor.dtype != DType::f32 || tensor.source || !aligned) return std::nullopt;
  return std::span(reinterpret_cast<const float*>(tensor.bytes.data()),
                   static_cast<size_t>(tensor.elements()));
}

void read_whole(const TensorView& tensor, const Segment& segment, std::span<float> to) {
  if (!segment.transposed) return read_floats(tensor, to);
  const auto in_place = floats_in_place(tensor);
  const std::vector<float> copy = in_place ? std::vector<float>() : read_floats(tensor);
  transpose(in_place.value_or(copy), to, tensor.shape[0], tensor.shape[1]);
}

/// The bits of a number that is not a NaN are at most those of infinity, apart from the sign.
bool is_nan(float value) { return (std::bit_cast<uint32_t>(value) & 0x7fffffffU) > 0x7f800000U; }

}  // namespace

void require_numbers(const TensorView& tensor, std::span<const float> values) {
  uint32_t any = 0;
  for (const float value : values) any |= static_cast<uint32_t>(is_nan(value));
  if (any == 0) return;
  const auto count = std::ranges::count_if(values, is_nan);
  fail_with(
      Status::invalid_file,
      "weights: {} of {} values of '{}' are NaN, expected numbers: the model diverged in training, or the "
      "file is damaged; take an earlier checkpoint",
      count, values.size(), tensor.name);
}

namespace {

/// The rank's part of it.
void read_tensor(const TensorView& tensor, const Segment& segment, const RankPlace& place,
                 std::span<float> to) {
  if (!is_cut(segment)) return read_whole(tensor, segment, to);
  std::vector<float> whole(static_cast<size_t>(tensor.elements()));
  read_whole(tensor, segment, whole);
  for (const PartRun& run : part_runs(segment, place.mesh, place.coordinates))
    std::copy_n(whole.begin() + run.in_whole, run.elements, to.begin() + run.in_part);
}

const TensorView* find_tensor(const Checkpoint& weights, const Segment& segment) {
  for (const std::string& name : segment.checkpoint_names)
    if (const TensorView* tensor = weights.find(name)) return tensor;
  return weights.find(segment.name);
}

std::string problem_with(const Segment& segment, const TensorView* tensor) {
  const std::string expected = fmt::format("[{}]", fmt::join(stored_shape(segment), ","));
  const std::string& name =
      segment.checkpoint_names.empty() ? segment.name : segment.checkpoint_names.front();
  if (!tensor) return fmt::format("'{}' is missing (expected {})", name, expected);
  if (tensor->shape != stored_shape(segment) || !is_float(tensor->dtype))
    return fmt::format("'{}' is {}, expected floats {}", tensor->name, describe(*tensor), expected);
  return {};
}

/// Numbers are divided by the bound of an activation.
std::string problem_with_bound(const Segment& segment, const TensorView& tensor, const Checkpoint& weights) {
  if (!is_activation_bound(segment.name)) return {};
  const float bound = read_floats(tensor).front();
  for (const std::string& name : segment.checkpoint_names)
    if (const TensorView* other = weights.find(name);
        other && other->elements() == 1 && std::isfinite(bound) && read_floats(*other).front() != bound)
      return fmt::format(
          "'{}' is {}, and '{}' is {}: expected one bound for the activations that both read "
          "(127 times their input_scale); --qat=none computes in floats",
          name, read_floats(*other).front(), tensor.name, bound);
  if (std::isfinite(bound)) return {};
  return fmt::format(
      "'{}' is {}, expected a finite number: the bound of an activation, which is 127 times its input_scale",
      tensor.name, bound);
}

/// Collects all faults instead of stopping at the first.
std::vector<WeightMatch> match_all(const Plan& plan, const Checkpoint& weights,
                                   const std::function<bool(const Segment&)>& stays = {}) {
  std::vector<WeightMatch> matches;
  std::vector<std::string> problems;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    if (!holds_weights(plan.states[i])) continue;
    for (const Segment& segment : plan.states[i].segments) {
      const TensorView* tensor = find_tensor(weights, segment);
      if (!tensor && stays && stays(segment)) continue;
      matches.push_back({static_cast<int>(i), &segment, tensor});
      if (auto problem = problem_with(segment, matches.back().tensor); !problem.empty())
        problems.push_back(std::move(problem));
      else if (auto bound = problem_with_bound(segment, *matches.back().tensor, weights); !bound.empty())
        problems.push_back(std::move(bound));
    }
  }
  if (!problems.empty())
    fail_with(Status::invalid_file, "weights '{}' do not fit the plan: {}", weights.path().string(),
              fmt::join(problems, "; "));
  return matches;
}

/// Returns the names of the tensors that are not in `used`.
std::vector<std::string> names_without(const Checkpoint& weights, const std::set<const TensorView*>& used) {
  std::vector<std::string> names;
  for (const TensorView& tensor : weights.tensors())
    if (!used.contains(&tensor)) names.push_back(tensor.name);
  return names;
}

}  // namespace

std::vector<std::string> Session::load_weights(const Checkpoint& weights,
                                               const std::function<bool(const Segment&)>& stays) {
  for (size_t i = 0; i < plan_->states.size(); ++i) require_own(static_cast<int>(i));
  return read_weights(weights, match_all(*plan_, weights, stays));
}

/// Reads a tensor, directly into the state's floats if it has f32 and is not sharded.
void Session::read_weight(int state, const WeightMatch& match, std::vector<float>& scratch) {
  const State& whole = plan_->states[static_cast<size_t>(state)];
  const auto count = static_cast<size_t>(match.segment->elements());
  if (whole.dtype == DType::f32 && !is_cut(whole)) {
    const std::span all = state_f32(whole.name);
    const std::span own = all.subspan(static_cast<size_t>(match.segment->offset), count);
    read_tensor(*match.tensor, *match.segment, place(), own);
    return require_numbers(*match.tensor, own);
  }
  const auto all = static_cast<size_t>(match.tensor->elements());
  scratch.resize(std::max(scratch.size(), all));
  const std::span values = std::span(scratch).first(all);
  read_whole(*match.tensor, *match.segment, values);
  require_numbers(*match.tensor, values);
  write_segment(whole.name, match.segment->name, values);
}

namespace {

/// Returns whether the plan averages the parameter.
bool is_averaged(const Plan& plan, const std::string& parameter) {
  const State* offsets = plan.find_state(kAverageOffset);
  return offsets &&
         std::ranges::find(offsets->segments, parameter, &Segment::name) != offsets->segments.end();
}

}  // namespace

/// An average begins again at the weights that are read.
std::vector<std::string> Session::read_weights(const Checkpoint& weights,
                                               std::span<const WeightMatch> matches) {
  std::set<const TensorView*> used;
  std::vector<float> scratch;
  for (const WeightMatch& match : matches) {
    read_weight(match.state, match, scratch);
    if (is_averaged(*plan_, match.segment->name))
      write_segment(kAverageOffset, match.segment->name,
                    std::vector<float>(static_cast<size_t>(match.tensor->elements())));
    used.insert(match.tensor);
  }
  std::vector<std::string> unused = names_without(weights, used);
  log(LogLevel::info, "weights '{}' loaded: {} tensors, {} more that the plan does not ask for",
      weights.path().string(), used.size(), unused.size());
  return unused;
}

std::vector<std::string> Session::initialize(uint32_t seed, const Checkpoint& weights) {
  const std::vector<WeightMatch> matches = match_all(*plan_, weights);
  initialize_states(seed, holds_weights);
  return read_weights(weights, matches);
}

std::vector<std::string> Session::load_weights(const std::filesystem::path& path) {
  return load_weights(open_weights(path));
}

std::vector<std::string> unused_weights(const Plan& plan, const Checkpoint& weights) {
  std::set<const TensorView*> used;
  for (const WeightMatch& match : match_all(plan, weights)) used.insert(match.tensor);
  return names_without(weights, used);
}

namespace {

/// Adds the difference to averaged parameters, if the plan trains them.
void add_offset(const Session& session, const std::string& name, std::span<float> values) {
  if (!is_averaged(session.plan(), name)) return;
  const std::vector<float> offset = session.read_segment(kAverageOffset, name);
  for (size_t i = 0; i < values.size(); ++i) values[i] += offset[i];
}

}  // namespace

std::vector<HostTensor> weights_of(const Session& session, WeightsAt at) {
  std::vector<HostTensor> tensors;
  for (const State& state : session.plan().states) {
    if (!holds_weights(state)) continue;
    for (const Segment& s : state.segments) {
      if (is_cut(s))
        fail("parameter '{}' is shared by ranks in parts: files of weights hold whole ones", s.name);
      std::vector<float> values = session.read_segment(state.name, s.name);
      if (at == WeightsAt::evaluation) add_offset(session, s.name, values);
      const std::string& name = s.checkpoint_names.empty() ? s.name : s.checkpoint_names.front();
      HostTensor& tensor = tensors.emplace_back(HostTensor{name, DType::f32, stored_shape(s), {}});
      tensor.bytes.resize(values.size() * sizeof(float));
      const std::span<float> to(reinterpret_cast<float*>(tensor.bytes.data()), values.size());
      if (s.transposed)
        transpose(values, to, tensor.shape[1], tensor.shape[0]);
      else
        std::ranges::copy(values, to.begin());
    }
  }
  return tensors;
}

void Session::save_weights(const std::filesystem::path& path,
                           std::map<std::string, std::string> metadata) const {
  const std::vector<HostTensor> all = weights_of(*this, WeightsAt::evaluation);
  std::vector<TensorView> views;
  for (const HostTensor& t : all) views.push_back({t.name, t.dtype, t.shape, t.bytes});
  metadata.emplace("format", "pt");
  write_safetensors(path, views, metadata);
}

}  // namespace smelt
