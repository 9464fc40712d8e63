// JSON of replies to requests about whole texts (text_request.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine/serving/class_scores.h"
#include "runtime/engine/serving/text_request.h"

namespace smelt {

struct TextReplyHead {
  std::string id, model;
  int64_t created = 0;  // seconds since 1970
  size_t tokens = 0;    // of all texts
};

/// Results by text: vectors of POST /v1/embeddings, else the model's logits.
using TextResults = std::vector<std::vector<float>>;

/// Returns {"object": "list", "data": [{"object": "embedding", "index", "embedding"}, ...], "model",
/// "usage"}. A vector is a list of numbers, or text in base64. The numbers are the shortest that are read
/// back as the same f32.
std::string embeddings_body(const TextReplyHead& head, const TextResults& vectors, bool base64);
/// Returns {"id", "object": "list", "created", "model", "data": [{"index", "label", "probs", "num_classes"},
/// ...], "usage"}. The label is that of the largest score.
std::string classification_body(const TextReplyHead& head, const TextResults& scores,
                                const std::vector<std::string>& labels);
/// Returns {"id", "object": "list", "created", "model", "data": [{"index", "object": "score", "score"}, ...],
/// "usage"}.
std::string scores_body(const TextReplyHead& head, const TextResults& scores);
/// Returns {"id", "model", "usage", "results": [{"index", "document": {"text"}, "relevance_score"}, ...]},
/// the most relevant document first; of equal scores, the earlier one.
std::string rerank_body(const TextReplyHead& head, const TextResults& scores, const TextRequest& request);

}  // namespace smelt
