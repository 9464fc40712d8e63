#include "compiler/server/text_service.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/pooling.h"

namespace smelt::server {
namespace {

constexpr std::chrono::milliseconds kTextPatience{1000};
constexpr size_t kBytesPerNumber = 64;    // of a reply's text, in several copies
constexpr size_t kBytesPerBodyByte = 16;  // of documents that a reply repeats, in several copies

struct TextRoute {
  std::string_view path;
  TextTask task;
};
constexpr TextRoute kTextRoutes[] = {
    {route::kEmbeddings, TextTask::embed}, {route::kClassify, TextTask::classify},
    {route::kScore, TextTask::score},      {route::kScoreV1, TextTask::score},
    {route::kRerank, TextTask::rerank},    {route::kRerankV1, TextTask::rerank},
    {route::kRerankV2, TextTask::rerank}};

std::optional<TextTask> task_of(std::string_view path) {
  const auto found = std::ranges::find(kTextRoutes, path, &TextRoute::path);
  return found == std::end(kTextRoutes) ? std::nullopt : std::optional(found->task);
}

[[noreturn]] void refuse_path(std::string_view path, const std::string& why) {
  throw ApiError(http::kNotFound, fmt::format("there is no POST {}: {}", path, why));
}

const char* id_prefix(TextTask task) {
  static constexpr const char* kPrefixes[] = {"embd", "classify", "score", "rerank"};
  return kPrefixes[static_cast<size_t>(task)];
}

}  // namespace

TextAnswer::TextAnswer(std::shared_ptr<Mailbox> mailbox, size_t texts, size_t tokens, size_t most_bytes,
                       Write write)
    : Answer(std::move(mailbox)),
      results_(texts),
      most_bytes_(most_bytes),
      usage_{tokens, 0},
      write_(std::move(write)) {}

void TextAnswer::receive(std::vector<Progress> fresh) {
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (fresh[i].finish == Finish::none) continue;
    refuse_failed(fresh[i]);
    results_[i] = std::move(fresh[i].vector);
    ++ended_;
  }
}

bool TextAnswer::collect() {
  receive(mailbox_->wait(std::chrono::milliseconds(0)));
  return ended();
}

std::string TextAnswer::whole() {
  while (!ended()) receive(mailbox_->wait(kTextPatience));
  done_ = true;
  return write_(std::move(results_));
}

std::vector<Finish> TextAnswer::finishes() const { return {done_ ? Finish::stop : Finish::none}; }

TextService::TextService(BatchService& batch, const cli::PromptText& texts, const TextMaker& maker,
                         TextModel model, std::string name)
    : ModelService(std::move(name)),
      batch_(batch),
      maker_(maker),
      model_(std::move(model)),
      chats_{.why_not = "the model reads whole texts, and no chats"},
      tokens_(texts, chats_, batch.capacity(), batch.vocabulary()) {}

void TextService::require_path(std::string_view path) const {
  if (path == route::kTokenize || path == route::kDetokenize) return;
  const auto task = task_of(path);
  if (!model_.classifies) {
    if (task != TextTask::embed)
      refuse_path(path, fmt::format("'{}' computes embeddings; expected {}", name(), route::kEmbeddings));
    return;
  }
  const bool is_of_pairs = task == TextTask::score || task == TextTask::rerank;
  if (task != TextTask::classify && !is_of_pairs)
    refuse_path(path, fmt::format("'{}' classifies texts; expected {}{}", name(), route::kClassify,
                                  model_.width == 1 ? ", /score or /rerank" : ""));
  if (is_of_pairs && model_.width != 1)
    refuse_path(path, fmt::format("'{}' has {} classes, and a score needs a model with one; expected {}",
                                  name(), model_.width, route::kClassify));
}

/// More texts than may ever run and wait.
void TextService::require_room(const TextRequest& request) const {
  if (request.inputs.size() <= batch_.most_requests()) return;
  throw ApiError(http::kBadRequest,
                 fmt::format("{} texts: expected at most {}, as many as run and wait here (--queue)",
                             request.inputs.size(), batch_.most_requests()),
                 "", "invalid_value");
}

void TextService::require_dimensions(const TextRequest& request) const {
  if (!request.dimensions || *request.dimensions <= static_cast<int64_t>(model_.width)) return;
  throw ApiError(http::kBadRequest,
                 fmt::format("dimensions = {}: expected 1 to {}", *request.dimensions, model_.width),
                 "dimensions", "invalid_value");
}

std::string TextService::tokenize(const TokenizeRequest& request) const {
  TokenizeRequest cased = request;
  cased.prompt = maker_.cased(request.prompt);
  return tokens_.tokenize(cased);
}

std::string TextService::detokenize(const DetokenizeRequest& request) const {
  return tokens_.detokenize(request);
}

TextReplyHead TextService::head(const TextRequest& request, size_t tokens) {
  return {.id = fmt::format("{}-{:x}-{}", id_prefix(request.task), created(), ++answers_),
          .model = name(),
          .created = std::time(nullptr),
          .tokens = tokens};
}

std::shared_ptr<Answer> TextService::post(std::string_view path, std::string_view body) {
  TextRequest request = read_text_request(*task_of(path), body);
  if (request.model) require_name(*request.model);
  require_room(request);
  require_dimensions(request);
  std::vector<Request> made = maker_.make(request);
  size_t tokens = 0;
  for (const Request& one : made) batch_.check(one), tokens += one.prompt.size();
  const size_t texts = made.size();
  const size_t bytes = texts * model_.width * kBytesPerNumber +
                       (request.task == TextTask::rerank ? body.size() * kBytesPerBodyByte : 0);
  TextReplyHead begin = head(request, tokens);
  TextAnswer::Write write = request.task == TextTask::embed
                                ? write_embeddings(request, std::move(begin))
                                : write_scores(std::move(request), std::move(begin));
  return std::make_shared<TextAnswer>(batch_.hand_over(std::move(made)), texts, tokens, bytes,
                                      std::move(write));
}

TextAnswer::Write TextService::write_embeddings(const TextRequest& request, TextReplyHead head) const {
  const auto size = static_cast<size_t>(request.dimensions.value_or(static_cast<int64_t>(model_.dimensions)));
  const bool normalizes = request.normalizes.value_or(model_.normalizes);
  return [size, normalizes, base64 = request.base64, head = std::move(head)](TextResults vectors) {
    for (std::vector<float>& vector : vectors) {
      vector.resize(size);
      if (normalizes) normalize(vector);
    }
    return embeddings_body(head, vectors, base64);
  };
}

TextAnswer::Write TextService::write_scores(TextRequest request, TextReplyHead head) const {
  ScoreFunction function =
      request.task == TextTask::classify ? model_.scores.classification : model_.scores.similarity;
  if (request.raw_scores) function = ScoreFunction::identity;
  return [function, request = std::move(request), head = std::move(head),
          labels = model_.scores.labels](TextResults scores) {
    for (std::vector<float>& each : scores) score_logits(function, each);
    if (request.task == TextTask::classify) return classification_body(head, scores, labels);
    if (request.task == TextTask::score) return scores_body(head, scores);
    return rerank_body(head, scores, request);
  };
}

}  // namespace smelt::server
