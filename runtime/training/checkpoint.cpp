#include "runtime/training/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "runtime/error.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/session.h"
#include "runtime/system/file.h"
#include "runtime/training/checkpoint_layout.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";
constexpr const char *kFormat = "smelt-checkpoint-1", *kChoices = "choices", *kParameters = "parameters";

/// Parts of ranks are not put together here.
void require_whole_states(const Plan& plan) {
  for (const State& state : plan.states) {
    const bool is_cut = std::ranges::any_of(state.cut, [](const auto& axes) { return !axes.empty(); }) ||
                        std::ranges::any_of(state.segments, smelt::is_cut);
    if (is_saved(state) && (is_cut || !state.partial.empty()))
      fail("state '{}' is shared by ranks in parts: checkpoints hold states that are whole at every rank",
           state.name);
  }
}

/// Name, type and size of every state: what must agree between a checkpoint and a plan.
std::vector<TensorView> described(const Plan& plan) {
  std::vector<TensorView> views;
  for (const State& state : plan.states)
    if (is_saved(state))
      views.push_back({state.name, state.dtype, {state_bytes(plan, state) / size_of(state.dtype)}, {}});
  return views;
}

std::vector<TensorView> views_of(const Session& session) {
  std::vector<TensorView> views = described(session.plan());
  for (TensorView& view : views) view.bytes = session.state(view.name);
  return views;
}

/// What a checkpoint holds as text. Files of older versions have no choices and no layout of parameters.
struct Texts {
  std::string step, trainer, choices, parameters;
};

/// Over everything a resumed run depends on; `views` in any fixed order.
std::string checksum(const Texts& texts, std::vector<TensorView> views) {
  std::ranges::sort(views, {}, &TensorView::name);
  Checksum sum;
  for (const std::string& text : {texts.step, texts.trainer, texts.choices, texts.parameters})
    sum.add(std::as_bytes(std::span(text)));
  for (const TensorView& view : views) {
    sum.add(std::as_bytes(std::span(view.name)));
    sum.add(view.bytes);
  }
  return sum.hex();
}

std::string metadata_or_nothing(const Checkpoint& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

std::string metadata_of(const Checkpoint& file, const char* key) {
  if (!file.metadata().contains(key))
    fail_with(Status::invalid_file, "'{}' is no checkpoint of a training run: its metadata has no '{}'",
              file.path().string(), key);
  return file.metadata().at(key);
}

int64_t parse_step(std::string_view text, const fs::path& path) {
  int64_t step = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc{} || end != text.data() + text.size() || step < 0)
    fail_with(Status::invalid_file, "'{}': its step is '{}', expected a number", path.string(), text);
  return step;
}

Texts texts_of(const Checkpoint& file) {
  return {metadata_of(file, "step"), metadata_of(file, "trainer"), metadata_or_nothing(file, kChoices),
          metadata_or_nothing(file, kParameters)};
}

void check_whole(const Checkpoint& file, const Texts& texts) {
  if (metadata_of(file, "format") != kFormat)
    fail_with(Status::invalid_file, "'{}': checkpoint format '{}', this Smelt reads '{}'",
              file.path().string(), metadata_of(file, "format"), kFormat);
  if (checksum(texts, file.tensors()) != metadata_of(file, "checksum"))
    fail_with(Status::invalid_file, "'{}' is damaged: its checksum does not match its contents",
              file.path().string());
}

void check_fit(const Checkpoint& file, const Texts& texts, const Plan& plan) {
  const std::vector<TensorView> states = described(plan);
  std::vector<std::string> problems;
  for (const TensorView& state : states) {
    const TensorView* tensor = file.find(state.name);
    if (!tensor)
      problems.push_back(fmt::format("state '{}' is missing", state.name));
    else if (tensor->dtype != state.dtype || tensor->shape != state.shape)
      problems.push_back(
          fmt::format("state '{}' is {}, the plan has {}", state.name, describe(*tensor), describe(state)));
  }
  for (const TensorView& tensor : file.tensors())
    if (std::ranges::find(states, tensor.name, &TensorView::name) == states.end())
      problems.push_back(fmt::format("the plan has no state '{}'", tensor.name));
  if (problems.empty() && !texts.parameters.empty() && texts.parameters != parameter_layout(plan))
    problems.push_back("its parameters have other names, shapes or places");
  if (!problems.empty())
    fail("checkpoint '{}' belongs to another plan: {}", file.path().string(), fmt::join(problems, "; "));
}

/// What to say where they are not taken.
std::string restore_choices(Session& session, const std::string& choices) {
  const std::string problem = session.executor().restore_choices(choices);
  if (problem.empty()) return {};
  return fmt::format(
      "its choices of algorithms and alternatives are not used: {}; results may differ in their last bits",
      problem);
}

struct Damaged {
  fs::path path;
  std::string problem;
};

void set_aside(const Damaged& file, const CheckpointDirectory::Log& log) {
  fs::path aside = file.path;
  aside += ".damaged";
  fs::rename(file.path, aside);
  log(fmt::format("{}; renamed to '{}', going on with the one before it", file.problem, aside.string()));
}

bool is_checkpoint(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

}  // namespace

/// Copies are rounded again from their masters.
bool is_saved(const State& state) {
  const bool lasts = state.role != Role::gradient && state.role != Role::cache &&
                     state.role != Role::stream && state.role != Role::fault;
  return lasts && state.copy_of.empty();
}

void write_checkpoint(const fs::path& path, const Session& session, const CheckpointInfo& info) {
  require_whole_states(session.plan());
  const auto views = views_of(session);
  const Texts texts{std::to_string(info.step), info.trainer, session.executor().choices(),
                    parameter_layout(session.plan())};
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"step", texts.step},
                                                 {"trainer", texts.trainer},
                                                 {kParameters, texts.parameters},
                                                 {"checksum", checksum(texts, views)}};
  if (!texts.choices.empty()) metadata[kChoices] = texts.choices;
  write_safetensors(path, views, metadata);
}

CheckpointInfo read_checkpoint(const fs::path& path, Session& session) {
  const Checkpoint file = Checkpoint::open(path);
  const Texts texts = texts_of(file);
  check_whole(file, texts);
  require_whole_states(session.plan());
  check_fit(file, texts, session.plan());
  for (const TensorView& tensor : file.tensors()) session.write_state(tensor.name, tensor.bytes);
  for (const State& state : session.plan().states)
    if (!is_saved(state) && state.copy_of.empty()) session.clear_state(state.name);
  return {parse_step(texts.step, path), texts.trainer, path, restore_choices(session, texts.choices)};
}

Checkpoint checkpoint_weights(const fs::path& path) {
  const Checkpoint file = Checkpoint::open(path);
  const Texts texts = texts_of(file);
  check_whole(file, texts);
  if (texts.parameters.empty())
    fail(
        "'{}' was written before checkpoints recorded where their parameters are: continue its run with "
        "--resume, which writes one that does",
        path.string());
  return parameters_in(file, texts.parameters);
}

Checkpoint open_weights(const fs::path& path) {
  Checkpoint file = Checkpoint::open(path);
  return metadata_or_nothing(file, "format") == kFormat ? checkpoint_weights(path) : std::move(file);
}

int64_t checkpoint_step(const fs::path& path) {
  std::string name = path.stem().string();
  return parse_step(std::string_view(name).substr(kPrefix.size()), path);
}

fs::path checkpoint_path(const fs::path& directory, int64_t step) {
  return directory / fmt::format("{}{:010}{}", kPrefix, step, kSuffix);
}

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none))
    if (is_checkpoint(entry.path())) paths.push_back(entry.path());
  std::ranges::sort(paths);  // the step has leading zeros
  return paths;
}

CheckpointDirectory::CheckpointDirectory(fs::path directory, int64_t keep)
    : directory_(std::move(directory)), keep_(keep) {
  make_directories(directory_);
  for (const auto& entry : fs::directory_iterator(directory_))
    if (AtomicFile::is_temporary(entry.path())) fs::remove(entry.path());
}

fs::path CheckpointDirectory::save(const Session& session, const CheckpointInfo& info) {
  const fs::path path = checkpoint_path(directory_, info.step);
  write_checkpoint(path, session, info);
  prune();
  return path;
}

void CheckpointDirectory::prune() {
  const auto paths = list();
  if (keep_ <= 0) return;
  for (size_t i = 0; i + static_cast<size_t>(keep_) < paths.size(); ++i) fs::remove(paths[i]);
}

std::optional<CheckpointInfo> CheckpointDirectory::restore(Session& session, const Log& log) {
  auto paths = list();
  std::vector<Damaged> damaged;
  for (; !paths.empty(); paths.pop_back()) {
    try {
      CheckpointInfo info = read_checkpoint(paths.back(), session);
      for (const Damaged& file : damaged) set_aside(file, log);
      if (!info.warning.empty()) log(fmt::format("'{}': {}", paths.back().string(), info.warning));
      return info;
    } catch (const Error& error) {
      if (error.status() != Status::invalid_file) throw;
      damaged.push_back({paths.back(), error.what()});
    }
  }
  if (damaged.empty()) return std::nullopt;
  fail_with(Status::invalid_file,
            "'{}': none of the {} checkpoints can be read, the newest because {}; they are left as they are: "
            "move them away to begin the run anew",
            directory_.string(), damaged.size(), damaged.front().problem);
}

}  // namespace smelt
