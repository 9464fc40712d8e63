#include "runtime/ranks/link_thread.h"

#include <poll.h>

#include <exception>

#include "runtime/base/error.h"
#include "runtime/ranks/hub.h"
#include "runtime/ranks/thread_without_signals.h"

namespace smelt {
namespace {

constexpr int kLinkPollMilliseconds = 50;
constexpr double kLateSeconds = 1, kSecondsToReport = 2, kSecondsToSend = 2;

}  // namespace

LinkThread::LinkThread(Connection connection, LinkPlace place, FailureFlag& failure)
    : place_(std::move(place)),
      failure_(failure),
      connection_(std::move(connection)),
      thread_(thread_without_signals([this] { run(); })) {}

LinkThread::~LinkThread() {
  {
    const std::lock_guard lock(mutex_);
    end_by_ = Clock::now() + seconds(kSecondsToSend);
  }
  waker_.wake();
  thread_.join();
}

/// The hub itself ends the wait when a rank does not come.
std::vector<std::string> LinkThread::wait_start() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_started_ || failure_.is_raised(); });
  failure_.check();
  return hosts_;
}

void LinkThread::queue(FrameKind kind, std::string body) {
  {
    const std::lock_guard lock(mutex_);
    queued_.emplace_back(kind, std::move(body));
  }
  waker_.wake();
}

std::string LinkThread::round(RoundKind kind, std::string_view what, std::string_view body) {
  const std::lock_guard one_at_a_time(round_mutex_);
  failure_.check();
  std::string call = BodyWriter().number(static_cast<uint64_t>(kind)).text(what).text(body).body();
  if (call.size() > kLargestFrame)
    smelt::fail("rank {}: {} bytes in one message ({}): at most {} go", place_.rank, body.size(), what,
                kLargestFrame);
  queue(FrameKind::call, std::move(call));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return result_ || failure_.is_raised(); });
  if (!result_) failure_.check();
  const RoundResult result = *std::exchange(result_, std::nullopt);
  if (!result.is_good) throw Error(result.text);
  return result.text;
}

void LinkThread::leave() {
  failure_.check();
  queue(FrameKind::leave, "");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_farewell_ || failure_.is_raised(); });
  if (!has_farewell_) failure_.check();
}

void LinkThread::progress(std::string_view text, uint64_t counter) {
  const std::lock_guard lock(mutex_);
  report_ = text;
  counter_ = counter;
}

void LinkThread::begin_call(const char* what, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  call_ = what, call_bytes_ = bytes;
  ++calls_;
}

void LinkThread::end_call() {
  const std::lock_guard lock(mutex_);
  call_ = nullptr;
}

/// With the mutex held.
std::string LinkThread::heartbeat() const {
  const std::string call = call_ ? fmt::format("{} of {} bytes", call_, call_bytes_) : "";
  return BodyWriter()
      .number(counter_ ? 1 : 0)
      .number(counter_.value_or(0))
      .number(calls_)
      .text(report_)
      .text(call)
      .body();
}

void LinkThread::report_failure(std::string_view text) {
  if (failure_.is_raised()) return;
  queue(FrameKind::failed, std::string(text));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, seconds(kSecondsToReport), [&] { return failure_.is_raised(); });
}

void LinkThread::run() {
  try {
    serve();
  } catch (const std::exception& fault) {
    fail(fmt::format("rank {}: the link to the hub at {} ends: {}", place_.rank, place_.hub_address,
                     fault.what()));
  }
}

void LinkThread::serve() {
  for (;;) {
    poll_once();
    send_queued();
    connection_.receive();
    while (const auto frame = connection_.next()) take_frame(*frame);
    check_hub();
    const std::lock_guard lock(mutex_);
    const bool has_sent = !connection_.has_unsent() || !connection_.is_open();
    if (end_by_ && (has_sent || Clock::now() > *end_by_)) return;
  }
}

void LinkThread::poll_once() {
  // After the connection has ended there is only the waker to wait for.
  const auto events = static_cast<short>(connection_.has_unsent() ? POLLIN | POLLOUT : POLLIN);
  pollfd polled[] = {{waker_.descriptor(), POLLIN, 0}, {connection_.descriptor(), events, 0}};
  ::poll(polled, connection_.is_open() ? 2 : 1, kLinkPollMilliseconds);
  waker_.reset();
}

void LinkThread::send_queued() {
  std::vector<std::pair<FrameKind, std::string>> frames;
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    const bool is_urgent = !queued_.empty();  // what is reported with a failure or a round is the newest
    if (is_urgent || now >= heartbeat_at_) {
      heartbeat_at_ = now + seconds(kSecondsBetweenHeartbeats);
      frames.emplace_back(FrameKind::heartbeat, heartbeat());
    }
    for (auto& frame : queued_) frames.push_back(std::move(frame));
    queued_.clear();
  }
  for (const auto& [kind, body] : frames) connection_.send(kind, body);
  connection_.flush();
}

void LinkThread::take_frame(const Frame& frame) {
  heard_ = Clock::now();
  if (frame.kind == FrameKind::result) return take_result(frame);
  if (frame.kind == FrameKind::failed) return fail(frame.body);
  if (frame.kind == FrameKind::refused)
    return fail(fmt::format("rank {}: the hub of rank 0 at {} refuses it: {}", place_.rank,
                            place_.hub_address, frame.body));
  if (frame.kind == FrameKind::heartbeat) {
    hub_report_ = BodyReader(frame.body).text();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (frame.kind == FrameKind::start) hosts_ = decode_texts(frame.body), has_started_ = true;
  if (frame.kind == FrameKind::farewell) has_farewell_ = true;
  changed_.notify_all();
}

void LinkThread::take_result(const Frame& frame) {
  BodyReader reader(frame.body);
  const bool is_good = reader.number() != 0;
  RoundResult result{is_good, reader.text()};
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  changed_.notify_all();
}

std::string LinkThread::describe_hub() {
  const std::lock_guard lock(mutex_);
  return fmt::format("{}, whose hub joins the ranks, is lost",
                     hosts_.empty() ? "rank 0" : fmt::format("rank 0 (host {})", hosts_.front()));
}

void LinkThread::check_hub() {
  const auto now = Clock::now(), before = std::exchange(looked_at_, now);
  if (now - before > seconds(kLateSeconds)) heard_ = now;  // this process slept, or had no processor
  if (failure_.is_raised() || is_over()) return;
  if (!connection_.is_open())
    fail(fmt::format("{}: its connection ended ({}); {}", describe_hub(), connection_.fault(), hub_report_));
  else if (now - heard_ > seconds(place_.heartbeat_timeout))
    fail(fmt::format("{}: no sign of life for {:g} s; {}", describe_hub(), place_.heartbeat_timeout,
                     hub_report_));
}

/// Returns whether the hub has announced that no rank needs it any more.
bool LinkThread::is_over() {
  const std::lock_guard lock(mutex_);
  return has_farewell_;
}

void LinkThread::fail(const std::string& text) {
  failure_.raise(text);
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace smelt
