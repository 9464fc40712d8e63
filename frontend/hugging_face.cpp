#include "frontend/hugging_face.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/packed/quantization.h"

namespace smelt {
namespace {

Json constant(std::string_view text) { return Json::parse(text); }

constexpr std::string_view kThroughPyTorch =
    "others are read through PyTorch, where it is installed: --import NEW_DIR (docs/guides/pytorch.md)";

/// Reads one config.json by its family's table, collecting all complaints.
class ConfigReader {
 public:
  ConfigReader(const Json& config, const Family& family) : config_(config), family_(family) {}

  TransformerSpec read() {
    for (const Synonym& synonym : family_.synonyms) rename(synonym);
    choose_rope();
    check_yarn();
    Json fields = constant(family_.defaults);
    const Architecture& chosen = architecture();
    rows_ = fields_of(family_, chosen);
    fields.merge_patch(constant(chosen.defaults));
    fields["family"] = family_.model_type;
    for (const FieldRow& row : rows_) read_field(row, fields);
    check_fixed(family_.fixed, fields);
    check_fixed(kMathsFields, fields);
    check_quantization();
    TransformerSpec spec;
    std::vector<SpecProblem> found;
    read_spec(fields, spec, found);
    for (SpecProblem& problem : found) report(std::move(problem));
    return spec;
  }
  std::vector<SpecProblem> problems;

 private:
  /// The first one that is known; without a list the family's first.
  const Architecture& architecture() {
    const Architecture& first = family_.architectures.front();
    const Json* list = find_path(config_, "architectures");
    if (!list || list->is_null()) return first;
    std::vector<std::string_view> names;
    for (const Architecture& known : family_.architectures) {
      if (llvm::any_of(*list, [&](const Json& name) { return name == known.name; })) return known;
      names.push_back(known.name);
    }
    problems.push_back({"architectures", fmt::format("{} is not supported; supported: {}; {}", brief(*list),
                                                     fmt::join(names, ", "), kThroughPyTorch)});
    return first;
  }

  static bool is_said(const Json* value) { return value && !value->is_null(); }

  /// A value under the other name becomes the field's own.
  void rename(const Synonym& synonym) {
    const Json *other = find_path(config_, synonym.other), *own = find_path(config_, synonym.config);
    if (!is_said(other)) return;
    if (is_said(own) && *own != *other)
      problems.push_back({std::string(synonym.config),
                          fmt::format("{}, and {}: {}, which is the same field; expected one value",
                                      brief(*own), synonym.other, brief(*other))});
    if (!is_said(own)) config_[std::string(synonym.config)] = *other;
    config_.erase(std::string(synonym.other));
  }

  /// transformers reads rope_scaling in place of rope_parameters where there are both.
  void choose_rope() {
    const Json* scaling = find_path(config_, "rope_scaling");
    if (!scaling || scaling->empty() || *scaling == Json(false)) return;
    if (scaling->is_object())
      config_.erase("rope_parameters");
    else
      problems.push_back({"rope_scaling", fmt::format("{}, expected an object", brief(*scaling))});
  }

  /// transformers requires the factor of YaRN to be said. As null, it follows from the lengths.
  void check_yarn() {
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
      const Json rope = config_.value(name, Json());
      if (!rope.is_object() || rope.value("rope_type", rope.value("type", Json())) != "yarn") continue;
      const auto factor = rope.find("factor");
      if (factor != rope.end() && *factor != 0) continue;
      problems.push_back({fmt::format("{}.factor", name),
                          fmt::format("{}, expected the ratio of the lengths, which yarn needs",
                                      factor == rope.end() ? "missing" : "0")});
      missing_.push_back("positions.scaling_factor");
    }
  }

  /// The value under the field's name, or under another that it goes by, or what saying nothing means.
  Json find(const FieldRow& row) const {
    if (const Json* value = find_path(config_, row.config); is_said(value)) return *value;
    for (std::string_view name : row.also_called)
      if (const Json* value = find_path(config_, name); is_said(value)) return *value;
    return row.implied.empty() || find_path(config_, row.config) ? Json() : constant(row.implied);
  }

  void read_field(const FieldRow& row, Json& fields) {
    const Json found = find(row);
    const Json* value = found.is_null() ? nullptr : &found;
    if (!value && row.required) {
      problems.push_back({std::string(row.config), "missing"});
      missing_.push_back(row.spec);
    }
    if (!value) {
      read_null(row, fields);
    } else if (row.counted) {
      make_path(fields, row.spec) = value->size();
    } else if (row.plus != 0 && value->is_number_integer()) {
      make_path(fields, row.spec) = value->get<int64_t>() + row.plus;
    } else if (!row.spellings) {
      make_path(fields, row.spec) = *value;
    } else if (const Spelling* spelling = find_spelling(row, *value)) {
      make_path(fields, row.spec).merge_patch(constant(spelling->spec));
    }
  }

  /// A token id that is written as null is none, whatever the family's default; others as their row says.
  void read_null(const FieldRow& row, Json& fields) {
    if (!find_path(config_, row.config)) return;
    if (!row.null.empty()) make_path(fields, row.spec) = constant(row.null);
    if (row.spec.starts_with("tokens."))
      make_path(fields, row.spec) = row.spec == "tokens.eos" ? Json::array() : Json(-1);
  }

  const Spelling* find_spelling(const FieldRow& row, const Json& value) {
    std::vector<std::string_view> known;
    for (const Spelling& spelling : *row.spellings) {
      if (constant(spelling.config) == value) return &spelling;
      known.push_back(spelling.config);
    }
    problems.push_back({std::string(row.config), fmt::format("{} is not supported; supported: {}",
                                                             brief(value), fmt::join(known, ", "))});
    return nullptr;
  }

  bool understood(std::string_view name) const {
    const auto same = [&](const FieldRow& row) {
      return row.config == name || row.config.starts_with(std::string(name) + ".") ||
             llvm::is_contained(row.also_called, name);
    };
    return llvm::any_of(rows_, same) || llvm::is_contained(family_.harmless, name);
  }

  void check_fixed(const std::vector<FixedRow>& rows, const Json& fields) {
    for (const FixedRow& row : rows) {
      const Json* value = find_path(config_, row.config);
      const bool told = llvm::any_of(problems, [&](const SpecProblem& p) { return p.field == row.config; });
      if (!value || told || understood(row.config) || inactive(*value, row) || !counts(row)) continue;
      const Json* other = row.same_as.empty() ? nullptr : find_path(fields, row.same_as);
      if (other && *value == *other) continue;
      problems.push_back(
          {std::string(row.config),
           fmt::format(
               "{} {}; expected {}{}", shown(*value, row), row.reason, row.value,
               other ? fmt::format(" or {}, the value of {}", brief(*other), called(row.same_as)) : "")});
    }
  }

  /// Quantised weights are floats when they are read, so that the spec does not depend on them.
  void check_quantization() {
    const Json* quantization = find_path(config_, "quantization_config");
    if (!is_said(quantization) || quantization->empty()) return;
    for (std::string& problem : quantization_problems(*quantization))
      problems.push_back({"quantization_config", std::move(problem)});
  }

  bool counts(const FixedRow& row) const {
    if (row.only_with.empty()) return true;
    const Json* other = find_path(config_, row.only_with);
    return other && other->is_number() && *other > 1;
  }

  static std::string shown(const Json& value, const FixedRow& row) {
    const Json* member = row.shown.empty() ? nullptr : find_path(value, row.shown);
    return member ? fmt::format("{} {}", row.shown, brief(*member)) : brief(value);
  }

  bool inactive(const Json& value, const FixedRow& row) const {
    if (value.is_null() || value == constant(row.value)) return true;
    // Lists of kinds of layers, all of the plain kind, unless the model has a window: they contradict that.
    const Json plain = "full_attention";
    if (value.is_array() && llvm::all_of(value, [&](const Json& kind) { return kind == plain; }))
      return !is_said(find_path(config_, "sliding_window"));
    // These are the explicit values of a plain model.
    return (row.value == "null" || row.value == "false") &&
           (value == Json(false) || value == Json(0) || value.empty());
  }

  /// Returns config.json's name of a field of the spec.
  std::string called(std::string_view field) const {
    std::string_view name = field;
    for (const FieldRow& row : rows_)
      if (row.spec == field) name = row.config;
    return std::string(name);
  }

  /// A complaint about the spec, in the words of config.json.
  void report(SpecProblem problem) {
    if (llvm::is_contained(missing_, problem.field)) return;
    problem.field = called(problem.field);
    problems.push_back(std::move(problem));
  }

  Json config_;
  const Family& family_;
  std::vector<FieldRow> rows_;  // of the architecture
  std::vector<std::string_view> missing_;
};

const Family& family_of(const Json& config, std::string_view file) {
  if (!config.is_object())
    fail_with(Status::invalid_file, "{}: {}, expected an object", file, kind_of(config));
  const Json* type = find_path(config, "model_type");
  if (!type || !type->is_string())
    fail_with(Status::invalid_file, "{}: model_type is {}, expected one of: {}", file,
              type ? brief(*type) : "missing", known_families());
  const auto& name = type->get_ref<const std::string&>();
  if (const Family* family = find_family(name)) return *family;
  fail_with(Status::invalid_file, "{}: model_type \"{}\" is not known; known: {}; {}", file, name,
            known_families(), kThroughPyTorch);
}

Json labels(int64_t count) {
  Json names = Json::object();
  for (int64_t i = 0; i < count; ++i) names[std::to_string(i)] = fmt::format("LABEL_{}", i);
  return names;
}

/// Equal, or for objects: equal in the members that `part` has.
bool holds(const Json& whole, const Json& part) {
  Json patched = whole;
  patched.merge_patch(part);
  return patched == whole;
}

Json in_config_words(const FieldRow& row, const Json& value) {
  if (row.counted) return labels(value.get<int64_t>());
  if (row.plus != 0) return value.get<int64_t>() - row.plus;
  if (row.spellings)
    for (const Spelling& spelling : *row.spellings)
      if (holds(value, constant(spelling.spec))) return constant(spelling.config);
  if (!row.null.empty() && value == constant(row.null)) return nullptr;
  if (!row.spec.starts_with("tokens.")) return value;
  if (value == Json(-1) || value == Json::array()) return nullptr;
  return value.is_array() && value.size() == 1 ? value[0] : value;
}

/// The config of one architecture; nothing where it would not read back as the spec.
std::optional<Json> config_of(const TransformerSpec& spec, const Family& family,
                              const Architecture& architecture) {
  Json config = {{"model_type", family.model_type},
                 {"architectures", Json::array({architecture.name})},
                 {"dtype", "float32"}};
  const Json fields = to_json(spec);
  for (const FieldRow& row : fields_of(family, architecture)) {
    const Json& value = *find_path(fields, row.spec);
    const bool empty = value == Json(0) || value == Json(false) || value == Json::array();
    if (!row.unsaid_if_empty || !empty) make_path(config, row.config) = in_config_words(row, value);
  }
  // Fields without a row in the table would be lost silently. The criterion is no part of a config.
  ConfigReader reader(config, family);
  TransformerSpec back = reader.read();
  back.criterion = spec.criterion;
  if (!reader.problems.empty() || back != spec) return std::nullopt;
  return config;
}

}  // namespace

TransformerSpec spec_from_config(const Json& config, std::string_view file) {
  ConfigReader reader(config, family_of(config, file));
  TransformerSpec spec = reader.read();
  if (!reader.problems.empty()) fail_with_problems(file, reader.problems);
  return spec;
}

std::optional<Json> config_from_spec(const TransformerSpec& spec) {
  const Family* family = find_family(spec.family);
  if (!family) return std::nullopt;
  for (const Architecture& architecture : family->architectures)
    if (std::optional<Json> config = config_of(spec, *family, architecture)) return config;
  return std::nullopt;
}

Json read_generation_file(const std::filesystem::path& directory) {
  const auto path = directory / "generation_config.json";
  if (!std::filesystem::exists(path)) return Json::object();
  Json generation = read_json_file(path);
  if (!generation.is_object())
    fail_with(Status::invalid_file, "{}: {}, expected an object", path.string(), kind_of(generation));
  if (generation.empty())
    generation["_from_model_config"] = false;  // config.json is not asked where there is a file
  return generation;
}

ModelDirectory read_model_directory(const std::filesystem::path& directory) {
  ModelDirectory model{directory, {}, {}, Json::object()};
  if (!std::filesystem::is_directory(directory))
    fail_with(Status::io, "{}: not a directory; expected one with a config.json", directory.string());
  model.config = read_json_file(directory / "config.json");
  model.spec = spec_from_config(model.config, (directory / "config.json").string());
  model.config.erase("quantization_config");  // weights that are written are floats
  model.generation = read_generation_file(directory);
  return model;
}

std::optional<std::filesystem::path> find_weights(const std::filesystem::path& directory) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
    if (std::filesystem::exists(directory / name)) return directory / name;
  for (const char* name :
       {"pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "tf_model.h5", "flax_model.msgpack"})
    if (std::filesystem::exists(directory / name))
      fail_with(Status::invalid_file,
                "{}: the weights are in {}, which is not read (it may run code); convert them in Python: "
                "AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW_DIR)",
                directory.string(), name);
  return std::nullopt;
}

}  // namespace smelt
