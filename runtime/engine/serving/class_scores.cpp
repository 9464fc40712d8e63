#include "runtime/engine/serving/class_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"

namespace smelt {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

void softmax(std::span<float> x) {
  const float most = *std::ranges::max_element(x);
  float sum = 0;
  for (float& each : x) sum += each = std::exp(each - most);
  for (float& each : x) each /= sum;
}

Json json_member(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : Json();
}

std::vector<std::string> read_labels(const Json& config, size_t classes) {
  const Json names = json_member(config, "id2label");
  std::vector<std::string> labels;
  for (size_t i = 0; i < classes; ++i) {
    const Json name = json_member(names, std::to_string(i).c_str());
    if (!name.is_null() && !name.is_string())
      fail_with(Status::invalid_file, "config.json: id2label: the label of class {}: expected a text", i);
    labels.push_back(name.is_null() ? fmt::format("LABEL_{}", i) : name.get<std::string>());
  }
  return labels;
}

ScoreFunction classification_of(const Json& config, size_t classes) {
  const Json problem = json_member(config, "problem_type");
  if (problem == "regression") return ScoreFunction::identity;
  if (problem == "multi_label_classification" || classes == 1) return ScoreFunction::sigmoid;
  return ScoreFunction::softmax;
}

/// The member of config.json counts before that of the other file, as the library reads them.
Json activation_name(const Json& config, const std::filesystem::path& directory) {
  const Json settings = json_member(config, "sentence_transformers");
  if (const Json name = json_member(settings, "activation_fn"); !name.is_null()) return name;
  if (const Json name = json_member(config, "sbert_ce_default_activation_function"); !name.is_null())
    return name;
  const auto file = directory / "config_sentence_transformers.json";
  return std::filesystem::exists(file) ? json_member(read_json_file(file), "activation_fn") : Json();
}

ScoreFunction similarity_of(const Json& name, size_t classes) {
  if (name.is_null()) return classes == 1 ? ScoreFunction::sigmoid : ScoreFunction::identity;
  if (name.is_string() && name.get<std::string>().starts_with("torch.nn.")) {
    const auto text = name.get<std::string>();
    if (text.ends_with(".Identity")) return ScoreFunction::identity;
    if (text.ends_with(".Sigmoid")) return ScoreFunction::sigmoid;
  }
  fail_with(Status::invalid_file,
            "config.json: the activation_fn of sentence-transformers is {}; expected Identity or Sigmoid of "
            "torch.nn",
            brief(name));
}

}  // namespace

void score_logits(ScoreFunction function, std::span<float> logits) {
  if (function == ScoreFunction::sigmoid)
    std::ranges::transform(logits, logits.begin(), sigmoid);
  else if (function == ScoreFunction::softmax)
    softmax(logits);
}

ClassScores read_class_scores(const Json& config, const std::filesystem::path& directory, size_t classes) {
  return {.labels = read_labels(config, classes),
          .classification = classification_of(config, classes),
          .similarity = similarity_of(activation_name(config, directory), classes)};
}

}  // namespace smelt
