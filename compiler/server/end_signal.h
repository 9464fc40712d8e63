// SIGINT, SIGTERM and SIGHUP as something that a thread waits for.
#pragma once

namespace smelt::server {

/// During its lifetime, the first of these signals wakes wait(), and the second, of either kind, ends the
/// process as usual. Requires: no other one exists.
class EndSignal {
 public:
  EndSignal();
  ~EndSignal();
  EndSignal(const EndSignal&) = delete;
  EndSignal& operator=(const EndSignal&) = delete;

  void wait() const;
  /// Wakes wait() as a signal does.
  void wake() const;

 private:
  int read_end_ = -1;
};

}  // namespace smelt::server
