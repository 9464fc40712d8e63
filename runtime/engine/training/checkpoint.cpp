#include "runtime/engine/training/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint_layout.h"
#include "runtime/engine/training/pipeline_stage.h"
#include "runtime/engine/training/state_layout.h"
#include "runtime/engine/training/stored_states.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"
#include "runtime/session/session.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

int64_t rank_of(const Session& session) { return session.ranks() ? session.ranks()->rank() : 0; }

bool is_in_parts(const Plan& plan) {
  return std::ranges::any_of(plan.states,
                             [&](const State& s) { return is_saved(s) && is_in_parts(s, plan.mesh); });
}

void require_sums_applied(const Plan& plan) {
  for (const State& state : plan.states)
    if (is_saved(state) && !state.partial.empty())
      fail("state '{}' is a sum of what ranks hold: checkpoints have no place for it", state.name);
}

TensorView described(const Plan& plan, const State& state) {
  return {state.name, state.dtype, {state_bytes(plan, state) / size_of(state.dtype)}, {}};
}

/// Returns the tensors that this rank writes: of sharded states, or of whole ones.
std::vector<TensorView> views_of(const Session& session, bool cut) {
  std::vector<TensorView> views;
  for (const State& state : session.plan().states) {
    if (!is_saved(state) || is_in_parts(state, session.plan().mesh) != cut) continue;
    if (cut && !is_first_holder(state, session.plan().mesh, rank_of(session))) continue;
    views.push_back(described(session.plan(), state));
    views.back().bytes = session.state(state.name);
  }
  return views;
}

using Texts = std::map<std::string, std::string>;

/// Computes the checksum over texts and tensors, in this order.
std::string checksum_over(const Texts& texts, const std::vector<TensorView>& views) {
  std::vector<std::string> ordered;
  for (const char* key : kCheckpointTexts) ordered.push_back(texts.contains(key) ? texts.at(key) : "");
  return checksum_of(ordered, views);
}

int64_t parse_step(std::string_view text, const fs::path& path) {
  int64_t step = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc{} || end != text.data() + text.size() || step < 0)
    fail_with(Status::invalid_file, "'{}': its step is '{}', expected a number", path.string(), text);
  return step;
}

// ---- whether it fits

/// The segments of a checkpoint in one file, which it lists; of an older one, those of the plan.
std::vector<Segment> segments_in(const StoredStates& file, const State& state) {
  const std::string layout = file.text("parameters");
  if (layout.empty()) return state.segments;
  const std::string& master = state.copy_of.empty() ? state.name : state.copy_of;
  return parameter_segments(layout, file.path().string(),
                            state.role == Role::parameter ? master : "parameters");
}

/// The state as the file has it, with its tensors.
StoredState with_tensors(const StoredStates& file, const StoredState& stored, const State& state) {
  StoredState result = stored;
  if (!file.in_parts() && !state.segments.empty())
    result.take_segments(segments_in(file, state), file.path().string());
  return result;
}

/// Returns the numbers of the segments by their names in files.
std::map<std::string, size_t> tensor_numbers(const State& state) {
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < state.segments.size(); ++i) numbers[file_name_of(state.segments[i])] = i;
  return numbers;
}

/// Whatever the ranks that share them, and in whatever order. A stage of a pipeline has some of them.
bool have_same_tensors(const State& stored, const State& state, bool is_stage) {
  const std::map<std::string, size_t> numbers = tensor_numbers(stored);
  return (is_stage || stored.segments.size() == state.segments.size()) &&
         std::ranges::all_of(state.segments, [&](const Segment& segment) {
           const auto found = numbers.find(file_name_of(segment));
           if (found == numbers.end()) return false;
           return stored_shape(stored.segments[found->second]) == stored_shape(segment);
         });
}

/// Returns the mismatch between a state of the file and the plan's state; empty if there is none. Padding may
/// differ.
std::string problem_with(const StoredStates& file, const State& state, bool is_stage) {
  const StoredState* stored = file.find(state.name);
  if (!stored) return fmt::format("state '{}' is missing", state.name);
  const bool knows = !state.segments.empty() && (file.in_parts() || !file.text("parameters").empty());
  const int64_t expected = count_elements(whole_extents(state)), elements = stored->elements();
  const bool fits = knows ? have_same_tensors(with_tensors(file, *stored, state).state, state, is_stage)
                          : elements == expected;
  if (stored->state.dtype == state.dtype && fits) return {};
  if (stored->state.dtype != state.dtype || elements != expected)
    return fmt::format("state '{}' is {}, the plan has {}", state.name,
                       describe({state.name, stored->state.dtype, {elements}, {}}),
                       describe({state.name, state.dtype, {expected}, {}}));
  return fmt::format("the tensors of state '{}' have other names or shapes", state.name);
}

/// Returns whether moments have the layout of the parameters but no segments that specify it.
bool has_unnamed_moments(const Plan& plan) {
  return std::ranges::any_of(plan.states, [](const State& state) {
    return state.role == Role::optimizer && state.segments.empty() && !state.shape.empty();
  });
}

void require_fit(const StoredStates& file, const Plan& plan) {
  std::vector<std::string> problems;
  const bool is_stage = pipeline_stage(plan).has_value();
  for (const State& state : plan.states) {
    std::string problem = is_saved(state) ? problem_with(file, state, is_stage) : "";
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  for (const StoredState& stored : file.states()) {
    const State* state = plan.find_state(stored.state.name);
    if (!state || !is_saved(*state))
      problems.push_back(fmt::format("the plan has no state '{}'", stored.state.name));
  }
  if (problems.empty() && !file.in_parts() && has_unnamed_moments(plan) && !file.text("parameters").empty() &&
      file.text("parameters") != parameter_layout(plan))
    problems.push_back("its parameters have other names, shapes or places");
  if (!problems.empty())
    fail("checkpoint '{}' belongs to another plan: {}", file.path().string(), fmt::join(problems, "; "));
}

// ---- reading

/// Returns this rank's part of a state; zeros between tensors.
std::vector<std::byte> part_of(const StoredStates& file, const StoredState& stored, const State& state,
                               const Session& session) {
  const int64_t from = size_of(stored.state.dtype), width = size_of(state.dtype);
  std::vector<std::byte> part(static_cast<size_t>(state_bytes(session.plan(), state)));
  std::vector<float> wide;
  const std::map<std::string, size_t> numbers = tensor_numbers(stored.state);
  for (const TensorRun& run : whole_tensor_runs(state, session.plan().mesh, rank_of(session))) {
    const size_t tensor = run.segment ? numbers.at(file_name_of(*run.segment)) : 0;
    const auto to = std::span(part).subspan(static_cast<size_t>(run.local * width),
                                            static_cast<size_t>(run.elements * width));
    if (stored.state.dtype == state.dtype) {
      file.copy(stored, tensor, run.at, to);
      continue;
    }
    wide.resize(static_cast<size_t>(run.elements));  // of a rounded copy
    file.copy(stored, tensor, run.at,
              {reinterpret_cast<std::byte*>(wide.data()), static_cast<size_t>(run.elements * from)});
    narrow(wide.data(), to.data(), state.dtype, run.elements);
  }
  return part;
}

/// A rounded copy of which a rank holds other parts than of its master is made from the file.
bool is_read(const Plan& plan, const State& state) {
  return is_saved(state) || (!state.copy_of.empty() && plan.find_state(state.copy_of)->cut != state.cut);
}

void read_states(const StoredStates& file, Session& session) {
  const Plan& plan = session.plan();
  for (const State& state : plan.states) {
    if (!is_read(plan, state)) {
      if (state.copy_of.empty() && !state.from_model) session.clear_state(state.name);
      continue;
    }
    const StoredState& kept = *file.find(is_saved(state) ? state.name : state.copy_of);
    const StoredState stored = with_tensors(file, kept, state);
    session.write_state(state.name, part_of(file, stored, state, session));
  }
}

/// Restores the choices. Returns a message if they are not used.
std::string restore_choices(Session& session, const std::string& choices) {
  const std::string problem = session.executor().restore_choices(choices);
  if (problem.empty()) return {};
  return fmt::format(
      "its choices of algorithms and alternatives are not used: {}; results may differ in their last bits",
      problem);
}

/// The whole of a state, as one rank that has all of it would write it.
HostTensor whole_state(const StoredStates& file, const StoredState& stored) {
  const auto width = static_cast<size_t>(size_of(stored.state.dtype));
  const std::vector<int64_t> offsets = whole_offsets(stored.state);
  int64_t end = 0;
  for (size_t i = 0; i < offsets.size(); ++i)
    end = std::max(end, offsets[i] + count_elements(whole_shape(stored.state.segments[i])));
  HostTensor whole{stored.state.name, stored.state.dtype, {end}, {}};
  whole.bytes.resize(static_cast<size_t>(end) * width);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto elements = static_cast<size_t>(count_elements(whole_shape(stored.state.segments[i])));
    file.copy(stored, i, 0,
              std::span(whole.bytes).subspan(static_cast<size_t>(offsets[i]) * width, elements * width));
  }
  return whole;
}

/// Returns the states that hold parameters, put together.
Checkpoint whole_parameters(const StoredStates& file) {
  std::vector<HostTensor> tensors;
  for (const StoredState& stored : file.states())
    if (stored.state.role == Role::parameter) tensors.push_back(whole_state(file, stored));
  return Checkpoint::of(std::move(tensors), file.path());
}

/// Replaces the first stage's entries of the index by those of all pipeline stages.
void take_stages(const Plan& plan, const CheckpointInfo& info, Texts& texts) {
  if (std::ssize(info.layouts) != plan.mesh.ranks())
    fail("a checkpoint of a pipeline needs the layouts of all {} ranks, not of {}", plan.mesh.ranks(),
         info.layouts.size());
  texts["states"] = join_layouts(plan.mesh, info.layouts);
  Plan all;
  all.states = read_state_layout(texts["states"], "the layout of all stages").states;
  texts["parameters"] = parameter_layout(all);
}

}  // namespace

/// Copies are rounded again from their masters; the model's own weights are read from its files.
bool is_saved(const State& state) {
  const bool lasts = state.role != Role::gradient && state.role != Role::cache &&
                     state.role != Role::stream && state.role != Role::fault;
  return lasts && state.copy_of.empty() && !state.from_model;
}

std::string checkpoint_layout(const Plan& plan) {
  return pipeline_stage(plan) ? state_layout(plan) : std::string();
}

std::string write_checkpoint_part(const fs::path& path, const Session& session, int64_t step) {
  const Plan& plan = session.plan();
  const std::vector<TensorView> views = views_of(session, true);
  if (views.empty()) return {};
  const Texts texts = {{"step", std::to_string(step)}};
  const std::string checksum = checksum_over(texts, views);
  make_directories(path.parent_path());
  write_safetensors(checkpoint_part_path(path, rank_of(session), plan.mesh.ranks()), views,
                    {{"format", kPartFormat}, {"step", texts.at("step")}, {"checksum", checksum}});
  return checksum;
}

void write_checkpoint(const fs::path& path, const Session& session, const CheckpointInfo& info,
                      std::span<const std::string> parts) {
  const Plan& plan = session.plan();
  require_sums_applied(plan);
  if (is_in_parts(plan) && static_cast<int64_t>(parts.size()) != plan.mesh.ranks())
    fail("a checkpoint of states that ranks have parts of is written by all {} of them, not by one",
         plan.mesh.ranks());
  const auto views = views_of(session, false);
  Texts texts = {{"step", std::to_string(info.step)},
                 {"trainer", info.trainer},
                 {"choices", session.executor().choices()},
                 {"parameters", parameter_layout(plan)}};
  if (is_in_parts(plan)) texts["states"] = state_layout(plan), texts["parts"] = Json(parts).dump();
  if (pipeline_stage(plan)) take_stages(plan, info, texts);
  texts["checksum"] = checksum_over(texts, views);
  texts["format"] = is_in_parts(plan) ? kIndexFormat : kWholeFormat;
  if (texts["choices"].empty()) texts.erase("choices");
  write_safetensors(path, views, texts);
}

CheckpointInfo read_checkpoint(const fs::path& path, Session& session) {
  const StoredStates file = StoredStates::open(path);
  require_sums_applied(session.plan());
  require_fit(file, session.plan());
  read_states(file, session);
  return {parse_step(file.text("step"), path), file.text("trainer"), path,
          restore_choices(session, file.text("choices"))};
}

Checkpoint checkpoint_weights(const fs::path& path) {
  const StoredStates file = StoredStates::open(path);
  if (file.text("parameters").empty())
    fail(
        "'{}' was written before checkpoints recorded where their parameters are: continue its run with "
        "--resume, which writes one that does",
        path.string());
  return parameters_in(file.in_parts() ? whole_parameters(file) : Checkpoint::open(path),
                       file.text("parameters"));
}

Checkpoint open_weights(const fs::path& path) {
  Checkpoint file = Checkpoint::open(path);
  const auto format = file.metadata().find("format");
  const bool is_checkpoint =
      format != file.metadata().end() && (format->second == kWholeFormat || format->second == kIndexFormat);
  return is_checkpoint ? checkpoint_weights(path) : std::move(file);
}

}  // namespace smelt
