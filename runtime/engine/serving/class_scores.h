// ClassScores: how the numbers that clients get are computed from the logits of a classification head.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

/// Function of all logits of a text: the logits themselves, the sigmoid of each, or their softmax.
enum class ScoreFunction : uint8_t { identity, sigmoid, softmax };

/// Replaces logits by scores.
void score_logits(ScoreFunction function, std::span<float> logits);

struct ClassScores {
  std::vector<std::string> labels;  // names of the classes: of id2label in config.json, else LABEL_0, ...
  /// The function of POST /classify, by the field problem_type in config.json: identity for regression, and
  /// sigmoid for multi_label_classification. Otherwise sigmoid for a head with one class, else softmax.
  ScoreFunction classification = ScoreFunction::softmax;
  /// The function of POST /score and /rerank: that of CrossEncoder in the library sentence-transformers. It
  /// is the activation_fn in config.json or in config_sentence_transformers.json. Without this field: sigmoid
  /// for a head with one class, else identity.
  ScoreFunction similarity = ScoreFunction::sigmoid;
};

/// Reads the settings of a head with `classes` classes. `config` is the object of config.json, or null.
/// `directory` is the model's directory. If it is no directory, only `config` is read. Throws Error
/// (invalid_file) for a function or a label that is not supported.
ClassScores read_class_scores(const Json& config, const std::filesystem::path& directory, size_t classes);

}  // namespace smelt
