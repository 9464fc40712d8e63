// What the thread of the batch tells whoever waits for an answer of one or more choices.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "runtime/serving/request.h"

namespace smelt::server {

class Mailbox {
 public:
  explicit Mailbox(size_t choices) : fresh_(choices) {}

  // For the thread of the batch.
  void accept();
  void refuse(std::exception_ptr error);
  void deliver(size_t choice, Progress progress);
  bool abandoned() const;

  /// Waits until the choices are accepted; throws what refused them.
  void wait_accepted();
  /// What is new of each choice: at once where something is, else what comes within that time.
  std::vector<Progress> wait(std::chrono::milliseconds most);
  /// Nobody waits any more: what still runs is to be cancelled.
  void abandon();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Progress> fresh_;
  bool answered_ = false;  // accepted or refused
  std::exception_ptr refusal_;
  bool abandoned_ = false;
};

}  // namespace smelt::server
