// ModelService: what the server answers about one model, independent of HTTP: its input is the body of a
// request, and its output the body of the reply.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/server/answer.h"
#include "runtime/engine/serving/token_request.h"
#include "runtime/system/json_text.h"

namespace smelt::server {

/// Thread-safe.
class ModelService {
 public:
  /// `name`: the model's name for clients.
  explicit ModelService(std::string name);
  virtual ~ModelService() = default;
  ModelService(const ModelService&) = delete;
  ModelService& operator=(const ModelService&) = delete;

  const std::string& name() const { return name_; }
  /// Returns the names of the adapters that requests may give as their model, sorted.
  virtual std::vector<std::string> adapter_names() const { return {}; }
  /// Throws ApiError (status 404) if the service does not answer POSTs to `path`. The message says what the
  /// model is for.
  virtual void require_path(std::string_view path) const = 0;
  /// Starts to answer a POST of `body` to `path`, and returns the answer, never null. The batch of requests
  /// that the model works on accepts or refuses the requests of `body` later (Answer::accepted). Throws
  /// ApiError or Error for a bad body. Requires: require_path(path) does not throw, and
  /// route::replies_at_once(path) is false.
  virtual std::shared_ptr<Answer> post(std::string_view path, std::string_view body) = 0;
  /// Returns the reply's body for a POST of `body` to a path for which route::replies_at_once is true. Throws
  /// ApiError or Error for a bad body.
  std::string reply(std::string_view path, std::string_view body) const;
  /// Returns whether the page that GET / returns can use the model.
  virtual bool has_page() const = 0;
  /// Returns the reply's body for GET /v1/models: JSON that lists the model, and its adapters with the
  /// model's name as their `parent`.
  std::string models() const;
  /// Returns the reply's body for GET /v1/models/NAME. Throws ApiError if `name` is neither the model's name
  /// nor that of an adapter.
  std::string model(std::string_view name) const;

 protected:
  /// Throws ApiError (status 404) if `name` is neither the model's name nor that of an adapter.
  void require_name(std::string_view name) const;
  /// Throws the ApiError for a name that is neither.
  [[noreturn]] void refuse_name(std::string_view name) const;
  int64_t created() const { return created_; }  // seconds since 1970

 protected:
  /// See WeightUpdates. Throws ApiError (status 404) unless a kind of service takes new weights.
  virtual std::string update_weights(std::string_view body) const;
  /// See AdapterUpdates. Throw ApiError (status 404) unless a kind of service loads adapters.
  virtual std::string load_adapter(std::string_view body) const;
  virtual std::string unload_adapter(std::string_view body) const;

 private:
  /// See TokenService.
  virtual std::string tokenize(const TokenizeRequest& request) const = 0;
  virtual std::string detokenize(const DetokenizeRequest& request) const = 0;
  Json about(std::string_view name) const;

  const std::string name_;
  const int64_t created_;
};

/// Paths of POSTs. Every path is one of a CompletionService, of a TextService, or of both.
namespace route {
inline constexpr std::string_view kCompletions = "/v1/completions", kChat = "/v1/chat/completions";
inline constexpr std::string_view kResponses = "/v1/responses";
inline constexpr std::string_view kTokenize = "/tokenize", kDetokenize = "/detokenize";
inline constexpr std::string_view kUpdateWeights = "/update_weights";
inline constexpr std::string_view kLoadAdapter = "/v1/load_lora_adapter",
                                  kUnloadAdapter = "/v1/unload_lora_adapter";
inline constexpr std::string_view kEmbeddings = "/v1/embeddings", kClassify = "/classify";
inline constexpr std::string_view kScore = "/score", kScoreV1 = "/v1/score";
inline constexpr std::string_view kRerank = "/rerank", kRerankV1 = "/v1/rerank", kRerankV2 = "/v2/rerank";
inline constexpr std::string_view kPosts[] = {
    kCompletions, kChat,   kResponses, kTokenize, kDetokenize,    kEmbeddings,  kClassify,     kScore,
    kScoreV1,     kRerank, kRerankV1,  kRerankV2, kUpdateWeights, kLoadAdapter, kUnloadAdapter};

/// Returns true if a POST to `path` needs no step of the model; ModelService::reply then returns the reply.
/// For all other paths, ModelService::post returns an answer.
constexpr bool replies_at_once(std::string_view path) {
  return path == kTokenize || path == kDetokenize || path == kUpdateWeights || path == kLoadAdapter ||
         path == kUnloadAdapter;
}
}  // namespace route

}  // namespace smelt::server
