// Implementation of POST /v1/completions, POST /v1/chat/completions and POST /v1/responses.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cli/shared/prompt_text.h"
#include "compiler/server/adapter_updates.h"
#include "compiler/server/answer.h"
#include "compiler/server/batch_service.h"
#include "compiler/server/chat_source.h"
#include "compiler/server/model_service.h"
#include "compiler/server/request_maker.h"
#include "compiler/server/token_service.h"
#include "compiler/server/weight_updates.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/chat_calls.h"
#include "runtime/engine/serving/chat_request.h"
#include "runtime/engine/serving/completion_reply.h"
#include "runtime/engine/serving/response_reply.h"

namespace smelt::server {

/// Answer to one body of POST /v1/completions, POST /v1/chat/completions or POST /v1/responses. It has one or
/// more choices (completions), which run in the batch or wait for a free row of the batch.
class CompletionAnswer : public Answer {
 public:
  /// `echoes`: for each choice, the text that comes before its generated text in the reply: the prompt if the
  /// request sets `echo`, else empty.
  CompletionAnswer(CompletionHead head, const CompletionRequest& request, size_t prompt_tokens,
                   std::vector<std::string> echoes, std::shared_ptr<Mailbox> mailbox);
  /// Makes the answer to a chat divide its texts into content and calls of tools. `format` must outlive the
  /// answer. Requires: whole() and events() were not called.
  void read_calls(const tools::ToolFormat& format, bool allows_several);
  /// Makes the answer to a chat a response object with these fields (ResponseReply), or a stream of its
  /// events. Requires: whole() and events() were not called, and the chat has one choice.
  void reply_as_response(Json fields) { response_.emplace(head_, std::move(fields)); }

  bool streams() const override { return streams_; }
  bool collect() override;
  size_t most_bytes_of_whole() const override;
  std::string whole() override;
  std::string events(std::chrono::milliseconds most) override;
  bool done() const override { return done_; }
  const CompletionUsage& usage() const override { return usage_; }
  std::vector<Finish> finishes() const override;

 private:
  bool ended() const;
  void receive(std::vector<Progress> fresh);
  std::string events_of(std::vector<Progress> fresh);
  void split_beams();
  std::string whole_response();
  tools::ParsedPiece divided(size_t index, const Progress& progress);
  std::string first_events();
  std::optional<Json> choice(size_t index, const Progress& progress, bool is_event);
  std::string last_events();
  std::string error_events(const ApiError& error);

  CompletionHead head_;
  bool streams_, include_usage_, done_ = false;
  ReportedScores scores_;
  size_t n_, best_of_;  // choices per prompt: returned and generated
  size_t per_request_;  // choices that a request of the batch gives: those of a beam search, or one
  size_t best_;         // most probable tokens that are reported with each token
  std::vector<std::string> echoes_;
  std::vector<Progress> all_;       // by choice: all progress; if the answer streams, only `finish` is set
  std::vector<bool> begun_;         // by choice of a chat: the first event, which has the role, was made
  std::optional<ChatCalls> calls_;  // nothing: no calls are read
  std::optional<ResponseReply> response_;  // nothing: the reply is a completion or a chat
  bool has_begun_ = false;                 // the first events of a response were returned
  CompletionUsage usage_;
};

/// The service of one model that generates text.
class CompletionService : public ModelService {
 public:
  /// `name`: the model's name for clients. The references must outlive the service.
  CompletionService(BatchService& batch, const cli::PromptText& texts, const RequestMaker& maker,
                    std::string name, ChatSource chats = {});

  void require_path(std::string_view path) const override;
  bool has_page() const override { return true; }
  /// Calls answer(), answer_chat() or answer_response(), according to the path.
  std::shared_ptr<Answer> post(std::string_view path, std::string_view body) override;
  /// Parses the body of a POST /v1/completions and submits its requests to the batch, which accepts or
  /// refuses them later (Answer::accepted). Throws ApiError or Error if the body is invalid, if its requests
  /// can never run, or if the batch has ended.
  std::shared_ptr<CompletionAnswer> answer(std::string_view body);
  /// Does the same for the body of a POST /v1/chat/completions. The model's chat template makes a prompt of
  /// the messages in the body. If the model has no template, throws ApiError.
  std::shared_ptr<CompletionAnswer> answer_chat(std::string_view body);
  /// Does the same for the body of a POST /v1/responses, which is translated to a chat.
  std::shared_ptr<CompletionAnswer> answer_response(std::string_view body);
  std::vector<std::string> adapter_names() const override;
  /// Answers POST /v1/load_lora_adapter and POST /v1/unload_lora_adapter from now on. `adapters` must outlive
  /// the service.
  void take_adapters(const AdapterUpdates& adapters) { adapter_updates_ = &adapters; }
  /// Answers POST /update_weights from now on. `updates` must outlive the service.
  void take_weights(const WeightUpdates& updates) { updates_ = &updates; }
  /// Accepts requests with a priority from now on.
  void take_priorities() { takes_priorities_ = true; }

 private:
  std::string tokenize(const TokenizeRequest& request) const override { return tokens_.tokenize(request); }
  std::string detokenize(const DetokenizeRequest& request) const override {
    return tokens_.detokenize(request);
  }
  std::string update_weights(std::string_view body) const override {
    return updates_ ? updates_->update(body) : ModelService::update_weights(body);
  }
  std::string load_adapter(std::string_view body) const override {
    return adapter_updates_ ? adapter_updates_->load(body) : ModelService::load_adapter(body);
  }
  std::string unload_adapter(std::string_view body) const override {
    return adapter_updates_ ? adapter_updates_->unload(body) : ModelService::unload_adapter(body);
  }
  /// Returns the adapter that the request names as its model; null if it names the model itself or none.
  std::shared_ptr<const ServedAdapter> adapter_of(const CompletionRequest& request) const;
  /// Throws ApiError if the request has more choices than the batch accepts.
  void require_slots(const CompletionRequest& request) const;
  void require_room(const CompletionRequest& request) const;
  /// Throws ApiError if the request has a priority, and the server takes none.
  void require_priority(const CompletionRequest& request) const;
  /// Returns the most new tokens of a chat that sets no limit: as many as the caches hold after its prompt,
  /// which is that of `body`.
  size_t room_for_answer(nlohmann::ordered_json body) const;
  /// Kinds of replies, of which each has ids of its own.
  enum class Kind : uint8_t { completion, chat, response };
  CompletionHead head(Kind kind, const std::string& model);
  void require_chats() const;
  std::shared_ptr<CompletionAnswer> answer_chat(const ChatRequest& chat, Kind kind);
  void require_tools(const ChatTools& tools) const;
  const tools::ToolFormat& format_of(const ChatTools& tools) const;
  std::string completion_of(const ChatRequest& chat) const;
  std::shared_ptr<CompletionAnswer> answer(std::string_view body, Kind kind);

  BatchService& batch_;
  const cli::PromptText& texts_;
  const RequestMaker& maker_;
  const ChatSource chats_;
  const TokenService tokens_;
  const WeightUpdates* updates_ = nullptr;           // null: the server takes no new weights
  const AdapterUpdates* adapter_updates_ = nullptr;  // null: it loads no adapters while it runs
  bool takes_priorities_ = false;
  std::atomic<uint64_t> answers_ = 0;
};

}  // namespace smelt::server
