#include "runtime/ranks/hub_door.h"

#include <exception>
#include <utility>

namespace smelt {
namespace {

constexpr double kSecondsToProve = 5;

}  // namespace

HubDoor::HubDoor(std::string secret, size_t most_strangers, Admit admit)
    : secret_(std::move(secret)), most_strangers_(most_strangers), admit_(std::move(admit)) {}

/// Accepts a stranger. The oldest one makes room, so strangers that fill the place keep ranks out only until
/// their next try.
void HubDoor::accept(Socket socket) {
  if (strangers_.size() >= most_strangers_) strangers_.pop_front();
  strangers_.push_back({Connection(std::move(socket), kStrangersFrame), HubHandshake(secret_),
                        Clock::now() + seconds(kSecondsToProve)});
  Stranger& stranger = strangers_.back();
  stranger.connection.send(FrameKind::challenge, stranger.handshake.challenge());
}

std::vector<int> HubDoor::descriptors() const {
  std::vector<int> descriptors;
  for (const Stranger& stranger : strangers_) descriptors.push_back(stranger.connection.descriptor());
  return descriptors;
}

void HubDoor::serve() {
  for (size_t i = 0; i < strangers_.size();)
    if (is_done(strangers_[i]))
      strangers_.erase(strangers_.begin() + static_cast<ptrdiff_t>(i));
    else
      ++i;
}

bool HubDoor::refuse(Stranger& stranger, const std::string& why) {
  stranger.connection.send(FrameKind::refused, why);
  return true;
}

bool HubDoor::is_done(Stranger& stranger) {
  stranger.connection.receive();
  const auto frame = stranger.connection.next();
  if (!frame) return !stranger.connection.is_open() || Clock::now() > stranger.deadline;
  if (frame->kind != FrameKind::hello) return true;
  try {
    const auto who = stranger.handshake.verify(frame->body);
    if (!who) return refuse(stranger, "it knows another secret: is it a rank of another run?");
    stranger.connection.set_limit(kLargestFrame);
    stranger.connection.send(FrameKind::welcome, stranger.handshake.welcome());
    const std::string fault = admit_(*who, stranger.connection);
    if (fault.empty()) return true;
    last_refusal_ = fault;
    return refuse(stranger, fault);
  } catch (const std::exception&) {
    return true;  // what it said makes no sense
  }
}

}  // namespace smelt
