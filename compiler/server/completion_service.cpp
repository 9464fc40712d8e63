#include "compiler/server/completion_service.h"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/best_choices.h"
#include "runtime/engine/serving/response_request.h"

namespace smelt::server {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};
constexpr size_t kMostEchoCopies = 16;  // a byte of text may be six of JSON, in several copies

std::string event(const std::string& data) { return "data: " + data + "\n\n"; }

/// Adds the markers that may be special tokens to those that the text keeps.
void keep_markers(const tools::ToolFormat& format, nlohmann::ordered_json& body) {
  nlohmann::ordered_json& kept = body["keep_special_tokens"];
  if (kept.is_null()) kept = nlohmann::ordered_json::array();
  if (!kept.is_array()) return;  // refused later
  for (const std::string_view marker : format.special) kept.push_back(marker);
}

/// Makes the answer a call.
void force_call(const nlohmann::ordered_json& schema, nlohmann::ordered_json& body) {
  for (const char* name : structured::kSpecificationMembers)
    if (body.contains(name) && !body[name].is_null())
      throw ApiError(http::kBadRequest,
                     fmt::format("{}: expected none where tool_choice requires a call", name), name,
                     "invalid_value");
  body["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"name", "call"}, {"schema", schema}}}};
}

}  // namespace

CompletionAnswer::CompletionAnswer(CompletionHead head, const CompletionRequest& request,
                                   size_t prompt_tokens, std::vector<std::string> echoes,
                                   std::shared_ptr<Mailbox> mailbox)
    : Answer(std::move(mailbox)),
      head_(std::move(head)),
      streams_(request.stream),
      include_usage_(request.include_usage),
      scores_{.new_tokens = request.log_probabilities.has_value(),
              .echoed_prompt = request.echo,
              .prompt = request.prompt_log_probabilities.has_value()},
      n_(static_cast<size_t>(request.n)),
      best_of_(static_cast<size_t>(request.beams > 1 ? request.n : request.best_of)),
      per_request_(request.beams > 1 ? n_ : 1),
      best_(static_cast<size_t>(
          std::max(request.log_probabilities.value_or(0), request.scored_prompt().value_or(0)))),
      echoes_(std::move(echoes)),
      all_(echoes_.size()),
      begun_(echoes_.size() * per_request_),
      usage_{prompt_tokens, 0} {}

void CompletionAnswer::read_calls(const tools::ToolFormat& format, bool allows_several) {
  const std::string_view id = head_.id;
  calls_.emplace(format, allows_several, std::string(id.substr(id.find('-') + 1)),
                 all_.size() * per_request_);
}

bool CompletionAnswer::ended() const {
  return std::ranges::all_of(all_, [](const Progress& each) { return each.finish != Finish::none; });
}

std::vector<Finish> CompletionAnswer::finishes() const {
  std::vector<Finish> finishes;
  for (const Progress& each : all_) finishes.push_back(each.finish);
  return finishes;
}

void CompletionAnswer::receive(std::vector<Progress> fresh) {
  for (size_t i = 0; i < fresh.size(); ++i) {
    refuse_failed(fresh[i]);
    usage_.new_tokens += fresh[i].tokens.size();
    for (const Progress& beam : fresh[i].beams) usage_.new_tokens += beam.tokens.size();
    append(all_[i], std::move(fresh[i]));
  }
}

bool CompletionAnswer::collect() {
  receive(mailbox_->wait(std::chrono::milliseconds(0)));
  return ended();
}

size_t CompletionAnswer::most_bytes_of_whole() const {
  constexpr size_t kToken = 256, kLogProbability = 768;
  const bool has_scores = scores_.new_tokens || scores_.prompt;
  const size_t per_token = kToken + (has_scores ? (best_ + 1) * kLogProbability : 0);
  const size_t echoes =
      std::accumulate(echoes_.begin(), echoes_.end(), size_t{0},
                      [](size_t sum, const std::string& echo) { return sum + echo.size(); });
  size_t tokens = 0;
  for (const Progress& each : all_) {
    tokens += each.prompt.size() + each.tokens.size();
    for (const Progress& beam : each.beams) tokens += beam.tokens.size();
  }
  return tokens * per_token + kMostEchoCopies * per_request_ * echoes;
}

std::string CompletionAnswer::whole() {
  while (!ended()) receive(mailbox_->wait(kPatience));
  split_beams();
  if (response_) return whole_response();
  Json choices = Json::array();
  for (const size_t i : best_choices(all_, n_, best_of_)) {
    all_[i].text.insert(0, echoes_[i]);
    choices.push_back(*choice(i, all_[i], /*is_event=*/false));
    choices.back()["index"] = choices.size() - 1;
  }
  done_ = true;
  return completion_body(head_, choices, &usage_);
}

/// Makes a choice of each sequence that a beam search has found.
void CompletionAnswer::split_beams() {
  std::vector<Progress> choices;
  std::vector<std::string> echoes;
  for (size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].beams.empty()) return;
    for (Progress& beam : all_[i].beams) choices.push_back(std::move(beam)), echoes.push_back(echoes_[i]);
  }
  all_ = std::move(choices), echoes_ = std::move(echoes);
}

std::string CompletionAnswer::whole_response() {
  response_->add(divided(0, all_[0]));
  response_->end(all_[0].finish, usage_);
  done_ = true;
  return response_->whole();
}

/// Returns the text of a chat, divided into content and calls if these are read.
tools::ParsedPiece CompletionAnswer::divided(size_t index, const Progress& progress) {
  if (calls_) return calls_->divide(index, progress);
  return {.content = progress.text, .calls = {}};
}

/// Returns nothing if an event would have nothing to say.
std::optional<Json> CompletionAnswer::choice(size_t index, const Progress& progress, bool is_event) {
  if (!head_.is_chat) return completion_choice(head_, index, progress, scores_);
  ChatPart part{
      .is_event = is_event, .begins = !is_event || !begun_[index], .reads_calls = calls_.has_value()};
  part.message = divided(index, progress);
  part.has_called = calls_ && calls_->has_called(index);
  if (!is_news(part, progress, scores_.new_tokens)) return std::nullopt;
  begun_[index] = true;
  return chat_choice(head_, index, progress, scores_.new_tokens, part);
}

std::string CompletionAnswer::events(std::chrono::milliseconds most) {
  try {
    std::string text = first_events();
    text += events_of(mailbox_->wait(most));
    if (ended()) text += last_events(), done_ = true;
    return text;
  } catch (const Error& error) {
    return error_events(api_error(error));
  } catch (const std::exception& error) {
    return error_events({http::kServerError, error.what()});
  }
}

/// The status was sent long ago.
std::string CompletionAnswer::error_events(const ApiError& error) {
  done_ = true;
  if (response_) {
    const std::string first = first_events();
    return first + response_->fail(error);
  }
  return event(error_body(error)) + event("[DONE]");
}

/// Returns the events that come before any token.
std::string CompletionAnswer::first_events() {
  return response_ && !std::exchange(has_begun_, true) ? response_->begin() : "";
}

std::string CompletionAnswer::events_of(std::vector<Progress> fresh) {
  std::string text;
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (!fresh[i].is_news()) continue;
    refuse_failed(fresh[i]);
    usage_.new_tokens += fresh[i].tokens.size();
    fresh[i].text.insert(0, std::exchange(echoes_[i], ""));
    all_[i].finish = fresh[i].finish;
    if (response_)
      text += response_->add(divided(i, fresh[i]));
    else if (const auto one = choice(i, fresh[i], /*is_event=*/true))
      text += event(completion_body(head_, Json::array({*one}), nullptr, true));
  }
  return text;
}

std::string CompletionAnswer::last_events() {
  if (response_) return response_->end(all_[0].finish, usage_);
  const std::string usage = include_usage_ ? event(completion_body(head_, Json::array(), &usage_, true)) : "";
  return usage + event("[DONE]");
}

CompletionService::CompletionService(BatchService& batch, const cli::PromptText& texts,
                                     const RequestMaker& maker, std::string name, ChatSource chats)
    : ModelService(std::move(name)),
      batch_(batch),
      texts_(texts),
      maker_(maker),
      chats_(std::move(chats)),
      tokens_(texts, chats_, batch.prompt_capacity(), batch.vocabulary()) {}

void CompletionService::require_path(std::string_view path) const {
  if (path == route::kCompletions || path == route::kChat || path == route::kResponses) return;
  if (route::replies_at_once(path)) return;
  throw ApiError(http::kNotFound,
                 fmt::format("there is no POST {}: '{}' generates text; expected {}, {} or {}", path, name(),
                             route::kCompletions, route::kChat, route::kResponses));
}

std::shared_ptr<Answer> CompletionService::post(std::string_view path, std::string_view body) {
  if (path == route::kResponses) return answer_response(body);
  return path == route::kChat ? answer_chat(body) : answer(body);
}

/// A beam search has a slot per beam.
void CompletionService::require_slots(const CompletionRequest& request) const {
  const size_t slots = batch_.counts().slots;
  if (request.beams <= static_cast<int64_t>(slots)) return;
  throw ApiError(
      http::kBadRequest,
      fmt::format("a beam search of {} beams: expected at most {}, the slots of the server (--slots)",
                  request.beams, slots),
      "beam_width", "invalid_value");
}

/// More choices than may ever run and wait together.
void CompletionService::require_room(const CompletionRequest& request) const {
  const size_t choices = request.prompts.size() * static_cast<size_t>(request.requests_per_prompt());
  if (choices <= batch_.most_requests()) return;
  const char* name = request.best_of > request.n ? "best_of" : "n";
  throw ApiError(
      http::kBadRequest,
      fmt::format("{} = {} for {} prompts, which are {} choices: expected at most {}, as many as run "
                  "and wait here",
                  name, request.best_of, request.prompts.size(), choices, batch_.most_requests()),
      name, "invalid_value");
}

std::vector<std::string> CompletionService::adapter_names() const {
  const AdapterStore* adapters = batch_.adapters();
  return adapters ? adapters->names() : std::vector<std::string>();
}

std::shared_ptr<const ServedAdapter> CompletionService::adapter_of(const CompletionRequest& request) const {
  if (!request.model || *request.model == name()) return nullptr;
  const AdapterStore* adapters = batch_.adapters();
  auto found = adapters ? adapters->find(*request.model) : nullptr;
  if (!found) refuse_name(*request.model);
  return found;
}

CompletionHead CompletionService::head(Kind kind, const std::string& model) {
  static constexpr const char* kNames[] = {"cmpl", "chatcmpl", "resp"};
  return {.is_chat = kind != Kind::completion,
          .id = fmt::format("{}-{:x}-{}", kNames[static_cast<size_t>(kind)], created(), ++answers_),
          .model = model,
          .created = std::time(nullptr),
          .text_of_token = [this](int32_t id) {
            return texts_.known() ? texts_.decode_one(id) : std::to_string(id);
          }};
}

std::shared_ptr<CompletionAnswer> CompletionService::answer(std::string_view body) {
  return answer(body, Kind::completion);
}

void CompletionService::require_chats() const {
  chats_.require_template(
      "; send the text to /v1/completions, with \"add_special_tokens\": false where it has the special "
      "tokens");
}

std::shared_ptr<CompletionAnswer> CompletionService::answer_chat(std::string_view body) {
  require_chats();
  return answer_chat(read_chat_request(body), Kind::chat);
}

std::shared_ptr<CompletionAnswer> CompletionService::answer_response(std::string_view body) {
  require_chats();
  ResponseRequest request = read_response_request(body);
  const auto result = answer_chat(read_parsed_chat_request(std::move(request.chat)), Kind::response);
  result->reply_as_response(std::move(request.fields));
  return result;
}

std::shared_ptr<CompletionAnswer> CompletionService::answer_chat(const ChatRequest& chat, Kind kind) {
  require_tools(chat.tools);
  std::shared_ptr<CompletionAnswer> result = answer(completion_of(chat), kind);
  if (chat.tools.reads_calls) result->read_calls(format_of(chat.tools), chat.tools.allows_several);
  return result;
}

/// A call that is required is an object, whatever the format of the model.
const tools::ToolFormat& CompletionService::format_of(const ChatTools& tools) const {
  return tools.forced_call.is_null() ? *chats_.tools : *tools::find_format("llama3_json");
}

/// Calls are read from the answer, so their format must be known.
void CompletionService::require_tools(const ChatTools& tools) const {
  if (!tools.reads_calls || chats_.tools || !tools.forced_call.is_null()) return;
  throw ApiError(http::kBadRequest, "tools: " + chats_.why_no_tools + "; or set tool_choice to \"none\"",
                 "tools", "unsupported_parameter");
}

/// Returns the body of the completion that a chat is. Without a length, it may fill the caches.
std::string CompletionService::completion_of(const ChatRequest& chat) const {
  const std::string prompt = chats_.prompt_of(chat);
  nlohmann::ordered_json body = chat.completion;
  body["prompt"] = prompt;
  if (chat.tools.reads_calls) keep_markers(format_of(chat.tools), body);
  if (!chat.tools.forced_call.is_null()) force_call(chat.tools.forced_call, body);
  if (!chat.has_length()) body["max_tokens"] = room_for_answer(body);
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

size_t CompletionService::room_for_answer(nlohmann::ordered_json body) const {
  const size_t most = batch_.capacity();
  if (maker_.reads_source()) return most;
  body["max_tokens"] = most;
  const CompletionRequest request = maker_.read(body.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (request.truncated_tokens == -1)
    throw ApiError(http::kBadRequest,
                   "truncate_prompt_tokens = -1: expected max_tokens beside it, for which room is left",
                   "truncate_prompt_tokens", "invalid_value");
  const size_t used = maker_.tokens_of(request, request.prompts[0]).size();
  return used <= most ? most + 1 - used : 1;
}

void CompletionService::require_priority(const CompletionRequest& request) const {
  if (request.priority == 0 || takes_priorities_) return;
  throw ApiError(http::kBadRequest,
                 fmt::format("priority = {}: expected 0, because the server was started without --priorities",
                             request.priority),
                 "priority", "unsupported_parameter");
}

std::shared_ptr<CompletionAnswer> CompletionService::answer(std::string_view body, Kind kind) {
  const CompletionRequest request = maker_.read(body);
  require_priority(request);
  const std::shared_ptr<const ServedAdapter> adapter = adapter_of(request);
  require_slots(request);
  require_room(request);
  RequestMaker::Made made = maker_.make(request, [&](const Request& one) { batch_.check(one); });
  for (Request& one : made.requests) one.adapter = adapter;
  auto mailbox =
      batch_.hand_over(std::move(made.requests), {.body = std::string(body), .seed = request.options.seed});
  return std::make_shared<CompletionAnswer>(head(kind, adapter ? adapter->name : name()), request,
                                            made.prompt_tokens, std::move(made.echoes), std::move(mailbox));
}

}  // namespace smelt::server
