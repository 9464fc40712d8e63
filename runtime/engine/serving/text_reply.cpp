#include "runtime/engine/serving/text_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/base64.h"

namespace smelt {
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// JSON has no word for numbers that are not finite.
std::string number_text(float x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

std::string list_text(const std::vector<float>& numbers) {
  std::string text = "[";
  for (const float x : numbers) text += (text.size() > 1 ? "," : "") + number_text(x);
  return text + "]";
}

std::string base64_text(const std::vector<float>& numbers) {
  std::string bytes;
  for (const float x : numbers) {
    const auto bits = std::bit_cast<uint32_t>(x);
    for (uint32_t byte = 0; byte < sizeof bits; ++byte) bytes += static_cast<char>(bits >> 8 * byte & 0xFF);
  }
  return "\"" + encode_base64(bytes) + "\"";
}

std::string usage_text(const TextReplyHead& head) {
  return fmt::format(R"("usage":{{"prompt_tokens":{0},"total_tokens":{0}}})", head.tokens);
}

std::string list_body(const TextReplyHead& head, const std::string& elements) {
  return fmt::format(R"({{"id":{},"object":"list","created":{},"model":{},"data":[{}],{}}})", quoted(head.id),
                     head.created, quoted(head.model), elements, usage_text(head));
}

void add_element(std::string& elements, const std::string& element) {
  if (!elements.empty()) elements += ',';
  elements += element;
}

}  // namespace

std::string embeddings_body(const TextReplyHead& head, const TextResults& vectors, bool base64) {
  std::string elements;
  for (size_t i = 0; i < vectors.size(); ++i)
    add_element(elements, fmt::format(R"({{"object":"embedding","index":{},"embedding":{}}})", i,
                                      base64 ? base64_text(vectors[i]) : list_text(vectors[i])));
  return fmt::format(R"({{"object":"list","data":[{}],"model":{},{}}})", elements, quoted(head.model),
                     usage_text(head));
}

std::string classification_body(const TextReplyHead& head, const TextResults& scores,
                                const std::vector<std::string>& labels) {
  std::string elements;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto best = std::ranges::max_element(scores[i]) - scores[i].begin();
    add_element(elements, fmt::format(R"({{"index":{},"label":{},"probs":{},"num_classes":{}}})", i,
                                      quoted(labels[static_cast<size_t>(best)]), list_text(scores[i]),
                                      scores[i].size()));
  }
  return list_body(head, elements);
}

std::string scores_body(const TextReplyHead& head, const TextResults& scores) {
  std::string elements;
  for (size_t i = 0; i < scores.size(); ++i)
    add_element(elements,
                fmt::format(R"({{"index":{},"object":"score","score":{}}})", i, number_text(scores[i][0])));
  return list_body(head, elements);
}

std::string rerank_body(const TextReplyHead& head, const TextResults& scores, const TextRequest& request) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a][0] > scores[b][0]; });
  if (request.most) order.resize(std::min(order.size(), static_cast<size_t>(*request.most)));
  std::string elements;
  for (const size_t i : order) {
    const std::string& text = *request.inputs[i].second;
    const std::string document =
        request.returns_documents ? fmt::format(R"("document":{{"text":{}}},)", quoted(text)) : "";
    add_element(elements, fmt::format(R"({{"index":{},{}"relevance_score":{}}})", i, document,
                                      number_text(scores[i][0])));
  }
  return fmt::format(R"({{"id":{},"model":{},{},"results":[{}]}})", quoted(head.id), quoted(head.model),
                     usage_text(head), elements);
}

}  // namespace smelt
