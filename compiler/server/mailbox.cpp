#include "compiler/server/mailbox.h"

#include <algorithm>
#include <utility>

#include "runtime/serving/completion_reply.h"

namespace smelt::server {

void Mailbox::accept() {
  const std::lock_guard lock(mutex_);
  answered_ = true;
  changed_.notify_all();
}

void Mailbox::refuse(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  answered_ = true;
  refusal_ = std::move(error);
  changed_.notify_all();
}

void Mailbox::deliver(size_t choice, Progress progress) {
  const std::lock_guard lock(mutex_);
  append(fresh_[choice], std::move(progress));
  changed_.notify_all();
}

bool Mailbox::abandoned() const {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

void Mailbox::wait_accepted() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answered_; });
  if (refusal_) std::rethrow_exception(refusal_);
}

std::vector<Progress> Mailbox::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] {
    return std::ranges::any_of(fresh_, [](const Progress& progress) { return progress.is_news(); });
  });
  return std::exchange(fresh_, std::vector<Progress>(fresh_.size()));
}

void Mailbox::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
}

}  // namespace smelt::server
