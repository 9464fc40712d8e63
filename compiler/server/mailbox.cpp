#include "compiler/server/mailbox.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/serving/completion_reply.h"

namespace smelt::server {

void Mailbox::accept() {
  const std::lock_guard lock(mutex_);
  answered_ = true;
  changed();
}

void Mailbox::refuse(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  answered_ = true;
  refusal_ = std::move(error);
  changed();
}

void Mailbox::deliver(size_t choice, Progress progress) {
  const std::lock_guard lock(mutex_);
  append(fresh_[choice], std::move(progress));
  changed();
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

bool Mailbox::accepted() {
  const std::lock_guard lock(mutex_);
  has_told_ = false;
  if (refusal_) std::rethrow_exception(refusal_);
  return answered_;
}

void Mailbox::on_change(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (listener_) listener_();
}

void Mailbox::changed() {
  changed_.notify_all();
  if (listener_ && !std::exchange(has_told_, true)) listener_();
}

std::vector<Progress> Mailbox::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] {
    return std::ranges::any_of(fresh_, [](const Progress& progress) { return progress.is_news(); });
  });
  has_told_ = false;
  return std::exchange(fresh_, std::vector<Progress>(fresh_.size()));
}

void Mailbox::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  listener_ = {};
}

}  // namespace smelt::server
