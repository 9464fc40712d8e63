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

/// Lists of the log-probabilities of a completion.
struct ScoreLists {
  Json tokens = Json::array(), own = Json::array(), best = Json::array(), offsets = Json::array();

  void add(const CompletionHead& head, const NewToken& token) {
    tokens.push_back(head.text_of_token(token.id));
    own.push_back(token.has_log_probability ? Json(token.log_probability) : Json(nullptr));
    best.push_back(token.has_log_probability ? best_tokens(head, token) : Json(nullptr));
    offsets.push_back(token.text_begin);
  }
};

Json log_probabilities_of(const CompletionHead& head, const Progress& progress,
                          const ReportedScores& scores) {
  ScoreLists lists;
  if (scores.echoed_prompt)
    for (const NewToken& token : progress.prompt) lists.add(head, token);
  for (const NewToken& token : progress.tokens) lists.add(head, token);
  return {{"tokens", std::move(lists.tokens)},
          {"token_logprobs", std::move(lists.own)},
          {"top_logprobs", std::move(lists.best)},
          {"text_offset", std::move(lists.offsets)}};
}

Json ranked_token(const CompletionHead& head, int32_t id, float log_probability, size_t rank) {
  return {{"logprob", log_probability}, {"rank", rank}, {"decoded_token", head.text_of_token(id)}};
}

/// Returns the element of vLLM's prompt_logprobs for a token of a prompt: an object of the most probable
/// tokens and of the token itself, by their ids.
Json prompt_token(const CompletionHead& head, const NewToken& token) {
  if (!token.has_log_probability) return nullptr;
  Json ranked = Json::object();
  for (size_t i = 0; i < token.best.size(); ++i)
    ranked[std::to_string(token.best[i].first)] =
        ranked_token(head, token.best[i].first, token.best[i].second, i + 1);
  const std::string own = std::to_string(token.id);
  if (!ranked.contains(own)) ranked[own] = ranked_token(head, token.id, token.log_probability, token.rank);
  return ranked;
}

Json prompt_log_probabilities(const CompletionHead& head, const std::vector<NewToken>& tokens) {
  Json list = Json::array();
  for (const NewToken& token : tokens) list.push_back(prompt_token(head, token));
  return list;
}

/// One element of a chat's log-probabilities. Bytes are those of the token's text.
Json chat_token(const std::string& text, double log_probability) {
  return {{"token", text},
          {"logprob", log_probability},
          {"bytes", std::vector<int>(reinterpret_cast<const unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()) + text.size())}};
}

Json chat_log_probabilities(const CompletionHead& head, const std::vector<NewToken>& tokens) {
  Json content = Json::array();
  for (const NewToken& token : tokens) {
    Json one = chat_token(head.text_of_token(token.id), token.log_probability), best = Json::array();
    for (const auto& [id, log_probability] : token.best)
      best.push_back(chat_token(head.text_of_token(id), log_probability));
    one["top_logprobs"] = std::move(best);
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}};
}

const char* object_name(bool is_chat, bool is_event) {
  if (!is_chat) return "text_completion";
  return is_event ? "chat.completion.chunk" : "chat.completion";
}

/// Returns a call as an element of tool_calls. Events number the calls; later parts have arguments alone.
Json tool_call(const tools::CallPiece& piece, bool is_event) {
  Json call = {{"function", {{"arguments", piece.arguments}}}};
  if (is_event) call["index"] = piece.index;
  if (piece.id.empty()) return call;
  call["id"] = piece.id, call["type"] = "function";
  call["function"]["name"] = piece.name;
  return call;
}

/// Returns the message. Empty content is null in a message with calls, and missing in events that may have
/// calls.
Json chat_message(const ChatPart& part) {
  Json message = Json::object(), calls = Json::array();
  if (part.begins) message["role"] = "assistant";
  for (const tools::CallPiece& piece : part.message.calls) calls.push_back(tool_call(piece, part.is_event));
  const bool has_content = !part.message.content.empty();
  if (has_content || !part.reads_calls || (!part.is_event && calls.empty()))
    message["content"] = part.message.content;
  else if (!part.is_event)
    message["content"] = nullptr;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  return message;
}

}  // namespace

bool is_news(const ChatPart& part, const Progress& progress, bool log_probabilities) {
  return !part.reads_calls || part.begins || !part.message.empty() || progress.finish != Finish::none ||
         (log_probabilities && !progress.tokens.empty());
}

Json chat_choice(const CompletionHead& head, size_t index, const Progress& progress, bool log_probabilities,
                 const ChatPart& part) {
  const bool ends_with_calls = part.has_called && progress.finish == Finish::stop;
  Json choice = {
      {"index", index},
      {part.is_event ? "delta" : "message", chat_message(part)},
      {"logprobs", log_probabilities ? chat_log_probabilities(head, progress.tokens) : Json(nullptr)},
      {"finish_reason", ends_with_calls ? Json("tool_calls") : finish_reason(progress.finish)}};
  if (progress.score) choice["score"] = *progress.score;
  return choice;
}

Json completion_choice(const CompletionHead& head, size_t index, const Progress& progress,
                       const ReportedScores& scores) {
  Json ids = Json::array();
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  Json choice = {
      {"index", index},
      {"text", progress.text},
      {"token_ids", ids},
      {"logprobs", scores.new_tokens ? log_probabilities_of(head, progress, scores) : Json(nullptr)},
      {"finish_reason", finish_reason(progress.finish)}};
  if (progress.score) choice["score"] = *progress.score;
  if (scores.prompt) choice["prompt_logprobs"] = prompt_log_probabilities(head, progress.prompt);
  return choice;
}

std::string completion_body(const CompletionHead& head, const Json& choices, const CompletionUsage* usage,
                            bool is_event) {
  Json body = {{"id", head.id},
               {"object", object_name(head.is_chat, is_event)},
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
  const auto add = [](std::vector<NewToken>& list, std::vector<NewToken>& more) {
    list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(all.prompt, fresh.prompt);
  add(all.tokens, fresh.tokens);
  all.text += fresh.text;
  all.has_begun |= fresh.has_begun;
  if (fresh.finish == Finish::none) return;
  all.finish = fresh.finish, all.error = std::move(fresh.error), all.vector = std::move(fresh.vector);
  all.beams = std::move(fresh.beams);
  all.is_requests_fault = fresh.is_requests_fault;
}

}  // namespace smelt
