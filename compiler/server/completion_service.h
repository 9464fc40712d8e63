// Implementation of POST /v1/completions, POST /v1/chat/completions and GET /v1/models, independent of HTTP:
// its input is the body of a request, and its output the body of the reply.
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
#include "compiler/server/batch_thread.h"
#include "compiler/server/chat_source.h"
#include "compiler/server/request_maker.h"
#include "compiler/server/token_service.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/chat_calls.h"
#include "runtime/engine/serving/chat_request.h"
#include "runtime/engine/serving/completion_reply.h"
#include "runtime/engine/serving/response_reply.h"

namespace smelt::server {

/// Answer to one body of POST /v1/completions or POST /v1/chat/completions. It has one or more choices
/// (completions), which run in the batch or wait for a slot. The destructor cancels the choices that have not
/// ended.
class CompletionAnswer {
 public:
  /// `echoes`: for each choice, the text that comes before its generated text in the reply: the prompt if the
  /// request sets `echo`, else empty.
  CompletionAnswer(CompletionHead head, const CompletionRequest& request, size_t prompt_tokens,
                   std::vector<std::string> echoes, std::shared_ptr<Mailbox> mailbox);
  ~CompletionAnswer();
  /// Makes the answer to a chat divide its texts into content and calls of tools. `format` must outlive the
  /// answer. Requires: whole() and events() were not called.
  void read_calls(const tools::ToolFormat& format, bool allows_several);
  /// Makes the answer to a chat a response object with these fields (ResponseReply), or a stream of its
  /// events. Requires: whole() and events() were not called, and the chat has one choice.
  void reply_as_response(Json fields) { response_.emplace(head_, std::move(fields)); }
  CompletionAnswer(const CompletionAnswer&) = delete;
  CompletionAnswer& operator=(const CompletionAnswer&) = delete;

  /// Returns whether the client asked for a stream of events. If so, the caller uses events(), else whole().
  bool streams() const { return streams_; }
  /// Sets a listener. Until abandon(), it is called whenever accepted(), collect() or events() may have
  /// something new to return; see Mailbox::on_change.
  void on_change(std::function<void()> listener) { mailbox_->on_change(std::move(listener)); }
  /// Returns without blocking whether the batch has accepted the choices. If the batch has refused the
  /// choices, throws the error.
  bool accepted() { return mailbox_->accepted(); }
  /// Collects, without waiting, the progress since the last call, for an answer that does not stream. Returns
  /// whether all choices have ended, so that whole() does not block. Throws ApiError if a choice has failed.
  bool collect();
  /// Estimates how many bytes of memory whole() needs at most, for the progress collected so far.
  size_t most_bytes_of_whole() const;
  /// Waits until all choices have ended, and returns the reply's body as JSON. Throws ApiError if a choice
  /// has failed.
  std::string whole();
  /// Returns the text of the server-sent events since the last call. If there are none, waits for at most
  /// `most`, and returns an empty text if there are still none. Errors are returned as events. If done() is
  /// true afterwards, the text contains the last event.
  std::string events(std::chrono::milliseconds most);
  /// Returns whether whole() or events() has returned the end of the reply.
  bool done() const { return done_; }
  /// Returns the numbers of tokens of the prompts and of the choices so far.
  const CompletionUsage& usage() const { return usage_; }
  /// Returns how each choice has ended; Finish::none if it has not.
  std::vector<Finish> finishes() const;
  /// Cancels the choices that have not ended, and removes the listener.
  void abandon() { mailbox_->abandon(); }

 private:
  bool ended() const;
  void receive(std::vector<Progress> fresh);
  std::string events_of(std::vector<Progress> fresh);
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
  size_t best_;         // most probable tokens that are reported with each token
  std::vector<std::string> echoes_;
  std::vector<Progress> all_;       // by choice: all progress; if the answer streams, only `finish` is set
  std::vector<bool> begun_;         // by choice of a chat: the first event, which has the role, was made
  std::optional<ChatCalls> calls_;  // nothing: no calls are read
  std::optional<ResponseReply> response_;  // nothing: the reply is a completion or a chat
  bool has_begun_ = false;                 // the first events of a response were returned
  CompletionUsage usage_;
  std::shared_ptr<Mailbox> mailbox_;
};

/// The service of one model. Thread-safe.
class CompletionService {
 public:
  /// `name`: the model's name for clients. The references must outlive the service.
  CompletionService(BatchThread& batch, const cli::PromptText& texts, const RequestMaker& maker,
                    std::string name, ChatSource chats = {});

  const std::string& name() const { return name_; }
  /// Parses the body of a POST /v1/completions and submits its requests to the batch, which accepts or
  /// refuses them later (CompletionAnswer::accepted). Throws ApiError or Error if the body is invalid, if its
  /// requests can never run, or if the batch has ended.
  std::shared_ptr<CompletionAnswer> answer(std::string_view body);
  /// Does the same for the body of a POST /v1/chat/completions. The model's chat template makes a prompt of
  /// the messages in the body. If the model has no template, throws ApiError.
  std::shared_ptr<CompletionAnswer> answer_chat(std::string_view body);
  /// Does the same for the body of a POST /v1/responses, which is translated to a chat.
  std::shared_ptr<CompletionAnswer> answer_response(std::string_view body);
  /// Returns the reply's body for POST /tokenize and POST /detokenize. Throws ApiError if the body is
  /// invalid.
  std::string tokenize(std::string_view body) const;
  std::string detokenize(std::string_view body) const;
  /// Returns the reply's body for GET /v1/models: JSON that lists the one model.
  std::string models() const;
  /// Returns the reply's body for GET /v1/models/NAME. Throws ApiError if `name` is not the model's name.
  std::string model(std::string_view name) const;

 private:
  void require_name(std::string_view name) const;
  Json about() const;
  /// Throws ApiError if the request has more choices than the batch accepts.
  void require_room(const CompletionRequest& request) const;
  /// Kinds of replies, of which each has ids of its own.
  enum class Kind : uint8_t { completion, chat, response };
  CompletionHead head(Kind kind);
  void require_chats() const;
  std::shared_ptr<CompletionAnswer> answer_chat(const ChatRequest& chat, Kind kind);
  void require_tools(const ChatTools& tools) const;
  const tools::ToolFormat& format_of(const ChatTools& tools) const;
  std::string completion_of(const ChatRequest& chat) const;
  std::shared_ptr<CompletionAnswer> answer(std::string_view body, Kind kind);

  BatchThread& batch_;
  const cli::PromptText& texts_;
  const RequestMaker& maker_;
  const std::string name_;
  const ChatSource chats_;
  const TokenService tokens_;
  const int64_t created_;
  std::atomic<uint64_t> answers_ = 0;
};

}  // namespace smelt::server
