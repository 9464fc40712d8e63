// The ranks that have joined the hub: their messages, the replies, and their liveness.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/handshake.h"
#include "runtime/ranks/rounds.h"

namespace smelt {

struct HubTimeouts {
  double join = 60, heartbeat = 6, progress = 600;  // seconds, as Launch has them
};

class HubMembers {
 public:
  HubMembers(int size, HubTimeouts timeouts);

  /// Takes over the connection. If the rank has joined already or has another number of ranks, returns the
  /// reason, naming both.
  std::string admit(const Introduction& who, Connection& connection);
  /// Hears all ranks, answers them, and looks for those that are lost.
  void serve();
  /// Sends every rank a heartbeat, with rank 0's last report.
  void send_heartbeats();
  /// Fails the run with the reason if it has not begun when its time to join is over.
  void check_joined(const std::string& last_refusal);
  /// This process slept or had no processor for so long: silence in that time means nothing.
  void forgive_silence(Clock::duration duration);

  struct Wait {
    int descriptor;
    bool has_unsent;
  };
  std::vector<Wait> waits() const;
  bool are_all_gone() const;

 private:
  struct Member {
    std::optional<Connection> connection;
    Introduction who;
    Clock::time_point heard, changed;  // changed: when its counter last did
    std::optional<uint64_t> counter;   // none: it has reported nothing
    uint64_t calls = 0;                // collectives that it has begun
    std::string report, call;          // call: the collective that it is in
    bool has_left = false;
    bool is_here() const { return connection && connection->is_open(); }
  };

  std::string describe_rank(int rank) const;
  std::string last_report(const Member& member) const;
  void begin_if_complete();
  void hear(Member& member);
  void answer(Member& member, const Frame& frame);
  void note_progress(Member& member, std::string_view body);
  void call(Member& member, std::string_view body);
  void leave(Member& member);
  void finish_round();
  void check_lost(Member& member);
  void check_progress();
  void check_left();
  void fail_run(const std::string& text);
  void send_all(FrameKind kind, const std::string& body);

  HubTimeouts timeouts_;
  std::vector<Member> members_;
  Rounds rounds_;
  Clock::time_point begun_at_ = Clock::now();
  bool has_begun_ = false;
  std::string failure_;
};

}  // namespace smelt
