// A continuous batch on a thread of its own, the only one that runs the session. Other threads submit
// requests and wait at mailboxes. Where the session's plan is for several ranks, this is the first of them,
// and the others follow its decisions (turns.h).
#pragma once

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
#include "compiler/server/turns.h"
#include "runtime/engine/serving/continuous_batch.h"

namespace smelt::server {

class BatchThread {
 public:
  /// Throws what ContinuousBatch throws.
  BatchThread(Session& session, const ContinuousBatchOptions& options);
  ~BatchThread();

  int64_t vocabulary() const { return batch_.vocabulary(); }
  /// See ContinuousBatch.
  size_t most_requests() const { return batch_.most_requests(); }
  void check(const Request& request) const { batch_.check(request); }

  /// Submits all choices of one answer, and does not wait: the mailbox signals that they are accepted, or the
  /// error that refused one, and then none of them runs. Throws ApiError where the service has ended:
  /// "shutting_down" where it was closed. `asked`: the body from which other ranks make the requests.
  std::shared_ptr<Mailbox> hand_over(std::vector<Request> requests, AskedCompletion asked = {});
  /// The same; returns when they are accepted, and throws the error that refused one.
  std::shared_ptr<Mailbox> submit(std::vector<Request> requests, AskedCompletion asked = {});
  ContinuousBatchCounts counts() const;
  /// Returns the reason why it no longer runs; empty while it does.
  std::string fault() const;
  /// Ends what runs and waits, as failed, and refuses what comes.
  void close();
  /// Called once where a fault ends the service, by its thread, or at once where one has; it must not throw.
  /// An empty one takes it back.
  void on_fault(std::function<void()> listener);

 private:
  struct Submission {
    std::vector<Request> requests;
    std::shared_ptr<Mailbox> mailbox;
    AskedCompletion asked;
  };
  struct Live {
    std::shared_ptr<Mailbox> mailbox;
    size_t choice;
  };

  void run();
  void work();
  bool take_pending();
  void tell(const std::vector<ContinuousBatch::Id>& cancelled, bool ends);
  std::string changed_choices();
  void admit_taken();
  void submit_all(Submission& submission);
  std::vector<ContinuousBatch::Id> abandoned() const;
  void deliver();
  void end_all();
  std::exception_ptr refusal() const;
  void publish();

  Session& session_;
  ContinuousBatch batch_;
  std::optional<Turns> turns_;  // where there are other ranks
  std::string told_choices_;
  // Members that only the thread uses.
  std::map<ContinuousBatch::Id, Live> live_;
  std::deque<Submission> taken_;  // not answered yet

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Submission> pending_;
  bool closed_ = false;
  std::string fault_;
  std::function<void()> listener_;
  ContinuousBatchCounts counts_;
  std::thread thread_;
};

}  // namespace smelt::server
