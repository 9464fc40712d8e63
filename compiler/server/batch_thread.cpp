#include "compiler/server/batch_thread.h"

#include <bit>
#include <chrono>
#include <iterator>
#include <utility>

#include "runtime/engine/serving/api_error.h"

namespace smelt::server {
namespace {

constexpr const char* kClosing = "the server ends";
/// The interval of messages to other ranks while there is no work, which show that the first rank is alive.
constexpr std::chrono::seconds kQuiet{1};

}  // namespace

BatchThread::BatchThread(Session& session, const ContinuousBatchOptions& options)
    : BatchThread(std::make_unique<ContinuousBatch>(session, options), session) {}

BatchThread::BatchThread(std::unique_ptr<RequestBatch> batch, Session& session)
    : session_(session), batch_(std::move(batch)), counts_(batch_->counts()) {
  if (session.ranks()) turns_.emplace(*session.ranks());
  thread_ = std::thread([this] { run(); });
}

BatchThread::~BatchThread() {
  close();
  thread_.join();
}

std::shared_ptr<Mailbox> BatchThread::hand_over(std::vector<Request> requests, AskedCompletion asked) {
  const auto mailbox = std::make_shared<Mailbox>(requests.size());
  const std::lock_guard lock(mutex_);
  if (closed_) std::rethrow_exception(refusal());
  open_requests_ += requests.size();
  pending_.push_back({std::move(requests), mailbox, std::move(asked), {}});
  changed_.notify_all();
  return mailbox;
}

uint64_t BatchThread::update_weights(WeightUpdate update) {
  if (turns_)
    throw ApiError(http::kNotImplemented,
                   "new weights: a server of several ranks takes none; start it again");
  check_weight_update(session_, update);
  const std::lock_guard lock(mutex_);
  if (closed_) std::rethrow_exception(refusal());
  update.version = last_version_ = update.version.value_or(last_version_ + 1);
  pending_updates_.push_back(std::move(update));
  changed_.notify_all();
  return last_version_;
}

void BatchThread::write_adapter(const std::string& name, AdapterWeights weights) {
  const std::lock_guard lock(mutex_);
  if (closed_) std::rethrow_exception(refusal());
  pending_adapters_.push_back({adapters()->add(name), std::move(weights)});
  changed_.notify_all();
}

ContinuousBatchCounts BatchThread::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

RequestTimes BatchThread::times() const {
  const std::lock_guard lock(mutex_);
  return published_times_;
}

AdapterCounts BatchThread::adapter_counts() const {
  const std::lock_guard lock(mutex_);
  return published_adapters_;
}

bool BatchThread::wait_idle(std::chrono::steady_clock::duration most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return open_requests_ == 0 || closed_; });
  return open_requests_ == 0;
}

size_t BatchThread::open_requests() const {
  const std::lock_guard lock(mutex_);
  return open_requests_;
}

bool BatchThread::is_open() const {
  const std::lock_guard lock(mutex_);
  return !closed_;
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

/// Runs the thread. No exception may leave it: one that is no Error of the batch ends the service.
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
    if (listener_) listener_();
  }
  end_all();
}

void BatchThread::on_fault(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (listener_ && !fault_.empty()) listener_();
}

void BatchThread::work() {
  while (take_pending()) {
    const std::vector<RequestBatch::Id> cancelled = abandoned();
    tell(cancelled, false);
    apply_updates();
    write_adapters();
    admit_taken();
    for (const RequestBatch::Id id : cancelled) batch_->cancel(id);
    if (batch_->step()) times_.add_step(live_.size() - batch_->counts().waiting);
    deliver();
  }
  tell({}, true);
}

/// Waits where nothing is to be done; false where the server ends.
bool BatchThread::take_pending() {
  std::unique_lock lock(mutex_);
  const auto is_due = [&] {
    return closed_ || !pending_.empty() || !pending_updates_.empty() || !pending_adapters_.empty() ||
           !live_.empty() || !batch_->idle();
  };
  if (turns_)
    changed_.wait_for(lock, kQuiet, is_due);
  else
    changed_.wait(lock, is_due);
  if (!closed_) {
    taken_.swap(pending_), taken_updates_.swap(pending_updates_);
    taken_adapters_.swap(pending_adapters_);
  }
  return !closed_;
}

/// Before the batch changes here.
void BatchThread::tell(const std::vector<RequestBatch::Id>& cancelled, bool ends) {
  if (!turns_) return;
  Turn turn{.asked = {}, .cancelled = cancelled, .choices = changed_choices(), .ends = ends};
  for (const Submission& each : taken_) turn.asked.push_back(each.asked);
  turns_->tell(turn, batch_->counts());
}

/// Returns the session's choices if they have changed, else an empty text. A session makes its choices in its
/// first runs, so this looks at them only after 1, 2, 4, ... steps.
std::string BatchThread::changed_choices() {
  const uint64_t steps = batch_->counts().steps;
  if (steps == 0 || !std::has_single_bit(steps)) return {};
  std::string choices = session_.executor().choices();
  if (choices == told_choices_) return {};
  return told_choices_ = std::move(choices);
}

/// Admits the submissions. An exception that is no Error ends the service, which refuses the remaining ones.
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

void BatchThread::apply_updates() {
  for (WeightUpdate& update : taken_updates_) batch_->update_weights(std::move(update));
  taken_updates_.clear();
}

void BatchThread::write_adapters() {
  for (const NewAdapter& each : taken_adapters_) batch_->write_adapter(*each.adapter, each.weights);
  taken_adapters_.clear();
}

void BatchThread::submit_all(Submission& submission) {
  std::vector<std::string> adapters;
  for (const Request& each : submission.requests) adapters.push_back(each.adapter ? each.adapter->name : "");
  size_t choice = 0;
  for (const RequestBatch::Id id : submit_together(*batch_, std::move(submission.requests))) {
    const std::string& adapter = adapters[choice];
    if (!adapter.empty()) adapter_counts_.add_request(adapter);
    live_.emplace(id, Live{submission.mailbox, choice++, submission.clock, adapter});
  }
}

/// Those of a beam search are the tokens of its results.
void BatchThread::count_tokens(const Live& live, const Progress& progress) {
  if (live.adapter.empty()) return;
  size_t tokens = progress.tokens.size();
  for (const Progress& beam : progress.beams) tokens += beam.tokens.size();
  adapter_counts_.add_tokens(live.adapter, tokens);
}

std::vector<RequestBatch::Id> BatchThread::abandoned() const {
  std::vector<RequestBatch::Id> ids;
  for (const auto& [id, live] : live_)
    if (live.mailbox->abandoned()) ids.push_back(id);
  return ids;
}

/// Publishes the counts first, so that they include the answers that clients have.
void BatchThread::deliver() {
  std::vector<std::pair<Live, Progress>> news;
  const auto now = RequestClock::Clock::now();
  for (auto it = live_.begin(); it != live_.end();) {
    Progress progress = batch_->poll(it->first);
    const bool ended = progress.finish != Finish::none;
    times_.add(progress, it->second.clock, now);
    count_tokens(it->second, progress);
    if (progress.is_news()) news.emplace_back(it->second, std::move(progress));
    it = ended ? live_.erase(it) : std::next(it);
  }
  publish();
  for (auto& [live, progress] : news) live.mailbox->deliver(live.choice, std::move(progress));
}

void BatchThread::end_all() {
  const std::lock_guard lock(mutex_);
  const std::string why = fault_.empty() ? kClosing : fault_;
  Progress failed;
  failed.finish = Finish::failed, failed.error = why;
  for (const auto& [id, live] : live_) live.mailbox->deliver(live.choice, failed);
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
  counts_ = batch_->counts();
  published_times_ = times_, published_adapters_ = adapter_counts_;
  open_requests_ = live_.size();
  for (const Submission& each : pending_) open_requests_ += each.requests.size();
  if (open_requests_ == 0) changed_.notify_all();
}

}  // namespace smelt::server
