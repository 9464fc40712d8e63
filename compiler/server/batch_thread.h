// BatchThread: a thread that owns a batch of requests and runs its steps. No other thread runs the session.
// Other threads submit requests to this one, and wait for answers at mailboxes. If the session's plan is for
// several ranks, this process is the first rank, and broadcasts its requests to the other ranks (turns.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "compiler/server/mailbox.h"
#include "compiler/server/request_times.h"
#include "compiler/server/turns.h"
#include "runtime/engine/serving/continuous_batch.h"

namespace smelt::server {

class BatchThread {
 public:
  /// Creates a ContinuousBatch. Throws what its constructor throws.
  BatchThread(Session& session, const ContinuousBatchOptions& options);
  /// Runs another batch, whose session is `session`.
  BatchThread(std::unique_ptr<RequestBatch> batch, Session& session);
  ~BatchThread();

  int64_t vocabulary() const { return batch_->vocabulary(); }
  size_t capacity() const { return batch_->capacity(); }
  size_t prompt_capacity() const { return batch_->prompt_capacity(); }
  // most_requests() and check() do the same as the functions of RequestBatch with these names.
  size_t most_requests() const { return batch_->most_requests(); }
  void check(const Request& request) const { batch_->check(request); }

  /// Submits the requests of one HTTP answer, one per choice (completion), without waiting. Later the
  /// mailbox signals either that all requests are accepted, or an error if one of them is refused; in the
  /// second case none of them runs. `asked`: the body from which other ranks make the same requests. Throws
  /// ApiError if the thread has ended, with the code "shutting_down" if close() has ended it.
  std::shared_ptr<Mailbox> hand_over(std::vector<Request> requests, AskedCompletion asked = {});
  /// Calls hand_over and waits until the requests are accepted. Throws the error if one is refused.
  std::shared_ptr<Mailbox> submit(std::vector<Request> requests, AskedCompletion asked = {});
  /// Passes new weights to the batch, without waiting: the thread calls RequestBatch::update_weights between
  /// two steps. Returns their version. Throws the Errors of check_weight_update, and ApiError if the plan is
  /// for several ranks or the thread has ended; nothing is changed then.
  uint64_t update_weights(WeightUpdate update);
  ContinuousBatchCounts counts() const;
  RequestTimes times() const;
  /// Waits until no request runs or waits, until the time `most` has passed, or until the thread ends.
  /// Returns whether no request runs or waits now.
  bool wait_idle(std::chrono::steady_clock::duration most);
  /// Returns the error that has ended the thread; empty if there was none.
  std::string fault() const;
  /// Makes the thread end, without waiting for it. Accepted requests fail; all others, and later ones, are
  /// refused.
  void close();
  /// Sets a function that is called once if an error ends the thread: by that thread, or at once if it has
  /// ended already. The function must not throw. An empty function removes the previous one.
  void on_fault(std::function<void()> listener);

 private:
  /// The arguments of one call of hand_over, with the mailbox that it returned.
  struct Submission {
    std::vector<Request> requests;
    std::shared_ptr<Mailbox> mailbox;
    AskedCompletion asked;
    RequestClock clock;  // initial clock of every request
  };
  /// Destination of the progress of a running request.
  struct Live {
    std::shared_ptr<Mailbox> mailbox;
    size_t choice;  // number of the choice in the mailbox
    RequestClock clock;
  };

  void run();
  void work();
  /// Waits for work, and moves pending_ to taken_. Returns false if the thread must end.
  bool take_pending();
  /// Broadcasts the submissions of taken_ and the cancelled requests to the other ranks.
  void tell(const std::vector<RequestBatch::Id>& cancelled, bool ends);
  std::string changed_choices();
  /// Submits the requests of taken_ to the batch, and reports to their mailboxes whether it accepts them.
  void admit_taken();
  /// Gives the batch the weights of taken_updates_. An Error here ends the service, because the weights are
  /// then undefined; all faults of the weights were found by update_weights().
  void apply_updates();
  void submit_all(Submission& submission);
  std::vector<RequestBatch::Id> abandoned() const;
  /// Passes the progress of running requests to their mailboxes.
  void deliver();
  void end_all();
  std::exception_ptr refusal() const;
  /// Sets counts_ to the batch's counts.
  void publish();

  Session& session_;
  std::unique_ptr<RequestBatch> batch_;
  std::optional<Turns> turns_;  // broadcasts to the other ranks; empty: there are none
  std::string told_choices_;    // kernel variants (Executor::choices) that were broadcast last
  // Members that only the thread uses.
  std::map<RequestBatch::Id, Live> live_;
  std::deque<Submission> taken_;             // removed from pending_, but not yet accepted or refused
  std::vector<WeightUpdate> taken_updates_;  // removed from pending_updates_, but not yet applied
  RequestTimes times_;

  mutable std::mutex mutex_;  // guards the following members, which all threads use
  std::condition_variable changed_;
  std::deque<Submission> pending_;
  std::vector<WeightUpdate> pending_updates_;
  uint64_t last_version_ = 0;  // of the weights of the last update
  bool closed_ = false;
  std::string fault_;
  std::function<void()> listener_;
  ContinuousBatchCounts counts_;
  RequestTimes published_times_;
  bool is_idle_ = true;  // no request runs, waits or is pending
  std::thread thread_;
};

}  // namespace smelt::server
