#include "runtime/engine/serving/completion_reply.h"

#include <utility>

namespace smelt {
namespace {

Json finish_reason(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    default:
      return nullptr;
  }
}

/// Returns the best tokens. Tokens with the same text are reported once, with the best of their numbers.
Json best_tokens(const CompletionHead& head, const NewToken& token) {
  Json best = Json::object();
  for (const auto& [id, log_probability] : token.best) {
    const std::string text = head.text_of_token(id);
    if (!best.contains(text)) best[text] = log_probability;
  }
  return best;
}

Json log_probabilities_of(const CompletionHead& head, const std::vector<NewToken>& tokens) {
  Json texts = Json::array(), own = Json::array(), best = Json::array(), offsets = Json::array();
  for (const NewToken& token : tokens) {
    texts.push_back(head.text_of_token(token.id));
    own.push_back(token.log_probability);
    best.push_back(best_tokens(head, token));
    offsets.push_back(token.text_begin);
  }
  return {{"tokens", texts}, {"token_logprobs", own}, {"top_logprobs", best}, {"text_offset", offsets}};
}

}  // namespace

Json completion_choice(const CompletionHead& head, size_t index, const Progress& progress,
                       bool log_probabilities) {
  Json ids = Json::array();
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  return {{"index", index},
          {"text", progress.text},
          {"token_ids", ids},
          {"logprobs", log_probabilities ? log_probabilities_of(head, progress.tokens) : Json(nullptr)},
          {"finish_reason", finish_reason(progress.finish)}};
}

std::string completion_body(const CompletionHead& head, const Json& choices, const CompletionUsage* usage) {
  Json body = {{"id", head.id},
               {"object", "text_completion"},
               {"created", head.created},
               {"model", head.model},
               {"choices", choices}};
  if (usage)
    body["usage"] = {{"prompt_tokens", usage->prompt_tokens},
                     {"completion_tokens", usage->new_tokens},
                     {"total_tokens", usage->prompt_tokens + usage->new_tokens}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append(Progress& all, Progress fresh) {
  all.tokens.insert(all.tokens.end(), std::make_move_iterator(fresh.tokens.begin()),
                    std::make_move_iterator(fresh.tokens.end()));
  all.text += fresh.text;
  if (fresh.finish == Finish::none) return;
  all.finish = fresh.finish, all.error = std::move(fresh.error);
  all.is_requests_fault = fresh.is_requests_fault;
}

}  // namespace smelt
