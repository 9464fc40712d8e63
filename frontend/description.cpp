#include "frontend/description.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/weights.h"
#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_model.h"
#include "runtime/plan/adapter_interface.h"
#include "runtime/plan/plan_file.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

constexpr const char *kSpecFile = "spec.json", *kGraphFile = "model.ir";

Description from_hugging_face(const std::filesystem::path& path) {
  ModelDirectory model = read_model_directory(path);
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
    if (std::filesystem::exists(path / name)) {
      const Checkpoint weights = Checkpoint::open(path / name);
      untie_stored_head(model.spec, weights);
      require_computed_positions(model.spec, weights);
      break;
    }
  return {Description::Kind::directory, path, std::move(model.spec), std::move(model.config),
          std::move(model.generation),  {}};
}

Description from_gguf(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::string name = path.string();
  Json config = gguf_config(parse_gguf(file.bytes(), name), name);
  TransformerSpec spec = spec_from_config(config, name);
  return {Description::Kind::directory, path, std::move(spec), std::move(config), Json::object(), {}};
}

Description from_json(const std::filesystem::path& path) {
  const Json json = read_json_file(path);
  const bool hugging_face = json.is_object() && json.contains("model_type");
  if (hugging_face && path.filename() == "config.json")
    return from_hugging_face(path.has_parent_path() ? path.parent_path() : ".");
  Description description{Description::Kind::spec, path, {}, nullptr, Json::object(), {}};
  const std::string file = path.string();
  description.spec = hugging_face ? spec_from_config(json, file) : spec_from_object(json, file);
  description.config = hugging_face ? json : config_from_spec(description.spec).value_or(nullptr);
  if (path.filename() == kSpecFile) description.generation = read_generation_file(path.parent_path());
  return description;
}

Description from_text(const std::filesystem::path& path) {
  return {Description::Kind::graph, path, {}, nullptr, Json::object(), read_text_file(path)};
}

/// Reads the first of the descriptions that a directory may hold.
Description from_directory(const std::filesystem::path& path) {
  if (std::filesystem::exists(path / "config.json")) return from_hugging_face(path);
  if (std::filesystem::exists(path / kSpecFile)) return from_json(path / kSpecFile);
  if (std::filesystem::exists(path / kGraphFile)) return from_text(path / kGraphFile);
  fail_with(Status::io, "{}: expected a directory with a config.json, a {} or a {}", path.string(), kSpecFile,
            kGraphFile);
}

/// The bounds of the text, with those of the options in their place.
Symbols rebound(const Symbols& symbols, const std::vector<Symbols::Bound>& bounds) {
  Symbols result;
  const auto same = [](const Symbols::Bound& a, const Symbols::Bound& b) { return a.factors == b.factors; };
  for (const Symbols::Bound& old : symbols.bounds()) {
    const auto it = llvm::find_if(bounds, [&](const Symbols::Bound& bound) { return same(bound, old); });
    result.bound(old.factors, it == bounds.end() ? old.upper : it->upper, old.lower);
  }
  for (const Symbols::Bound& bound : bounds) {
    for (const std::string& factor : bound.factors)
      if (!symbols.declared(factor))
        fail("bound {} <= {}: the graph declares no symbol {}; declared: {}", fmt::join(bound.factors, "*"),
             bound.upper, factor, fmt::join(symbols.names(), ", "));
    if (llvm::none_of(symbols.bounds(), [&](const Symbols::Bound& old) { return same(bound, old); }))
      result.bound(bound.factors, bound.upper);
  }
  return result;
}

}  // namespace

Description read_description(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (!std::filesystem::exists(path))
    fail_with(Status::io, "{}: there is no such file or directory", path.string());
  if (std::filesystem::is_directory(path)) return from_directory(path);
  if (extension == ".json") return from_json(path);
  if (extension == ".ir" || extension == ".smelt") return from_text(path);
  if (is_gguf_file(path)) return from_gguf(path);
  if (is_plan_file(path))
    fail(
        "{}: a compiled plan; expected what it was compiled from (smelt report {} -o FILE.html shows a plan)",
        path.string(), path.string());
  fail(
      "{}: not a model description; expected a directory with a config.json, a spec.json or a model.ir, a "
      "spec (.json), a graph (.ir) or a GGUF file",
      path.string());
}

namespace {

/// Throws Error for a share that a graph would not use. 0 is what a graph without dropout has.
void refuse_for_graphs(const char* option, const std::optional<double>& share) {
  if (share.value_or(0) > 0)
    fail("--{}: a graph in text form has its own operations; write it there, or leave the option out",
         option);
}

}  // namespace

std::unique_ptr<Module> Description::build(const BuildOptions& options) const {
  if (kind == Kind::graph) {
    refuse_for_graphs("dropout", options.dropout);
    refuse_for_graphs("layer-dropout", options.layer_dropout);
    refuse_for_graphs("label-smoothing", options.label_smoothing);
    std::unique_ptr<Module> module = parse_module(text, path.string());
    module->symbols = rebound(module->symbols, options.bounds);
    verify_or_throw(*module);
    return module;
  }
  std::unique_ptr<Module> module = build_transformer(spec, options);
  Json description = describe_model(spec, config, generation);
  const Json built = Json::parse(module->description);
  if (built.contains(kAdapterSlots)) description[kAdapterSlots] = built[kAdapterSlots];
  module->description = description.dump();
  return module;
}

std::string Description::content() const {
  return kind == Kind::graph ? "graph\n" + text : "spec\n" + describe_model(spec, config, generation).dump();
}

std::optional<std::filesystem::path> Description::weights() const {
  if (is_gguf_file(path)) return path;
  if (kind == Kind::directory) return find_weights(path);
  const bool saved = path.filename() == kSpecFile || path.filename() == kGraphFile;
  return saved ? find_weights(path.parent_path()) : std::nullopt;
}

}  // namespace smelt
