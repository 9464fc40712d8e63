// Messages from the thread of the batch to the caller that waits for an answer of one or more choices.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/engine/serving/request.h"

namespace smelt::server {

class Mailbox {
 public:
  explicit Mailbox(size_t choices) : fresh_(choices) {}

  // Members for the thread of the batch.
  void accept();
  void refuse(std::exception_ptr error);
  void deliver(size_t choice, Progress progress);
  bool abandoned() const;

  /// Waits until the choices are accepted; throws what refused them.
  void wait_accepted();
  /// Returns whether they are, without waiting; throws what refused them.
  bool accepted();
  /// Called for what is new since the last wait(), until abandon(): by the thread of the batch, or at once
  /// where something is. It must neither throw nor call the mailbox.
  void on_change(std::function<void()> listener);
  /// Returns the new progress of each choice: at once if there is any, else the progress within that time.
  std::vector<Progress> wait(std::chrono::milliseconds most);
  /// Cancels the choices that still run, because no caller waits for the answer.
  void abandon();

 private:
  void changed();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> listener_;
  std::vector<Progress> fresh_;
  bool answered_ = false;  // accepted or refused
  bool has_told_ = false;  // the listener, of what is new
  std::exception_ptr refusal_;
  bool abandoned_ = false;
};

}  // namespace smelt::server
