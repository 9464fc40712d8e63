// The files of a sentence-transformers directory.
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/serving/sentence_modules.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

/// A JSON file with an object, whose members are taken one by one. What is left in the end is not supported.
class SettingsFile {
 public:
  explicit SettingsFile(fs::path path) : path_(std::move(path)), json_(read_json_file(path_)) {
    if (!json_.is_object()) wrong("", "an object");
  }

  /// Returns the member, which is null if it is missing, and removes it.
  Json take(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) return nullptr;
    Json value = std::move(*found);
    json_.erase(found);
    return value;
  }
  bool flag(const char* name, bool otherwise) {
    const Json value = take(name);
    if (!value.is_null() && !value.is_boolean()) wrong(name, "true or false");
    return value.is_null() ? otherwise : value.get<bool>();
  }
  std::optional<size_t> count(const char* name) {
    const Json value = take(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number_unsigned() || value == 0) wrong(name, "a whole number from 1 on");
    return value.get<size_t>();
  }
  std::optional<std::string> text(const char* name) {
    const Json value = take(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_string()) wrong(name, "a text");
    return value.get<std::string>();
  }
  void ignore(std::initializer_list<const char*> names) {
    for (const char* name : names) json_.erase(name);
  }
  /// Takes a member that is supported with one value only.
  void require(const char* name, const Json& expected) {
    const Json value = take(name);
    if (!value.is_null() && value != expected) wrong(name, expected.dump());
  }
  void require_end() const {
    if (!json_.empty())
      fail_with(Status::invalid_file, "{}: {}: a field that is not supported", path_.string(),
                json_.begin().key());
  }
  [[noreturn]] void wrong(const std::string& name, const std::string& expected) const {
    fail_with(Status::invalid_file, "{}: {}{}expected {}", path_.string(), name, name.empty() ? "" : ": ",
              expected);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  Json json_;
};

constexpr std::pair<const char*, Pooling> kPoolingFlags[] = {
    {"pooling_mode_cls_token", Pooling::cls},
    {"pooling_mode_max_tokens", Pooling::max},
    {"pooling_mode_mean_tokens", Pooling::mean},
    {"pooling_mode_mean_sqrt_len_tokens", Pooling::mean_sqrt_len_tokens},
    {"pooling_mode_weightedmean_tokens", Pooling::weightedmean},
    {"pooling_mode_lasttoken", Pooling::lasttoken}};

std::vector<Pooling> pooling_by_name(const SettingsFile& file, const Json& mode) {
  std::vector<Pooling> kinds;
  for (const Json& name : mode.is_array() ? mode : Json::array({mode})) {
    const auto kind = name.is_string() ? find_pooling(name.get<std::string>()) : std::nullopt;
    if (!kind) file.wrong("pooling_mode", "one of " + pooling_names() + ", or a list of them");
    kinds.push_back(*kind);
  }
  return kinds;
}

/// The flags of earlier versions count if there is no pooling_mode.
void read_pooling(SettingsFile file, SentenceModules& result) {
  const Json mode = file.take("pooling_mode");
  std::vector<Pooling> flagged;
  for (const auto& [name, kind] : kPoolingFlags)
    if (file.flag(name, false)) flagged.push_back(kind);
  if (!mode.is_null())
    result.pooling = pooling_by_name(file, mode);
  else if (!flagged.empty())
    result.pooling = flagged;
  if (result.pooling.empty()) file.wrong("pooling_mode", "at least one kind");
  result.pools_prompt = file.flag("include_prompt", true);
  file.ignore({"embedding_dimension", "word_embedding_dimension"});
  file.require_end();
}

/// Reads a tensor of this shape.
std::vector<float> read_tensor(const Checkpoint& weights, const char* name, std::vector<int64_t> shape) {
  const TensorView& tensor = weights.at(name);
  if (tensor.shape != shape)
    fail_with(Status::invalid_file, "{}: {} has the shape [{}], expected [{}] by config.json",
              weights.path().string(), name, fmt::join(tensor.shape, ","), fmt::join(shape, ","));
  return read_floats(tensor);
}

SentenceModule read_dense(const fs::path& directory) {
  SettingsFile file(directory / "config.json");
  SentenceModule module;
  const auto in = file.count("in_features"), out = file.count("out_features");
  if (!in || !out) file.wrong(in ? "out_features" : "in_features", "a whole number from 1 on");
  module.in = *in, module.out = *out;
  const bool has_bias = file.flag("bias", true);
  const std::string name = file.text("activation_function").value_or("torch.nn.modules.activation.Tanh");
  const auto activation = find_dense_activation(name);
  if (!activation)
    file.wrong("activation_function",
               fmt::format("one of Identity, Tanh, Sigmoid, ReLU and GELU of torch.nn, not {}", name));
  module.activation = *activation;
  file.require("module_input_name", "sentence_embedding");
  file.require("module_output_name", "sentence_embedding");
  file.require("use_residual", false);
  file.require_end();
  if (!fs::exists(directory / "model.safetensors"))
    fail_with(Status::invalid_file,
              "{}: there is no model.safetensors (pytorch_model.bin is not read, because it may run code); "
              "save the model again in Python: SentenceTransformer(DIR).save_pretrained(NEW_DIR)",
              directory.string());
  const Checkpoint weights = Checkpoint::open(directory / "model.safetensors");
  const auto rows = static_cast<int64_t>(module.out), columns = static_cast<int64_t>(module.in);
  module.weight = read_tensor(weights, "linear.weight", {rows, columns});
  if (has_bias) module.bias = read_tensor(weights, "linear.bias", {rows});
  return module;
}

/// One element of modules.json.
struct ModuleEntry {
  std::string type, path;
};

std::vector<ModuleEntry> read_list(const fs::path& path) {
  const Json list = read_json_file(path);
  const auto is_entry = [](const Json& each) {
    return each.is_object() && each.value("type", Json()).is_string() &&
           each.value("path", Json("")).is_string();
  };
  if (!list.is_array() || !std::ranges::all_of(list, is_entry))
    fail_with(Status::invalid_file, "{}: expected a list of objects with the texts \"type\" and \"path\"",
              path.string());
  std::vector<ModuleEntry> entries;
  for (const Json& each : list) {
    const auto type = each["type"].get<std::string>();
    if (!type.starts_with("sentence_transformers."))
      fail_with(Status::invalid_file,
                "{}: a module of type {}, whose code is not that of sentence-transformers", path.string(),
                type);
    entries.push_back({type.substr(type.rfind('.') + 1), each.value("path", "")});
  }
  return entries;
}

class ModuleReader {
 public:
  ModuleReader(const fs::path& directory, bool reads_pooling, SentenceModules& result)
      : directory_(directory), reads_pooling_(reads_pooling), result_(result) {}

  void read() {
    const std::vector<ModuleEntry> entries = read_list(path());
    if (entries.empty() || entries[0].type != "Transformer") refuse("expected the module Transformer first");
    if (!entries[0].path.empty())
      refuse(
          fmt::format("the transformer is in '{0}'; expected the directory itself. Serve '{0}' with "
                      "--pooling",
                      entries[0].path));
    for (size_t i = 1; i < entries.size(); ++i) add(entries[i], i == 1);
    if (reads_pooling_ && entries.size() == 1) refuse("there is no module Pooling");
    if (result_.rest.empty() || !result_.rest.back().normalizes) return;
    result_.rest.pop_back();
    result_.normalizes = true;
  }

 private:
  fs::path path() const { return directory_ / "modules.json"; }
  [[noreturn]] void refuse(const std::string& why) const {
    fail_with(Status::invalid_file, "{}: {}", path().string(), why);
  }

  void add(const ModuleEntry& entry, bool is_second) {
    const bool is_known = entry.type == "Pooling" || entry.type == "Dense" || entry.type == "Normalize";
    if (!reads_pooling_ || !is_known || (entry.type == "Pooling") != is_second)
      refuse(fmt::format("the module {} is not supported there; expected Transformer{}", entry.type,
                         reads_pooling_ ? ", Pooling, and then any number of Dense and Normalize"
                                        : " alone, because the model has a head"));
    if (entry.path.find('/') != std::string::npos || entry.path.starts_with("."))
      refuse(fmt::format("the path '{}' of {}: expected the name of a directory", entry.path, entry.type));
    const fs::path folder = directory_ / entry.path;
    if (entry.type == "Pooling")
      read_pooling(SettingsFile(folder / "config.json"), result_);
    else if (entry.type == "Dense")
      result_.rest.push_back(read_dense(folder));
    else
      read_normalize(folder);
  }

  void read_normalize(const fs::path& folder) {
    if (fs::exists(folder / "config.json")) {
      SettingsFile file(folder / "config.json");
      file.require("module_input_name", "sentence_embedding");
      file.require("module_output_name", "sentence_embedding");
      file.require_end();
    }
    result_.rest.push_back({.normalizes = true});
  }

  const fs::path& directory_;
  bool reads_pooling_;
  SentenceModules& result_;
};

void limit(SentenceModules& result, std::optional<size_t> tokens) {
  constexpr size_t kNone = size_t{1} << 24;  // transformers writes 1e30 for no limit
  if (tokens && *tokens < kNone) result.most_tokens = std::min(*tokens, result.most_tokens.value_or(kNone));
}

/// Throws Error if modality_config lists texts whose result is neither the hidden states nor the logits.
void require_text_output(SettingsFile& file) {
  const Json modalities = file.take("modality_config");
  if (!modalities.is_object() || !modalities.contains("text")) return;
  const Json& text = modalities["text"];
  const Json hidden = {{"method", "forward"}, {"method_output_name", "last_hidden_state"}};
  const Json logits = {{"method", "forward"}, {"method_output_name", "logits"}};
  if (text != hidden && text != logits) file.wrong("modality_config", "text: " + hidden.dump());
}

void read_transformer_settings(SettingsFile file, SentenceModules& result) {
  limit(result, file.count("max_seq_length"));
  result.lower_case = file.flag("do_lower_case", false);
  const Json task = file.take("transformer_task");
  if (!task.is_null() && task != "feature-extraction" && task != "sequence-classification")
    file.wrong("transformer_task", "feature-extraction or sequence-classification");
  for (const char* name : {"processing_kwargs", "model_args", "tokenizer_args", "config_args"})
    if (const Json value = file.take(name); !value.is_null() && !value.empty())
      file.wrong(name, "none, because its settings are not supported");
  for (const char* name : {"query_length", "document_length", "query_expansion"})
    if (!file.take(name).is_null()) file.wrong(name, "none: it is for models of several vectors");
  require_text_output(file);
  file.ignore({"module_output_name", "unpad_inputs"});
  file.require_end();
}

void read_tokenizer_settings(const fs::path& path, SentenceModules& result) {
  const Json json = read_json_file(path);
  if (!json.is_object()) return;  // the tokenizer's reader refuses it
  const auto found = json.find("model_max_length");
  if (found != json.end() && found->is_number_unsigned() && *found != 0) limit(result, found->get<size_t>());
  const Json inputs = json.value("model_input_names", Json());
  result.has_token_types = inputs.is_array() ? std::ranges::count(inputs, Json("token_type_ids")) > 0
                                             : json.value("tokenizer_class", Json()) != "TokenizersBackend";
}

void read_prompts(SettingsFile file, SentenceModules& result) {
  const Json prompts = file.take("prompts");
  if (!prompts.is_null() && !prompts.is_object()) file.wrong("prompts", "an object of texts");
  for (const auto& [name, text] : prompts.items()) {
    if (!text.is_string() && !text.is_null()) file.wrong("prompts", "an object of texts");
    result.prompts[name] = text.is_null() ? "" : text.get<std::string>();
  }
  result.default_prompt = file.text("default_prompt_name");
  if (result.default_prompt && !result.prompts.contains(*result.default_prompt))
    file.wrong("default_prompt_name", "the name of one of the prompts");
  result.dimensions = file.count("truncate_dim");
  const auto type = file.text("model_type");
  if (type && *type != "SentenceTransformer" && *type != "CrossEncoder")
    file.wrong("model_type", "SentenceTransformer or CrossEncoder");
  file.ignore({"__version__", "similarity_fn_name", "activation_fn"});  // activation_fn: see class_scores.h
  file.require_end();
}

}  // namespace

SentenceModules read_sentence_modules(const fs::path& directory, bool reads_pooling) {
  SentenceModules result;
  if (fs::exists(directory / "modules.json")) ModuleReader(directory, reads_pooling, result).read();
  if (const fs::path file = directory / "sentence_bert_config.json"; fs::exists(file))
    read_transformer_settings(SettingsFile(file), result);
  if (const fs::path file = directory / "tokenizer_config.json"; fs::exists(file))
    read_tokenizer_settings(file, result);
  if (const fs::path file = directory / "config_sentence_transformers.json"; fs::exists(file))
    read_prompts(SettingsFile(file), result);
  return result;
}

}  // namespace smelt
