// Bodies of requests about whole texts: POST /v1/embeddings with the fields of OpenAI's API, POST /classify
// and POST /score with those of vLLM, and POST /rerank with those of Jina, Cohere and vLLM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A text, or two texts that the model reads as a pair, or token ids.
struct TextInput {
  std::string text;                   // used if `tokens` is empty
  std::optional<std::string> second;  // the second text of a pair
  std::vector<int32_t> tokens;
};

enum class TextTask : uint8_t { embed, classify, score, rerank };

/// The fields of a request, checked and with default values.
struct TextRequest {
  TextTask task = TextTask::embed;
  std::optional<std::string> model = {};
  std::vector<TextInput> inputs = {};  // at least one
  /// The number of tokens to which longer texts are truncated; -1: the most that the model reads. Nothing:
  /// longer texts are refused.
  std::optional<int64_t> truncated_tokens = {};
  bool add_special_tokens = true;

  bool base64 = false;                     // of embed: vectors are sent as base64 text of little-endian f32
  std::optional<int64_t> dimensions = {};  // of embed: the size to which vectors are truncated
  std::optional<bool> normalizes = {};     // of embed; nothing: as the model's files say
  std::optional<std::string> prompt_name =
      {};  // of embed: name of a prompt of the model, which precedes each text
  std::optional<std::string> prompt = {};  // of embed: a text that precedes each text

  bool raw_scores = false;           // of the other tasks: logits in place of probabilities
  std::optional<int64_t> most = {};  // of rerank: number of results; nothing: all
  bool returns_documents = true;     // of rerank: results have the documents
};

/// Most texts, or pairs, of one request.
constexpr size_t kMostTexts = 2048;

/// Parses the body of a request for `task`. Throws ApiError naming the field if a field is missing, wrong or
/// not supported.
TextRequest read_text_request(TextTask task, std::string_view body);

}  // namespace smelt
