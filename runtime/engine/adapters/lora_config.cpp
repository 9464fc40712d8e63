#include "runtime/engine/adapters/lora_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "runtime/base/error.h"

namespace smelt {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Spelling of the member of one field in adapter_config.json; `read` returns false for values of another
/// kind.
struct LoraField {
  std::string_view name, expected;
  bool (*read)(const Json&, LoraConfig&);
  OrderedJson (*write)(const LoraConfig&);
};

template <auto member>
bool read_flag(const Json& json, LoraConfig& config) {
  if (json.is_boolean()) config.*member = json.get<bool>();
  return json.is_boolean();
}

template <auto member>
bool read_text(const Json& json, LoraConfig& config) {
  if (json.is_string()) config.*member = json.get<std::string>();
  return json.is_string() || json.is_null();
}

bool is_list_of_texts(const Json& json) {
  return json.is_array() && std::ranges::all_of(json, [](const Json& item) { return item.is_string(); });
}

/// A list of names, one name, or nothing.
template <auto member>
bool read_names(const Json& json, LoraConfig& config) {
  if (json.is_null()) return true;
  if (json.is_string()) config.*member = {json.get<std::string>()};
  if (is_list_of_texts(json)) config.*member = json.get<std::vector<std::string>>();
  return json.is_string() || is_list_of_texts(json);
}

bool is_index(const Json& json) { return json.is_number_integer() && json >= 0 && json <= INT32_MAX; }

bool read_layers(const Json& json, LoraConfig& config) {
  if (is_index(json)) config.layers = {json.get<int64_t>()};
  const bool list = json.is_array() && std::ranges::all_of(json, is_index);
  if (list) config.layers = json.get<std::vector<int64_t>>();
  return json.is_null() || is_index(json) || list;
}

bool is_rank(const Json& json) { return is_index(json) && json >= 1; }
bool is_alpha(const Json& json) {
  return json.is_number() && std::isfinite(json.get<double>()) && json.get<double>() > 0;
}

template <auto member, auto fits>
bool read_pattern(const Json& json, LoraConfig& config) {
  if (json.is_null()) return true;
  if (!json.is_object() || !std::ranges::all_of(json, fits)) return false;
  for (const auto& [key, value] : json.items()) value.get_to((config.*member)[key]);
  return true;
}

bool read_rank(const Json& json, LoraConfig& config) {
  if (is_rank(json)) config.r = json.get<int64_t>();
  return is_rank(json);
}

bool read_alpha(const Json& json, LoraConfig& config) {
  if (is_alpha(json)) config.alpha = json.get<double>();
  return is_alpha(json);
}

bool read_dropout(const Json& json, LoraConfig& config) {
  const bool fits = json.is_number() && json.get<double>() >= 0 && json.get<double>() < 1;
  if (fits) config.dropout = json.get<double>();
  return fits;
}

constexpr std::string_view kAllLinear = "all-linear";

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// A string is a regular expression, or all linear maps.
bool read_targets(const Json& json, LoraConfig& config) {
  if (!json.is_string()) return read_names<&LoraConfig::targets>(json, config);
  const std::string text = json.get<std::string>();
  config.all_linear = std::ranges::equal(text, kAllLinear, {}, lower_letter);
  if (!config.all_linear) config.target_pattern = text;
  return true;
}

constexpr std::array<std::string_view, 3> kBiases = {"none", "all", "lora_only"};

bool read_bias(const Json& json, LoraConfig& config) {
  const auto found = json.is_string() ? std::ranges::find(kBiases, json.get<std::string>()) : kBiases.end();
  if (found != kBiases.end()) config.bias = static_cast<LoraConfig::Bias>(found - kBiases.begin());
  return found != kBiases.end();
}

bool read_initial(const Json& json, LoraConfig& config) {
  config.gaussian = json == "gaussian";
  return config.gaussian || json.is_boolean();  // false: values that a file has anyway
}

bool is_lora(const Json& json, LoraConfig&) { return json == "LORA"; }

template <typename T>
OrderedJson whole_or_fraction(T value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<T>(whole) == value ? OrderedJson(whole) : OrderedJson(value);
}
template <typename T>
OrderedJson null_if_empty(const T& value) {
  return value.empty() ? OrderedJson(nullptr) : OrderedJson(value);
}

OrderedJson written_targets(const LoraConfig& c) {
  if (c.all_linear) return kAllLinear;
  return c.target_pattern.empty() ? null_if_empty(c.targets) : OrderedJson(c.target_pattern);
}

OrderedJson written_alphas(const LoraConfig& c) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, alpha] : c.alpha_pattern) json[name] = whole_or_fraction(alpha);
  return json;
}

using C = LoraConfig;

constexpr LoraField kLoraFields[] = {
    {"alpha_pattern", "an object of numbers above 0", read_pattern<&C::alpha_pattern, is_alpha>,
     written_alphas},
    {"base_model_name_or_path", "a string", read_text<&C::base_model>,
     [](const C& c) { return null_if_empty(c.base_model); }},
    {"bias", "\"none\", \"all\" or \"lora_only\"", read_bias,
     [](const C& c) { return OrderedJson(kBiases[static_cast<size_t>(c.bias)]); }},
    {"exclude_modules", "a list of names", read_names<&C::excluded>,
     [](const C& c) { return null_if_empty(c.excluded); }},
    {"fan_in_fan_out", "true or false", read_flag<&C::fan_in_fan_out>,
     [](const C& c) { return OrderedJson(c.fan_in_fan_out); }},
    {"init_lora_weights", "true, false or \"gaussian\"", read_initial,
     [](const C& c) { return c.gaussian ? OrderedJson("gaussian") : OrderedJson(true); }},
    {"layers_pattern", "a list of names", read_names<&C::layers_pattern>,
     [](const C& c) { return null_if_empty(c.layers_pattern); }},
    {"layers_to_transform", "a list of numbers of layers", read_layers,
     [](const C& c) { return null_if_empty(c.layers); }},
    {"lora_alpha", "a number above 0", read_alpha, [](const C& c) { return whole_or_fraction(c.alpha); }},
    {"lora_dropout", "a probability below 1", read_dropout,
     [](const C& c) { return whole_or_fraction(c.dropout); }},
    {"modules_to_save", "a list of names", read_names<&C::modules_to_save>,
     [](const C& c) { return null_if_empty(c.modules_to_save); }},
    {"peft_type", "\"LORA\"", is_lora, [](const C&) { return OrderedJson("LORA"); }},
    {"r", "a whole number from 1 on", read_rank, [](const C& c) { return OrderedJson(c.r); }},
    {"rank_pattern", "an object of whole numbers from 1 on", read_pattern<&C::rank_pattern, is_rank>,
     [](const C& c) { return c.rank_pattern.empty() ? OrderedJson::object() : OrderedJson(c.rank_pattern); }},
    {"target_modules", "a list of names, or one regular expression", read_targets, written_targets},
    {"task_type", "a string", read_text<&C::task_type>,
     [](const C& c) { return null_if_empty(c.task_type); }},
    {"use_rslora", "true or false", read_flag<&C::rslora>, [](const C& c) { return OrderedJson(c.rslora); }},
};

/// Fields that change the maths, or what is trained; they are accepted where they say that nothing does.
constexpr std::string_view kUnsupported[] = {"alora_invocation_tokens",
                                             "arrow_config",
                                             "corda_config",
                                             "eva_config",
                                             "ensure_weight_tying",
                                             "kasa_config",
                                             "layer_replication",
                                             "loftq_config",
                                             "lora_bias",
                                             "lora_ga_config",
                                             "megatron_config",
                                             "monteclora_config",
                                             "target_parameters",
                                             "use_bdlora",
                                             "use_dora",
                                             "use_qalora",
                                             "trainable_token_indices",
                                             "velora_config"};

/// Fields that change nothing here whatever they hold.
constexpr std::string_view kHarmless[] = {"auto_mapping",  "inference_mode",    "megatron_core",
                                          "peft_version",  "qalora_group_size", "revision",
                                          "runtime_config"};

bool says_nothing(const Json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

/// Empty where nothing is wrong with it.
std::string problem_with_field(const std::string& name, const Json& value, LoraConfig& config) {
  if (std::ranges::count(kHarmless, name) > 0) return {};
  if (std::ranges::count(kUnsupported, name) > 0)
    return says_nothing(value) ? "" : fmt::format("{} is {}, which is not supported", name, brief(value));
  const auto* const field = std::ranges::find(kLoraFields, name, &LoraField::name);
  if (field == std::end(kLoraFields)) return fmt::format("{} is unknown", name);
  if (field->read(value, config)) return {};
  return fmt::format("{} is {}, expected {}", name, brief(value), field->expected);
}

}  // namespace

LoraConfig lora_from_json(const Json& json, const std::string& file) {
  if (!json.is_object()) fail_with(Status::invalid_file, "{}: {}, expected an object", file, kind_of(json));
  LoraConfig config;
  std::vector<std::string> problems;
  for (const auto& [name, value] : json.items())
    if (std::string problem = problem_with_field(name, value, config); !problem.empty())
      problems.push_back(std::move(problem));
  for (const char* needed : {"peft_type", "target_modules"})
    if (!json.contains(needed) || json[needed].is_null())
      problems.push_back(fmt::format("{} is missing", needed));
  if (!problems.empty()) fail_with(Status::invalid_file, "{}: {}", file, fmt::join(problems, "; "));
  return config;
}

nlohmann::ordered_json lora_json(const LoraConfig& config) {
  OrderedJson json;
  json["auto_mapping"] = nullptr;
  for (const LoraField& field : kLoraFields) json[std::string(field.name)] = field.write(config);
  json["inference_mode"] = true;
  json["use_dora"] = false;
  if (config.excluded.empty()) json.erase("exclude_modules");  // older versions of PEFT do not know it
  return json;
}

LoraConfig read_lora(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "adapter_config.json";
  if (!std::filesystem::exists(file))
    fail_with(Status::io, "{}: there is no adapter_config.json, as PEFT writes it", directory.string());
  return lora_from_json(read_json_file(file), file.string());
}

}  // namespace smelt
