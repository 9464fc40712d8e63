// The ranks that have joined the hub. HubMembers reads and answers their messages, and detects ranks that are
// lost or make no progress.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/handshake.h"
#include "runtime/ranks/rounds.h"

namespace smelt {

/// The hub fails the run if not all ranks have joined after `join` seconds, if a rank sends no message for
/// `heartbeat` seconds, or if a rank makes no progress for `progress` seconds (0: no limit).
struct HubTimeouts {
  double join = 60, heartbeat = 6, progress = 600;
};

class HubMembers {
 public:
  HubMembers(int size, HubTimeouts timeouts);

  /// Takes over the connection and returns an empty text. Refuses the rank and returns the reason in three
  /// cases: a rank of this number has joined already, the rank reports another number of ranks, or the run
  /// has failed.
  std::string admit(const Introduction& who, Connection& connection);
  /// Reads and answers the messages of all ranks. Fails the run, with a message to all ranks, if a rank is
  /// lost, makes no progress, or has left while another rank waits for it.
  void serve();
  /// Sends every rank a heartbeat, with rank 0's last report.
  void send_heartbeats();
  /// Fails the run if not all ranks have joined and the time for joining is over. The reason names the absent
  /// ranks, and includes `last_refusal` if it is not empty.
  void check_joined(const std::string& last_refusal);
  /// Extends the current timeouts of all ranks by `duration`, for which this process slept or had no
  /// processor.
  void forgive_silence(Clock::duration duration);

  /// The descriptor of an open connection, and whether there are unsent data for it.
  struct Wait {
    int descriptor;
    bool has_unsent;
  };
  /// Returns one element per open connection, for polling.
  std::vector<Wait> waits() const;
  /// Returns whether no rank has an open connection.
  bool are_all_gone() const;

 private:
  /// One rank. Its connection is empty until the rank has joined.
  struct Member {
    std::optional<Connection> connection;
    Introduction who;
    Clock::time_point heard, changed;  // times of the last message, and of the last progress
    std::optional<uint64_t> counter;   // argument of RankLink::progress; nothing: not called yet
    uint64_t calls = 0;                // number of collectives and messages that the rank has begun
    std::string report, call;          // text of RankLink::progress; name of the current collective
    bool has_left = false;
    bool is_here() const { return connection && connection->is_open(); }
  };

  std::string describe_rank(int rank) const;
  std::string last_report(const Member& member) const;
  /// Sends all ranks the names of their hosts as soon as all have joined.
  void begin_if_complete();
  /// Sends the unsent data to a rank, and reads and answers its messages.
  void hear(Member& member);
  // Process a frame of a rank: any frame, a heartbeat, the call of a round, the end of its work.
  void answer(Member& member, const Frame& frame);
  void note_progress(Member& member, std::string_view body);
  void call(Member& member, std::string_view body);
  void leave(Member& member);
  /// Sends the result of the current round to all ranks.
  void finish_round();
  // Fail the run if this rank is lost, if a rank makes no progress, or if the current round waits for a rank
  // that has left.
  void check_lost(Member& member);
  void check_progress();
  void check_left();
  /// Sends all ranks the reason why the run has failed. Only the first call has an effect.
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
