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
  void check(const Request& request) const { batch_.check(request); }

  /// Hands over all choices of one answer. Returns when each was accepted; throws what refused one, and then
  /// the others are cancelled.
  std::shared_ptr<Mailbox> submit(std::vector<Request> requests);
  ContinuousBatchCounts counts() const;
  /// Why it no longer runs; empty while it does.
  std::string fault() const;
  /// Ends what runs and waits, as failed, and refuses what comes.
  void close();

 private:
  struct Letter {
    Request request;
    std::shared_ptr<Mailbox> mailbox;
    size_t choice;
  };
  struct Live {
    std::shared_ptr<Mailbox> mailbox;
    size_t choice;
  };

  void run();
  void work();
  bool take_inbox();
  void admit(Letter letter);
  void cancel_abandoned();
  void tell();
  void end_all(const std::string& why);
  void publish();

  ContinuousBatch batch_;
  std::map<ContinuousBatch::Id, Live> live_;  // of the thread alone

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Letter> inbox_;
  bool closed_ = false;
  std::string fault_;
  ContinuousBatchCounts counts_;
  std::thread thread_;
};

}  // namespace smelt::server
