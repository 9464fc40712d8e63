// What the thread of a link does: it sends what is queued and signs of life, and hears the hub.
#include <poll.h>

#include <exception>
#include <utility>

#include "runtime/error.h"
#include "runtime/ranks/hub.h"
#include "runtime/ranks/rank_link.h"

namespace smelt {
namespace {

constexpr int kLinkPollMilliseconds = 50;
constexpr double kLateSeconds = 1;

}  // namespace

void RankLink::run() {
  try {
    serve();
  } catch (const std::exception& fault) {
    fail(fmt::format("rank {}: the link to the hub at {} ends: {}", rank_, hub_address_, fault.what()));
  }
}

void RankLink::serve() {
  for (;;) {
    poll_once();
    send_queued();
    connection_->receive();
    while (const auto frame = connection_->next()) take_frame(*frame);
    check_hub();
    const std::lock_guard lock(mutex_);
    if (is_ending_ && (!connection_->has_unsent() || !connection_->is_open())) return;
  }
}

void RankLink::poll_once() {
  // After the connection has ended there is only the waker to wait for.
  const auto events = static_cast<short>(connection_->has_unsent() ? POLLIN | POLLOUT : POLLIN);
  pollfd polled[] = {{waker_.descriptor(), POLLIN, 0}, {connection_->descriptor(), events, 0}};
  ::poll(polled, connection_->is_open() ? 2 : 1, kLinkPollMilliseconds);
  waker_.reset();
}

void RankLink::send_queued() {
  std::vector<std::pair<FrameKind, std::string>> frames;
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    const bool is_urgent = !queued_.empty();  // what is reported with a failure or a round is the newest
    if (is_urgent || now >= heartbeat_at_) {
      heartbeat_at_ = now + seconds(kSecondsBetweenHeartbeats);
      frames.emplace_back(
          FrameKind::heartbeat,
          BodyWriter().number(counter_ ? 1 : 0).number(counter_.value_or(0)).text(report_).body());
    }
    for (auto& frame : queued_) frames.push_back(std::move(frame));
    queued_.clear();
  }
  for (const auto& [kind, body] : frames) connection_->send(kind, body);
  connection_->flush();
}

void RankLink::take_frame(const Frame& frame) {
  heard_ = Clock::now();
  if (frame.kind == FrameKind::result) return take_result(frame);
  if (frame.kind == FrameKind::failed) return fail(frame.body);
  if (frame.kind == FrameKind::refused)
    return fail(
        fmt::format("rank {}: the hub of rank 0 at {} refuses it: {}", rank_, hub_address_, frame.body));
  if (frame.kind == FrameKind::heartbeat) {
    hub_report_ = BodyReader(frame.body).text();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (frame.kind == FrameKind::start) hosts_ = decode_texts(frame.body), has_started_ = true;
  if (frame.kind == FrameKind::farewell) has_farewell_ = true;
  changed_.notify_all();
}

void RankLink::take_result(const Frame& frame) {
  BodyReader reader(frame.body);
  const bool is_good = reader.number() != 0;
  RoundResult result{is_good, reader.text()};
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  changed_.notify_all();
}

void RankLink::check_hub() {
  const auto now = Clock::now(), before = std::exchange(looked_at_, now);
  if (now - before > seconds(kLateSeconds)) heard_ = now;
  if (failure_.is_raised()) return;
  {
    const std::lock_guard lock(mutex_);
    if (has_farewell_) return;
  }
  const std::string zero = hosts_.size() > 1 ? fmt::format("rank 0 (host {})", hosts_[0]) : "rank 0";
  if (!connection_->is_open())
    fail(fmt::format("{}, whose hub joins the ranks, is lost: its connection ended ({}); {}", zero,
                     connection_->fault(), hub_report_));
  else if (now - heard_ > seconds(heartbeat_timeout_))
    fail(fmt::format("{}, whose hub joins the ranks, is lost: no sign of life for {:g} s; {}", zero,
                     heartbeat_timeout_, hub_report_));
}

void RankLink::fail(const std::string& text) {
  failure_.raise(text);
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace smelt
