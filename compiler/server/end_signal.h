// Waiting for SIGINT, SIGTERM or SIGHUP in a thread, in order to end the server.
#pragma once

namespace smelt::server {

/// Signal handlers, which are installed during the object's lifetime. The first SIGINT, SIGTERM or SIGHUP
/// makes wait() return. The second signal of any of these kinds has its default effect: it ends the process.
/// SIGHUP stays ignored if it was ignored before, as under nohup. Requires: no other EndSignal exists.
class EndSignal {
 public:
  EndSignal();
  ~EndSignal();
  EndSignal(const EndSignal&) = delete;
  EndSignal& operator=(const EndSignal&) = delete;

  /// Blocks until a signal has arrived or wake() was called.
  void wait() const;
  /// Makes wait() return as a signal does.
  void wake() const;

 private:
  int read_end_ = -1;
};

}  // namespace smelt::server
