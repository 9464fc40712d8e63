// POST /v1/completions without HTTP: from a body to what is answered.
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
#include "compiler/server/request_maker.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/completion_reply.h"

namespace smelt::server {

/// The answer to one body, whose choices run or wait. What still runs when it is gone is cancelled.
class CompletionAnswer {
 public:
  /// `echoes`: the text before each choice's text.
  CompletionAnswer(CompletionHead head, const CompletionRequest& request, size_t prompt_tokens,
                   std::vector<std::string> echoes, std::shared_ptr<Mailbox> mailbox);
  ~CompletionAnswer();
  CompletionAnswer(const CompletionAnswer&) = delete;
  CompletionAnswer& operator=(const CompletionAnswer&) = delete;

  bool streams() const { return streams_; }
  /// Sets a listener that is called, until abandon(), for each change that the functions below may see; see
  /// Mailbox.
  void on_change(std::function<void()> listener) { mailbox_->on_change(std::move(listener)); }
  /// Returns whether its choices run or wait, without waiting; throws what refused them.
  bool accepted() { return mailbox_->accepted(); }
  /// Takes what has come of an answer that does not stream, without waiting. Returns whether whole() need not
  /// wait. Throws ApiError where a choice has failed.
  bool collect();
  /// Estimates the memory that whole() takes, from above.
  size_t most_bytes_of_whole() const;
  /// Waits for all choices. Throws ApiError where one has failed.
  std::string whole();
  /// Returns the new server-sent events within that time; the last event is among them when done() is true.
  /// An error is an event, too.
  std::string events(std::chrono::milliseconds most);
  bool done() const { return done_; }
  void abandon() { mailbox_->abandon(); }

 private:
  bool ended() const;
  void receive(std::vector<Progress> fresh);
  std::string events_of(std::vector<Progress> fresh);
  std::string last_events() const;
  std::string error_events(const ApiError& error);

  CompletionHead head_;
  bool streams_, include_usage_, log_probabilities_, done_ = false;
  std::vector<std::string> echoes_;
  std::vector<Progress> all_;  // by choice; of a stream, how each ended
  CompletionUsage usage_;
  std::shared_ptr<Mailbox> mailbox_;
};

class CompletionService {
 public:
  /// `name`: what clients know the model by.
  CompletionService(BatchThread& batch, const cli::PromptText& texts, const RequestMaker& maker,
                    std::string name);

  const std::string& name() const { return name_; }
  /// Hands it over; the batch accepts or refuses it later. Throws ApiError, or the Error that refused it at
  /// once.
  std::shared_ptr<CompletionAnswer> answer(std::string_view body);
  /// GET /v1/models
  std::string models() const;
  /// GET /v1/models/NAME. Throws ApiError where there is no such model.
  std::string model(std::string_view name) const;

 private:
  void require_name(std::string_view name) const;
  Json about() const;
  void require_room(const CompletionRequest& request) const;
  CompletionHead head();

  BatchThread& batch_;
  const cli::PromptText& texts_;
  const RequestMaker& maker_;
  const std::string name_;
  const int64_t created_;
  std::atomic<uint64_t> answers_ = 0;
};

}  // namespace smelt::server
