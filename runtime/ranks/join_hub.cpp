#include "runtime/ranks/join_hub.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr double kSecondsOfHandshake = 6, kSecondsBetweenTries = 0.05;

/// The next frame, or none if the connection ends or the time is over.
std::optional<Frame> wait_frame(Connection& connection, Clock::time_point deadline) {
  for (;;) {
    if (auto frame = connection.next()) return frame;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (!connection.is_open() || left <= 0) return std::nullopt;
    pollfd wait = {connection.descriptor(), POLLIN, 0};
    ::poll(&wait, 1, static_cast<int>(left));
    connection.receive();
  }
}

class Joining {
 public:
  Joining(const HubPlace& hub, const Launch& launch)
      : hub_(hub), launch_(launch), deadline_(Clock::now() + seconds(launch.join_timeout)) {}

  Connection join() {
    for (;;) {
      if (auto connection = attempt()) return std::move(*connection);
      if (Clock::now() + seconds(kSecondsBetweenTries) > deadline_) fail_unanswered();
      std::this_thread::sleep_for(seconds(kSecondsBetweenTries));
    }
  }

 private:
  [[noreturn]] void fail_unanswered() const {
    fail_with(Status::unavailable,
              "rank {}: the hub of rank 0 does not answer at {}:{} within {:g} s ({}); check that rank 0 has "
              "started on that host, that all ranks have the same MASTER_ADDR and MASTER_PORT, and that no "
              "firewall is between them",
              launch_.rank, hub_.address, hub_.port, launch_.join_timeout, fault_);
  }

  [[noreturn]] void fail_stranger(std::string_view what) const {
    fail_with(
        Status::unavailable,
        "rank {}: what listens at {}:{} is not this run's hub: {}; set MASTER_PORT at all ranks to a port "
        "that is free on rank 0's host",
        launch_.rank, hub_.address, hub_.port, what);
  }

  /// None if it is worth trying again.
  std::optional<Connection> attempt() {
    const auto until = std::min(deadline_, Clock::now() + seconds(kSecondsOfHandshake));
    ConnectResult result = connect_to(hub_.address, hub_.port, until);
    if (!result.socket.is_open()) {
      fault_ = result.fault;
      return std::nullopt;
    }
    Connection connection(std::move(result.socket), kStrangersFrame);
    if (!shake_hands(connection, until)) return std::nullopt;
    connection.set_limit(kLargestFrame);
    return connection;
  }

  bool shake_hands(Connection& connection, Clock::time_point until) {
    RankHandshake handshake(launch_.secret,
                            {launch_.rank, launch_.size, static_cast<int>(::getpid()), host_name()});
    const auto challenge = expect(connection, FrameKind::challenge, until);
    if (!challenge) return false;
    connection.send(FrameKind::hello, answer(handshake, *challenge));
    const auto welcome = expect(connection, FrameKind::welcome, until);
    if (welcome && !handshake.verify(*welcome)) fail_stranger("it does not know the run's secret");
    return welcome.has_value();
  }

  std::string answer(RankHandshake& handshake, const std::string& challenge) const {
    try {
      return handshake.hello(challenge);
    } catch (const Error& error) {
      fail_stranger(error.what());
    }
  }

  std::optional<std::string> expect(Connection& connection, FrameKind kind, Clock::time_point until) {
    auto frame = wait_frame(connection, until);
    if (frame && frame->kind == FrameKind::refused)
      fail_with(Status::unavailable, "rank {}: the hub of rank 0 at {}:{} refuses it: {}", launch_.rank,
                hub_.address, hub_.port, frame->body);
    if (frame && frame->kind == kind) return std::move(frame->body);
    if (frame) fail_stranger("it says something else than a hub");
    if (connection.fault().starts_with("what came")) fail_stranger(connection.fault());
    fault_ = connection.is_open() ? "it accepts connections and says nothing" : connection.fault();
    return std::nullopt;
  }

  const HubPlace& hub_;
  const Launch& launch_;
  Clock::time_point deadline_;
  std::string fault_ = "no time to try";
};

}  // namespace

Connection join_hub(const HubPlace& hub, const Launch& launch) { return Joining(hub, launch).join(); }

}  // namespace smelt
