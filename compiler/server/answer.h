// Answer: the answer to the body of one POST. The body makes one or more requests, which run in the model's
// batch or wait for room in it. A connection sends the answer to the client.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/server/mailbox.h"
#include "runtime/engine/serving/completion_reply.h"

namespace smelt::server {

class Answer {
 public:
  explicit Answer(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}
  /// Cancels the requests that have not ended.
  virtual ~Answer() { mailbox_->abandon(); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// Returns whether the client asked for a stream of events. If so, the caller uses events(), else whole().
  virtual bool streams() const { return false; }
  /// Sets a listener. Until abandon(), it is called whenever accepted(), collect() or events() may have
  /// something new to return; see Mailbox::on_change.
  void on_change(std::function<void()> listener) { mailbox_->on_change(std::move(listener)); }
  /// Returns without blocking whether the batch has accepted the requests. If the batch has refused the
  /// requests, throws the error.
  bool accepted() { return mailbox_->accepted(); }
  /// Collects, without waiting, the progress since the last call, for an answer that does not stream. Returns
  /// whether all requests have ended, so that whole() does not block. Throws ApiError if a request has
  /// failed.
  virtual bool collect() = 0;
  /// Estimates how many bytes of memory whole() needs at most, for the progress collected so far.
  virtual size_t most_bytes_of_whole() const = 0;
  /// Waits until all requests have ended, and returns the reply's body as JSON. Throws ApiError if a request
  /// has failed.
  virtual std::string whole() = 0;
  /// Returns the text of the server-sent events since the last call. If there are none, waits for at most
  /// `most`, and returns an empty text if there are still none. Errors are returned as events. If done() is
  /// true afterwards, the text contains the last event. Requires: streams().
  virtual std::string events(std::chrono::milliseconds /*most*/) { return {}; }
  /// Returns whether whole() or events() has returned the end of the reply.
  virtual bool done() const = 0;
  /// Returns the numbers of tokens of the prompts and of the choices so far.
  virtual const CompletionUsage& usage() const = 0;
  /// Returns how each choice has ended; Finish::none if it has not.
  virtual std::vector<Finish> finishes() const = 0;
  /// Cancels the requests that have not ended, and removes the listener.
  void abandon() { mailbox_->abandon(); }

 protected:
  std::shared_ptr<Mailbox> mailbox_;
};

/// Throws ApiError if the request has failed: status 400 if its own options caused the failure, else 500.
void refuse_failed(const Progress& progress);

}  // namespace smelt::server
