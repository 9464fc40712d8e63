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

#include "compiler/server/batch_service.h"
#include "compiler/server/mailbox.h"
#include "compiler/server/request_times.h"
#include "compiler/server/turns.h"
#include "runtime/engine/serving/continuous_batch.h"

namespace smelt::server {

class BatchThread : public BatchService {
 public:
  /// Creates a ContinuousBatch. Throws what its constructor throws.
  BatchThread(Session& session, const ContinuousBatchOptions& options);
  /// Runs another batch, whose session is `session`.
  BatchThread(std::unique_ptr<RequestBatch> batch, Session& session);
  ~BatchThread() override;

  int64_t vocabulary() const override { return batch_->vocabulary(); }
  size_t capacity() const override { return batch_->capacity(); }
  size_t prompt_capacity() const override { return batch_->prompt_capacity(); }
  size_t most_requests() const override { return batch_->most_requests(); }
  void check(const Request& request) const override { batch_->check(request); }

  std::shared_ptr<Mailbox> hand_over(std::vector<Request> requests, AskedCompletion asked = {}) override;
  uint64_t update_weights(WeightUpdate update) override;
  AdapterStore* adapters() override { return batch_->adapters(); }
  void write_adapter(const std::string& name, AdapterWeights weights) override;
  ContinuousBatchCounts counts() const override;
  RequestTimes times() const override;
  AdapterCounts adapter_counts() const override;
  bool wait_idle(std::chrono::steady_clock::duration most) override;
  std::string fault() const override;
  void close() override;
  void on_fault(std::function<void()> listener) override;
  /// Returns the requests that were handed over and have not ended.
  size_t open_requests() const;
  /// Returns false if close() or an error has ended the thread.
  bool is_open() const;

 private:
  /// The arguments of one call of hand_over, with the mailbox that it returned.
  struct Submission {
    std::vector<Request> requests;
    std::shared_ptr<Mailbox> mailbox;
    AskedCompletion asked;
    RequestClock clock;  // initial clock of every request
  };
  /// An adapter whose slot is to be written.
  struct NewAdapter {
    std::shared_ptr<const ServedAdapter> adapter;
    AdapterWeights weights;
  };
  /// Destination of the progress of a running request.
  struct Live {
    std::shared_ptr<Mailbox> mailbox;
    size_t choice;  // number of the choice in the mailbox
    RequestClock clock;
    std::string adapter = {};  // name of its adapter; empty: it has none
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
  void write_adapters();
  void apply_updates();
  void submit_all(Submission& submission);
  std::vector<RequestBatch::Id> abandoned() const;
  /// Counts the tokens of a request, if it has an adapter.
  void count_tokens(const Live& live, const Progress& progress);
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
  std::vector<NewAdapter> taken_adapters_;   // removed from pending_adapters_, but not yet written
  RequestTimes times_;
  AdapterCounts adapter_counts_;

  mutable std::mutex mutex_;  // guards the following members, which all threads use
  std::condition_variable changed_;
  std::deque<Submission> pending_;
  std::vector<WeightUpdate> pending_updates_;
  std::vector<NewAdapter> pending_adapters_;
  uint64_t last_version_ = 0;  // of the weights of the last update
  bool closed_ = false;
  std::string fault_;
  std::function<void()> listener_;
  ContinuousBatchCounts counts_;
  RequestTimes published_times_;
  AdapterCounts published_adapters_;
  size_t open_requests_ = 0;  // that run, wait or are pending
  std::thread thread_;
};

}  // namespace smelt::server
