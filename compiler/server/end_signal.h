// SIGINT, SIGTERM and SIGHUP as something that a thread waits for.
#pragma once

namespace smelt::server {

/// While there is one, the first of these signals wakes wait(), and the second, which may be the other,
/// ends the process as ever. There may be one at a time.
class EndSignal {
 public:
  EndSignal();
  ~EndSignal();
  EndSignal(const EndSignal&) = delete;
  EndSignal& operator=(const EndSignal&) = delete;

  void wait() const;
  /// As a signal does.
  void wake() const;

 private:
  int read_end_ = -1;
};

}  // namespace smelt::server
