// Messages from the thread that runs the batch (batch_thread.h) to the thread that waits for one HTTP answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/engine/serving/request.h"

namespace smelt::server {

/// Progress of the choices (completions) of one answer, such as new tokens, stored until the caller of wait()
/// takes it. Thread-safe.
class Mailbox {
 public:
  explicit Mailbox(size_t choices) : fresh_(choices) {}

  // Called by the batch's thread.
  void accept();                                   // reports that the batch has accepted the choices
  void refuse(std::exception_ptr error);           // reports that the batch has refused them
  void deliver(size_t choice, Progress progress);  // adds the progress of choice number `choice`
  /// Returns whether abandon() was called.
  bool abandoned() const;

  /// Waits until the choices are accepted; throws the error if they are refused.
  void wait_accepted();
  /// Returns without blocking whether the choices are accepted; throws the error if they are refused.
  bool accepted();
  /// Sets a listener and calls it once. From then on, until abandon(), the batch's thread calls the listener
  /// when something changes, but not again before the next wait() or accepted(). The listener must not throw.
  /// It must not call the mailbox either, because the mailbox is locked during the call.
  void on_change(std::function<void()> listener);
  /// Returns the progress of each choice since the last call. If no choice has any, waits for at most `most`.
  std::vector<Progress> wait(std::chrono::milliseconds most);
  /// Removes the listener, and makes the batch's thread cancel the choices that still run, because no caller
  /// waits for the answer.
  void abandon();

 private:
  void changed();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> listener_;
  std::vector<Progress> fresh_;  // by choice, since the last wait()
  bool answered_ = false;        // accepted or refused
  bool has_told_ = false;        // the listener was called since the last wait() or accepted()
  std::exception_ptr refusal_;   // null: not refused
  bool abandoned_ = false;
};

}  // namespace smelt::server
