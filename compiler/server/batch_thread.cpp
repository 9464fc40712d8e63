#include "compiler/server/batch_thread.h"

#include <iterator>
#include <utility>

#include "runtime/serving/api_error.h"

namespace smelt::server {
namespace {

constexpr const char* kClosing = "the server ends";

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
    if (closed_) std::rethrow_exception(refusal());
    pending_.push_back({std::move(requests), mailbox});
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
  std::string fault;
  try {
    work();
  } catch (const std::exception& error) {
    fault = fmt::format("the service has ended: {}", error.what());
  } catch (...) {
    fault = "the service has ended, by something that is no exception of its own";
  }
  if (!fault.empty()) {
    const std::lock_guard lock(mutex_);
    closed_ = true, fault_ = fault;
  }
  end_all();
}

void BatchThread::work() {
  while (take_pending()) {
    admit_taken();
    cancel_abandoned();
    batch_.step();
    publish();  // who has an answer finds it counted
    deliver();
  }
}

/// Waits where nothing is to be done; false where the server ends.
bool BatchThread::take_pending() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || !pending_.empty() || !live_.empty() || !batch_.idle(); });
  if (!closed_) taken_.swap(pending_);
  return !closed_;
}

/// What is no Error ends the service, which refuses those that are still there.
void BatchThread::admit_taken() {
  for (; !taken_.empty(); taken_.pop_front()) {
    Submission& submission = taken_.front();
    try {
      submit_all(submission);
      submission.mailbox->accept();
    } catch (const Error&) {
      submission.mailbox->refuse(std::current_exception());
    }
  }
}

/// All of them or none.
void BatchThread::submit_all(Submission& submission) {
  for (const Request& request : submission.requests) batch_.check(request);
  batch_.require_room(submission.requests.size());
  for (size_t i = 0; i < submission.requests.size(); ++i)
    live_.emplace(batch_.submit(std::move(submission.requests[i])), Live{submission.mailbox, i});
}

void BatchThread::cancel_abandoned() {
  for (const auto& [id, live] : live_)
    if (live.mailbox->abandoned()) batch_.cancel(id);
}

void BatchThread::deliver() {
  for (auto it = live_.begin(); it != live_.end();) {
    Progress progress = batch_.poll(it->first);
    const bool ended = progress.finish != Finish::none;
    if (progress.is_news()) it->second.mailbox->deliver(it->second.choice, std::move(progress));
    it = ended ? live_.erase(it) : std::next(it);
  }
}

void BatchThread::end_all() {
  const std::lock_guard lock(mutex_);
  const std::string why = fault_.empty() ? kClosing : fault_;
  for (const auto& [id, live] : live_) live.mailbox->deliver(live.choice, {{}, "", Finish::failed, why});
  live_.clear();
  for (std::deque<Submission>* list : {&taken_, &pending_}) {
    for (const Submission& each : *list) each.mailbox->refuse(refusal());
    list->clear();
  }
}

/// A fault is not over when a client comes again.
std::exception_ptr BatchThread::refusal() const {
  return std::make_exception_ptr(fault_.empty() ? ApiError(http::kUnavailable, kClosing, "", "shutting_down")
                                                : ApiError(http::kServerError, fault_));
}

void BatchThread::publish() {
  const std::lock_guard lock(mutex_);
  counts_ = batch_.counts();
}

}  // namespace smelt::server
