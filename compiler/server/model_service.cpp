#include "compiler/server/model_service.h"

#include <fmt/ranges.h>

#include <algorithm>
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
  const std::vector<std::string> adapters = adapter_names();
  if (name != name_ && std::ranges::find(adapters, name) == adapters.end()) refuse_name(name);
}

void ModelService::refuse_name(std::string_view name) const {
  const std::vector<std::string> adapters = adapter_names();
  const std::string others =
      adapters.empty() ? "" : fmt::format(", with the adapters {}", fmt::join(adapters, ", "));
  throw ApiError(http::kNotFound, fmt::format("there is no model '{}': this is '{}'{}", name, name_, others),
                 "model", "model_not_found");
}

std::string ModelService::reply(std::string_view path, std::string_view body) const {
  if (path == route::kUpdateWeights) return update_weights(body);
  if (path == route::kLoadAdapter) return load_adapter(body);
  if (path == route::kUnloadAdapter) return unload_adapter(body);
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

std::string ModelService::load_adapter(std::string_view /*body*/) const {
  throw ApiError(http::kNotFound, "this server loads no adapters: start it with --adapters-from DIR");
}

std::string ModelService::unload_adapter(std::string_view /*body*/) const {
  throw ApiError(http::kNotFound, "this server drops no adapters: start it with --adapters-from DIR");
}

Json ModelService::about(std::string_view name) const {
  Json model = {{"id", name}, {"object", "model"}, {"created", created_}, {"owned_by", "smelt"}};
  if (name != name_) model["parent"] = name_;
  return model;
}

std::string ModelService::models() const {
  Json all = Json::array({about(name_)});
  for (const std::string& adapter : adapter_names()) all.push_back(about(adapter));
  return reply_text({{"object", "list"}, {"data", std::move(all)}});
}

std::string ModelService::model(std::string_view name) const {
  require_name(name);
  return reply_text(about(name));
}

}  // namespace smelt::server
