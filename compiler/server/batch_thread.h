// A continuous batch on a thread of its own, which alone runs the session. Others hand it requests and wait
// at mailboxes.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compiler/server/mailbox.h"
#include "runtime/serving/continuous_batch.h"

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

  /// Hands over all choices of one answer. Returns when they are accepted; throws what refused one, and then
  /// none of them runs. Throws ApiError where the service has ended: "shutting_down" where it was closed.
  std::shared_ptr<Mailbox> submit(std::vector<Request> requests);
  ContinuousBatchCounts counts() const;
  /// Why it no longer runs; empty while it does.
  std::string fault() const;
  /// Ends what runs and waits, as failed, and refuses what comes.
  void close();

 private:
  struct Submission {
    std::vector<Request> requests;
    std::shared_ptr<Mailbox> mailbox;
  };
  struct Live {
    std::shared_ptr<Mailbox> mailbox;
    size_t choice;
  };

  void run();
  void work();
  bool take_pending();
  void admit_taken();
  void submit_all(Submission& submission);
  void cancel_abandoned();
  void deliver();
  void end_all();
  std::exception_ptr refusal() const;
  void publish();

  ContinuousBatch batch_;
  // Of the thread alone.
  std::map<ContinuousBatch::Id, Live> live_;
  std::deque<Submission> taken_;  // not answered yet

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Submission> pending_;
  bool closed_ = false;
  std::string fault_;
  ContinuousBatchCounts counts_;
  std::thread thread_;
};

}  // namespace smelt::server
