#include "compiler/server/batch_thread.h"

#include <iterator>
#include <utility>

#include "runtime/error.h"

namespace smelt::server {
namespace {

constexpr const char* kClosing = "the server ends";

std::exception_ptr refusal(const std::string& why) {
  return std::make_exception_ptr(Error(why, Status::unavailable));
}

}  // namespace

BatchThread::BatchThread(Session& session, const ContinuousBatchOptions& options)
    : batch_(session, options), counts_(batch_.counts()) {
  thread_ = std::thread([this] { run(); });
}

BatchThread::~BatchThread() {
  close();
  thread_.join();
}

std::shared_ptr<Mailbox> BatchThread::submit(std::vector<Request> requests) {
  const auto mailbox = std::make_shared<Mailbox>(requests.size());
  {
    const std::lock_guard lock(mutex_);
    if (closed_) std::rethrow_exception(refusal(fault_.empty() ? kClosing : fault_));
    for (size_t i = 0; i < requests.size(); ++i) inbox_.push_back({std::move(requests[i]), mailbox, i});
    changed_.notify_all();
  }
  try {
    mailbox->wait_accepted();
  } catch (...) {
    mailbox->abandon();
    throw;
  }
  return mailbox;
}

ContinuousBatchCounts BatchThread::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string BatchThread::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void BatchThread::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

/// Nothing may leave a thread: what is no Error of the batch's own ends the service.
void BatchThread::run() {
  std::string why = kClosing;
  try {
    work();
  } catch (const std::exception& error) {
    why = error.what();
    const std::lock_guard lock(mutex_);
    closed_ = true, fault_ = why;
  }
  end_all(why);
}

void BatchThread::work() {
  while (take_inbox()) {
    cancel_abandoned();
    batch_.step();
    publish();  // who has an answer finds it counted
    tell();
  }
}

/// Waits where nothing runs; false where the server ends.
bool BatchThread::take_inbox() {
  std::deque<Letter> letters;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !inbox_.empty() || !live_.empty(); });
    if (closed_) return false;
    letters.swap(inbox_);
  }
  for (Letter& letter : letters) admit(std::move(letter));
  return true;
}

void BatchThread::admit(Letter letter) {
  try {
    const auto id = batch_.submit(std::move(letter.request));
    live_.emplace(id, Live{letter.mailbox, letter.choice});
    letter.mailbox->accept();
  } catch (const Error&) {
    letter.mailbox->refuse(std::current_exception());
  }
}

void BatchThread::cancel_abandoned() {
  for (const auto& [id, live] : live_)
    if (live.mailbox->abandoned()) batch_.cancel(id);
}

void BatchThread::tell() {
  for (auto it = live_.begin(); it != live_.end();) {
    Progress progress = batch_.poll(it->first);
    const bool ended = progress.finish != Finish::none;
    if (progress.is_news()) it->second.mailbox->tell(it->second.choice, std::move(progress));
    it = ended ? live_.erase(it) : std::next(it);
  }
}

void BatchThread::end_all(const std::string& why) {
  for (const auto& [id, live] : live_) live.mailbox->tell(live.choice, {{}, "", Finish::failed, why});
  live_.clear();
  const std::lock_guard lock(mutex_);
  for (const Letter& letter : inbox_) letter.mailbox->refuse(refusal(why));
  inbox_.clear();
}

void BatchThread::publish() {
  const std::lock_guard lock(mutex_);
  counts_ = batch_.counts();
}

}  // namespace smelt::server
