// POST /v1/completions without HTTP: from a body to what is answered.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cli/prompt_text.h"
#include "compiler/server/batch_thread.h"
#include "compiler/server/request_maker.h"
#include "runtime/serving/api_error.h"
#include "runtime/serving/completion_reply.h"

namespace smelt::server {

/// The answer to one body, whose choices run or wait. What still runs when it is gone is cancelled.
class CompletionAnswer {
 public:
  /// `echoes`: what stands before each choice's text.
  CompletionAnswer(CompletionHead head, const CompletionRequest& request, size_t prompt_tokens,
                   std::vector<std::string> echoes, std::shared_ptr<Mailbox> mailbox);
  ~CompletionAnswer();
  CompletionAnswer(const CompletionAnswer&) = delete;
  CompletionAnswer& operator=(const CompletionAnswer&) = delete;

  bool streams() const { return streams_; }
  /// Waits for all choices. Throws ApiError where one has failed.
  std::string whole();
  /// What comes within that time as server-sent events, the last one among them when done() is true. A fault
  /// is an event too.
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
  /// Throws ApiError, or the Error that refused it.
  std::shared_ptr<CompletionAnswer> answer(std::string_view body);
  /// GET /v1/models
  std::string models() const;

 private:
  void require_name(const CompletionRequest& request) const;
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
