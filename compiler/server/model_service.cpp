#include "compiler/server/model_service.h"

#include <ctime>
#include <utility>

#include "runtime/engine/serving/api_error.h"

namespace smelt::server {
namespace {

std::string reply_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

void refuse_failed(const Progress& progress) {
  if (progress.finish != Finish::failed) return;
  throw ApiError(progress.is_requests_fault ? http::kBadRequest : http::kServerError, progress.error);
}

ModelService::ModelService(std::string name) : name_(std::move(name)), created_(std::time(nullptr)) {}

void ModelService::require_name(std::string_view name) const {
  if (name == name_) return;
  throw ApiError(http::kNotFound, fmt::format("there is no model '{}': this is '{}'", name, name_), "model",
                 "model_not_found");
}

std::string ModelService::reply(std::string_view path, std::string_view body) const {
  if (path == route::kUpdateWeights) return update_weights(body);
  if (path == route::kTokenize) {
    const TokenizeRequest request = read_tokenize_request(body);
    if (request.model) require_name(*request.model);
    return tokenize(request);
  }
  const DetokenizeRequest request = read_detokenize_request(body);
  if (request.model) require_name(*request.model);
  return detokenize(request);
}

std::string ModelService::update_weights(std::string_view /*body*/) const {
  throw ApiError(http::kNotFound, "this server takes no new weights: start it with --weights-from DIR");
}

Json ModelService::about() const {
  return {{"id", name_}, {"object", "model"}, {"created", created_}, {"owned_by", "smelt"}};
}

std::string ModelService::models() const {
  return reply_text({{"object", "list"}, {"data", Json::array({about()})}});
}

std::string ModelService::model(std::string_view name) const {
  require_name(name);
  return reply_text(about());
}

}  // namespace smelt::server
