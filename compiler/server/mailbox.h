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
  explicit Mailbox(size_t choices) : fresh_(choices), unanswered_(choices) {}

  // For the thread of the batch.
  void accept();
  void refuse(std::exception_ptr error);
  void tell(size_t choice, Progress progress);
  bool abandoned() const;

  /// Waits until all choices are accepted; throws what refused one of them.
  void wait_accepted();
  /// What is new of each choice: at once where something is, else what comes within that time.
  std::vector<Progress> wait(std::chrono::milliseconds most);
  /// Nobody waits any more: what still runs is to be cancelled.
  void abandon();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Progress> fresh_;
  size_t unanswered_;
  std::exception_ptr refusal_;
  bool abandoned_ = false;
};

}  // namespace smelt::server
