#include "compiler/cli/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "compiler/cli/text_table.h"
#include "frontend/families/families.h"
#include "frontend/weights.h"
#include "runtime/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/system/file.h"
#include "runtime/training/export.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

Json parsed_model(const Plan& plan) {
  Json json = Json::parse(plan.model, nullptr, false);
  return json.is_object() ? json : Json();
}

bool is_plan(const fs::path& path) {
  return fs::is_regular_file(path) && (path.extension() == ".plan" || is_plan_file(path));
}

/// What save_model leaves of models that are no family of transformers.
std::optional<fs::path> weights_beside(const fs::path& path) {
  const fs::path weights = path.parent_path() / "model.safetensors";
  return path.filename() == "spec.json" && fs::exists(weights) ? std::optional(weights) : std::nullopt;
}

/// Weights that do not fit are said before anything is compiled.
void compile_into(Model& model, const CompileOptions& options, bool timing) {
  model.description = read_description(model.path);
  if (!model.weights) model.weights = model.description->weights();
  if (!model.weights) model.weights = weights_beside(model.path);
  if (model.weights) {
    BuildOptions build = options.build;
    build.training = options.mode == Mode::train;
    check_weights(*model.description->build(build), Checkpoint::open(*model.weights));
  }
  {
    const std::jthread preparation = prepare_executor(options.target);
    model.compilation = compile(*model.description, options);
  }
  if (timing) print_timing(*model.compilation);
  model.plan = std::make_shared<const Plan>(std::move(model.compilation->plan));
  model.compilation->plan = {};
}

/// Names that the family lists as buffers of its checkpoints.
bool is_ignored(const Json& about, const std::string& name) {
  if (!about.is_object() || !about.contains("ignored_tensors")) return false;
  const Json& patterns = about["ignored_tensors"];
  return std::ranges::any_of(
      patterns, [&](const Json& p) { return p.is_string() && matches_pattern(name, p.get<std::string>()); });
}

int64_t buffer_bytes_of(const Plan& plan, const State& state) {
  Dim elements = 1;
  for (const Dim& dim : state.shape) elements *= dim;
  return plan.symbols.upper(elements) * size_of(state.dtype);
}

}  // namespace

int64_t Model::vocabulary() const {
  int64_t least = int64_t{1} << 31;  // what an i32 holds
  for (const PlanEntry& entry : plan->entries)
    for (const Port& port : entry.inputs)
      if (port.ids && (port.name == "input_ids" || port.name == "labels"))
        least = std::min(least, port.ids->below);
  return least;
}

bool Model::reads_bytes() const { return about.is_object() && about.value("tokenizer", "") == "bytes"; }

fs::path model_path(const fs::path& path) {
  fs::path exported = path / "model";
  if (!fs::exists(path / "train.json")) return path;
  if (fs::exists(exported / "config.json")) return exported;
  return fs::exists(exported / "spec.json") ? exported / "spec.json" : path;
}

std::optional<TransformerSpec> spec_of(const fs::path& path) {
  const fs::path model = model_path(path);
  if (is_plan(model)) return {};
  const Description description = read_description(model);
  return description.kind == Description::Kind::graph ? std::nullopt : std::optional(description.spec);
}

Model open_model(const fs::path& path, const CompileOptions& options, const WeightFlags& weights,
                 bool timing) {
  Model model;
  model.path = model_path(path);
  if (!weights.weights.empty()) model.weights = weights.weights;
  if (is_plan(model.path))
    model.plan = load_plan(model.path);
  else
    compile_into(model, options, timing);
  if (weights.from_scratch) model.weights.reset();
  model.about = parsed_model(*model.plan);
  fmt::print(stderr, "{}\n", planned_memory_text(*model.plan));
  return model;
}

void WeightFlags::add_to(CLI::App& app) {
  app.add_option("--weights", weights, "safetensors file, index or directory instead of the model's own");
  app.add_flag("--from-scratch", from_scratch, "initial values instead of weights");
  app.add_option("--threads", threads, "0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", seed, "of initial values and of random numbers")->capture_default_str();
  app.add_flag("--check-steps", check_steps, "on a GPU: wait after every step, so that a fault names it");
}

SessionOptions WeightFlags::session_options() const {
  return {.threads = threads, .seed = seed, .check_steps = check_steps};
}

void load_weights(Session& session, const Model& model) {
  std::vector<std::string> unexpected = session.load_weights(*model.weights);
  std::erase_if(unexpected, [&](const std::string& name) { return is_ignored(model.about, name); });
  if (!unexpected.empty())
    fail_with(Status::invalid_file, "weights '{}' hold tensors that the model has no use for: {}",
              model.weights->string(), fmt::join(unexpected, ", "));
}

std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags, NoWeights otherwise) {
  auto session = std::make_unique<Session>(model.plan, flags.session_options());
  session->initialize(flags.seed);
  if (model.weights)
    load_weights(*session, model);
  else if (otherwise == NoWeights::fail && !flags.from_scratch)
    fail(
        "{}: there are no weights beside it; name them with --weights, or give --from-scratch for initial "
        "values",
        model.path.string());
  return session;
}

void save_model(const Session& session, const Model& model, const fs::path& directory) {
  if (model.about.is_object() && model.about["config"].is_object()) return export_model(session, directory);
  make_directories(directory);
  session.save_weights(directory / "model.safetensors");
  if (model.about.is_object())
    write_file(directory / "spec.json", model.about["spec"].dump(2) + "\n");
  else if (model.description)
    write_file(directory / "model.ir", model.description->text);
}

std::string planned_memory_text(const Plan& plan) {
  std::map<Role, int64_t> by_role;
  for (const State& state : plan.states) by_role[state.role] += buffer_bytes_of(plan, state);
  int64_t arena = 0, total = 0;
  for (const PlanEntry& entry : plan.entries) arena = std::max(arena, entry.arena_bytes);
  std::vector<std::string> parts;
  for (const auto& [role, bytes] : by_role) {
    parts.push_back(fmt::format("{} {}", name(role), bytes_text(bytes)));
    total += bytes;
  }
  parts.push_back(fmt::format("arena {}", bytes_text(arena)));
  return fmt::format("planned memory {}: {}", bytes_text(total + arena), fmt::join(parts, ", "));
}

}  // namespace smelt::cli
