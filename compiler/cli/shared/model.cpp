#include "compiler/cli/shared/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "compiler/cli/shared/program_text.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/plan_cache.h"
#include "frontend/blocks/adapters.h"
#include "frontend/families/families.h"
#include "frontend/weights.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/export.h"
#include "runtime/engine/weights/gguf/gguf_file.h"
#include "runtime/plan/activation_bound.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_model.h"
#include "runtime/plan/state_parts.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/gguf_tokenizer.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

bool is_plan(const fs::path& path) {
  return fs::is_regular_file(path) && (path.extension() == ".plan" || is_plan_file(path));
}

/// Returns whether the weights need not have the parameter: a new adapter's, or a head's that begins anew.
MayLack lacking(const Model& model) {
  const TransformerSpec* spec = model.begins_heads ? model.spec() : nullptr;
  return [adapter = model.adapter && !model.adapter->tensors,
          heads = spec ? head_parameters(*spec) : std::vector<std::string>()](const std::string& name) {
    return (adapter && is_adapter_parameter(name)) || std::ranges::count(heads, name) > 0;
  };
}

/// The module, where weights are there: those that do not fit it are said before anything is compiled.
std::unique_ptr<Module> build_for_weights(Model& model, const CompileOptions& options) {
  if (!model.weights) return nullptr;
  Description& description = *model.description;
  if (description.kind == Description::Kind::directory)
    untie_stored_head(description.spec, *model.weights->tensors);
  if (description.kind != Description::Kind::graph)
    require_computed_positions(description.spec, *model.weights->tensors);
  std::unique_ptr<Module> module = description.build(build_options(options));
  check_weights(*module, *model.weights->tensors, lacking(model));
  return module;
}

void compile_description(Model& model, const CompileOptions& options, const CompileFlags& flags) {
  std::unique_ptr<Module> built = build_for_weights(model, options);
  {
    const std::jthread preparation = prepare_executor(options.target, options.device);
    model.compilation = compile_or_recall(*model.description, options, std::move(built));
  }
  if (flags.values.timing) print_timing(*model.compilation);
  if (flags.says_memory) fmt::print(stderr, "{}", curve_text(*model.compilation, options.memory_budget));
  model.plan = std::make_shared<const Plan>(std::move(model.compilation->plan));
  model.compilation->plan = {};
}

std::vector<std::string> names_of_bounds(const Checkpoint& weights) {
  std::vector<std::string> names;
  for (const TensorView& tensor : weights.tensors())
    if (is_activation_bound(tensor.name)) names.push_back(tensor.name);
  return names;
}

void warn_of_floats(const Checkpoint& weights, std::string_view reason) {
  fmt::print(
      stderr,
      "warning: weights '{}' have bounds of activations (or input_scale) for int8, but are computed in "
      "floats: {}\n",
      weights.path().string(), reason);
}

/// Returns the names of stored bounds of the same activations that differ; empty: none do.
std::string differing_bounds(const Plan& plan, const Checkpoint& weights) {
  for (const State& state : plan.states)
    for (const Segment& segment : state.segments) {
      if (!is_activation_bound(segment.name)) continue;
      std::map<float, std::string> names;
      for (const std::string& name : segment.checkpoint_names)
        if (const TensorView* tensor = weights.find(name); tensor && tensor->elements() == 1)
          names.emplace(read_floats(*tensor)[0], name);
      if (names.size() > 1)
        return fmt::format("'{}' and '{}'", names.begin()->second, names.rbegin()->second);
    }
  return "";
}

/// Weights that are in int8 unasked are in floats where their bounds do not fit the plan.
void compile_with_weights(Model& model, CompileOptions& options, Qat asked, const CompileFlags& flags) {
  compile_description(model, options, flags);
  if (asked != Qat::automatic || options.qat != Qat::int8) return;
  const std::string names = differing_bounds(*model.plan, *model.weights->tensors);
  if (names.empty()) return;
  warn_of_floats(*model.weights->tensors, names + " differ, and the same activations have both");
  options.qat = Qat::none, options.qat_bounds.clear();
  compile_description(model, options, flags);
}

bool has_parameters(const Plan& plan) {
  return std::ranges::any_of(plan.states, [](const State& state) { return state.role == Role::parameter; });
}

/// Files that turn texts, chats and pictures into inputs, for any program that reads the directory.
constexpr const char* kTextFiles[] = {"tokenizer.json",
                                      "tokenizer_config.json",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "chat_template.jinja",
                                      "chat_template.json",
                                      "vocab.json",
                                      "merges.txt",
                                      "vocab.txt",
                                      "spiece.model",
                                      "sentencepiece.bpe.model",
                                      "tokenizer.model",
                                      "source.spm",
                                      "target.spm",
                                      "target_vocab.json",
                                      "tekken.json",
                                      "bpe.codes",
                                      "dict.txt",
                                      "preprocessor_config.json",
                                      "processor_config.json"};
constexpr const char* kMoreTemplates = "additional_chat_templates";

/// Writes the tokenizer in a GGUF file as that of a directory.
void write_gguf_tokenizer(const fs::path& from, const fs::path& to) {
  const Json metadata = read_gguf_metadata(from);
  if (!has_gguf_tokenizer(metadata)) return;
  write_file(to / "tokenizer.json", gguf_tokenizer_json(metadata, from.string()).dump(2) + "\n");
  write_file(to / "tokenizer_config.json", gguf_tokenizer_config(metadata).dump(2) + "\n");
}

void copy_text_files(const fs::path& from, const fs::path& to) {
  if (is_gguf_file(from)) return write_gguf_tokenizer(from, to);
  for (const char* name : kTextFiles)
    if (fs::is_regular_file(from / name)) write_file(to / name, read_text_file(from / name));
  if (!fs::is_directory(from / kMoreTemplates)) return;
  make_directories(to / kMoreTemplates);
  for (const auto& entry : fs::directory_iterator(from / kMoreTemplates))
    if (entry.path().extension() == ".jinja")
      write_file(to / kMoreTemplates / entry.path().filename(), read_text_file(entry.path()));
}

/// Names that the family lists as buffers of its checkpoints.
bool is_ignored(const Json& about, const std::string& name) {
  if (!about.is_object() || !about.contains("ignored_tensors")) return false;
  const Json& patterns = about["ignored_tensors"];
  return std::ranges::any_of(
      patterns, [&](const Json& p) { return p.is_string() && matches_pattern(name, p.get<std::string>()); });
}

constexpr size_t kMostNames = 12;

std::string listed(std::vector<std::string> names) {
  const size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

/// Returns a warning of the tensors that the model has no use for; empty if there are none.
std::string unexpected_text(const Model& model, std::vector<std::string> names) {
  std::erase_if(names, [&](const std::string& name) {
    const TensorView* tensor = model.weights->tensors->find(name);
    return is_ignored(model.about, name) || bounds_a_weight(name, *model.weights->tensors) ||
           is_replaced(*model.plan, name) || (tensor && repeats_base(*tensor, *model.weights->tensors));
  });
  if (names.empty()) return "";
  const fs::path& file = model.weights->tensors->path();
  const bool all = is_gguf_file(file);
  std::string text = fmt::format("weights '{}' hold tensors that the model has no use for: {}", file.string(),
                                 listed(names));
  const auto of_adapter = [](const std::string& name) { return name.starts_with(kAdapterPrefix); };
  if (all || std::ranges::any_of(names, of_adapter)) fail_with(Status::invalid_file, "{}", text);
  return text;
}

}  // namespace

Model open_model(const fs::path& path, const WeightFlags& weights) {
  Model model;
  model.path = weights.import_to.empty() ? model_path(path)
                                         : imported_model(path, weights.import_to, weights.imported_graph);
  model.named_weights = weights.weights;
  if (!weights.weights.empty() && weights.from_scratch)
    fail("--weights {} and --from-scratch say different things: give one of them", weights.weights);
  if (!weights.weights.empty()) model.weights = weights_at(weights.weights);
  if (is_plan(model.path)) {
    adapter_of(weights.adapter, nullptr);
    model.plan = load_plan(model.path);
    return model;
  }
  model.description = read_description(model.path);
  if (!model.weights && !weights.from_scratch) model.weights = weights_of(*model.description);
  model.adapter = adapter_of(weights.adapter, &*model.description);
  if (model.weights) model.weights->tensors = with_adapter(model.weights->tensors, model.adapter);
  if (!model.weights && model.adapter && model.adapter->tensors)
    fail("--adapter {}: {} has no weights that it could stand beside", weights.adapter.directory,
         model.path.string());
  return model;
}

void follow_weights(CompileOptions& options, const Checkpoint& weights) {
  if (options.qat == Qat::none) return;
  std::vector<std::string> bounds = names_of_bounds(weights);
  if (bounds.empty()) return;
  if (options.qat == Qat::automatic)
    if (const std::string conflict = conflict_with_int8(options); !conflict.empty())
      return warn_of_floats(weights, conflict);
  options.qat = Qat::int8, options.qat_bounds = std::move(bounds);
}

/// A description is compiled without its weights, too: files that are not there say nothing here.
void follow_weights(CompileOptions& options, const Description& description) {
  if (options.qat == Qat::none) return;
  try {
    if (const auto weights = weights_of(description)) follow_weights(options, *weights->tensors);
  } catch (const Error& error) {
    if (error.status() != Status::io) throw;
  }
}

void compile_model(Model& model, const CompileOptions& options, const CompileFlags& flags) {
  CompileOptions adapted = options;
  if (model.adapter) adapted.build.lora = model.adapter->config;
  if (model.weights) follow_weights(adapted, *model.weights->tensors);
  if (model.description)
    compile_with_weights(model, adapted, options.qat, flags);
  else
    flags.refuse_for_plan(model.path.string(), model.plan->target,
                          {"mesh", "timing", "no-plan-cache", "mode"});
  model.about = read_plan_model(model.plan->model);
  if (flags.says_memory) fmt::print(stderr, "{}\n", planned_memory_text(*model.plan));
}

Model compile_or_load(const fs::path& path, const CompileOptions& options, const WeightFlags& weights,
                      const CompileFlags& flags) {
  Model model = open_model(path, weights);
  compile_model(model, options, flags);
  return model;
}

void WeightFlags::add_to(CLI::App& app) {
  add_weights_to(app);
  adapter.add_to(app);
}

void WeightFlags::add_weights_to(CLI::App& app) {
  app.add_option("--weights", weights, "safetensors file, index or directory instead of the model's own");
  app.add_flag("--from-scratch", from_scratch, "initial values instead of weights");
  app.add_option("--threads", threads, "0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", seed, "of initial values and of random numbers")->capture_default_str();
  app.add_option(
      "--import", import_to,
      "directory in which the model becomes a graph, through PyTorch and transformers; if it has one "
      "already, that is read");
  app.add_flag("--check-steps", check_steps, "on a GPU: wait after every step, so that a fault names it");
}

SessionOptions WeightFlags::session_options() const {
  return {.threads = threads, .seed = seed, .check_steps = check_steps};
}

std::unique_ptr<Session> make_session(const Model& model, const SessionOptions& options) {
  try {
    return std::make_unique<Session>(model.plan, options);
  } catch (const Error& error) {
    if (error.status() != Status::out_of_memory) throw;
    const std::string bounds = model.bounds.text();
    fail_with(error.status(), "{} ({})", error.what(), bounds.empty() ? "--max" : bounds);
  }
}

std::vector<std::string> load_weights(Session& session, const Model& model) {
  std::vector<std::string> missing, warnings;
  const MayLack may_lack = lacking(model);
  const bool calibrates = session.plan().find_entry(kCalibrate) != nullptr;
  std::vector<std::string> unused =
      session.load_weights(*model.weights->tensors, [&](const Segment& segment) {
        if (calibrates && is_activation_bound(segment.name)) return true;
        const bool may = may_lack(segment.name);
        if (may && !is_adapter_parameter(segment.name)) missing.push_back(segment.name);
        return may;
      });
  if (!missing.empty())
    warnings.push_back(fmt::format("weights '{}' have no {}: training begins with initial values of them",
                                   model.weights->tensors->path().string(), listed(missing)));
  if (std::string text = unexpected_text(model, std::move(unused)); !text.empty())
    warnings.push_back(std::move(text));
  return warnings;
}

std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags) {
  return open_session(model, flags, flags.session_options());
}

std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags,
                                      const SessionOptions& options) {
  if (!model.weights && !flags.from_scratch && has_parameters(*model.plan))
    fail(
        "{}: there are no weights beside it; name them with --weights, or give --from-scratch for initial "
        "values",
        model.path.string());
  auto session = make_session(model, options);
  if (!model.weights) {
    session->initialize(flags.seed);
    return session;
  }
  if (!model.weights->note.empty()) fmt::print(stderr, "{}\n", model.weights->note);
  const std::string text = unexpected_text(model, session->initialize(flags.seed, *model.weights->tensors));
  if (!text.empty()) fmt::print(stderr, "warning: {}\n", text);
  return session;
}

void save_description(const Model& model, const fs::path& directory) {
  make_directories(directory);
  copy_text_files(model.path, directory);
  if (model.about.is_object() && model.about["config"].is_object())
    export_description(*model.plan, directory);
  else if (model.about.is_object())
    write_file(directory / "spec.json", model.about["spec"].dump(2) + "\n");
  else if (model.description)
    write_file(directory / "model.ir", model.description->text);
}

void save_model(const Session& session, const Model& model, const fs::path& directory, int64_t step,
                const fs::path& checkpoint) {
  save_description(model, directory);
  const std::map<std::string, std::string> metadata = {{"step", std::to_string(step)}};
  const bool in_parts = std::ranges::any_of(session.plan().states, [](const State& state) {
    return state.role == Role::parameter && is_in_parts(state);
  });
  if (in_parts)
    save_checkpoint_weights(checkpoint, directory / "model.safetensors", metadata);
  else
    session.save_weights(directory / "model.safetensors", metadata);
}

std::vector<std::string> generation_entries(const Model& model, const CompileOptions& options) {
  if (!model.spec() || !keeps_caches(*model.spec(), build_options(options))) return {};
  return cache_entries(model.spec()->encoder.layers > 0, options);
}

namespace {

/// Returns the entries of caches in pages.
std::vector<std::string> page_entries(const BuildOptions& build) {
  std::vector<std::string> entries = {entry::copy_pages};
  const bool chooses = build.has_sampler.value_or(false);
  if (chooses) entries.insert(entries.end(), {entry::begin_pages, entry::sample_allowed, entry::beam_pages});
  if (chooses && build.step_tokens.value_or(0) > 0) {
    entries.emplace_back(build.tiles_prompts ? entry::tiled_pages : entry::mixed_pages);
    if (build.tiles_prompts) entries.insert(entries.end(), {entry::next_pages, entry::next_row});
    return entries;
  }
  const char* step = chooses ? entry::next_pages : entry::step_pages;
  entries.insert(entries.end(), {entry::read_pages, entry::decode_pages, step});
  return entries;
}

}  // namespace

std::vector<std::string> cache_entries(bool reads_source, const CompileOptions& options) {
  const BuildOptions build = build_options(options);
  const bool chooses = build.has_sampler.value_or(false);
  if (build.cache_pages > 0) return page_entries(build);
  std::vector<std::string> entries = {entry::decode, entry::reorder};
  if (reads_source) entries.insert(entries.end(), {entry::encode, entry::reorder_sources});
  if (chooses)
    entries.insert(entries.end(), {entry::next, entry::next_beams, entry::next_guided,
                                   entry::next_beams_guided, entry::decode_beams});
  if (chooses && reads_source) entries.emplace_back(entry::begin_beams);
  return entries;
}

std::string names_of_entries(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanEntry& entry : plan.entries) names.push_back("@" + entry.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string planned_memory_text(const Plan& plan) {
  std::map<Role, int64_t> by_role;
  for (const State& state : plan.states) by_role[state.role] += resident_bytes(plan, state);
  const ExecutorMemory memory = executor_memory(plan);
  std::vector<std::string> parts;
  for (const auto& [role, bytes] : by_role)
    parts.push_back(fmt::format("{} {}", name(role), bytes_text(bytes)));
  parts.push_back(fmt::format("arena {}", bytes_text(memory.arena)));
  const std::string host =
      memory.host > 0 ? fmt::format("; in the host's memory {} of states", bytes_text(memory.host)) : "";
  return fmt::format("planned memory {}: {}{}", bytes_text(memory.states + memory.arena),
                     fmt::join(parts, ", "), host);
}

}  // namespace smelt::cli
