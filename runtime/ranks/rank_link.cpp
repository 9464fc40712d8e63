#include "runtime/ranks/rank_link.h"

#include "runtime/error.h"
#include "runtime/ranks/hub.h"
#include "runtime/ranks/join_hub.h"
#include "runtime/ranks/quiet_thread.h"

namespace smelt {
namespace {

constexpr double kSecondsToReport = 2;

HubTimeouts timeouts_of(const Launch& launch) {
  return {launch.join_timeout, launch.heartbeat_timeout, launch.progress_timeout};
}

}  // namespace

RankLink::RankLink(const Launch& launch, Socket listener)
    : rank_(launch.rank), size_(launch.size), heartbeat_timeout_(launch.heartbeat_timeout) {
  hosts_ = {host_name()};
  if (size_ > 1) start(launch, std::move(listener));
}

void RankLink::start(const Launch& launch, Socket listener) {
  HubPlace hub{launch.master_address, launch.master_port};
  if (rank_ == 0) {
    if (!launch.bind_address.empty()) hub.address = launch.bind_address;
    if (!listener.is_open()) listener = listen_at(hub.address, hub.port);
    hub.port = port_of(listener);
    hub_ = std::make_unique<Hub>(std::move(listener), size_, launch.secret, timeouts_of(launch));
  }
  hub_address_ = fmt::format("{}:{}", hub.address, hub.port);
  connection_ = join_hub(hub, launch);
  heard_ = looked_at_ = Clock::now();
  thread_ = quiet_thread([this] { run(); });
  try {
    wait_start();
  } catch (...) {
    end_thread();  // no destructor follows a constructor that throws
    throw;
  }
}

void RankLink::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  waker_.wake();
  thread_.join();
}

/// The hub itself ends the wait when a rank does not come.
void RankLink::wait_start() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_started_ || failure_.is_raised(); });
  failure_.check();
}

RankLink::~RankLink() {
  if (thread_.joinable()) end_thread();
  connection_.reset();  // before the hub, which waits for it
}

void RankLink::queue(FrameKind kind, std::string body) {
  {
    const std::lock_guard lock(mutex_);
    queued_.emplace_back(kind, std::move(body));
  }
  waker_.wake();
}

std::string RankLink::round(RoundKind kind, std::string_view what, std::string body) {
  const std::lock_guard one_at_a_time(round_mutex_);
  failure_.check();
  std::string call = BodyWriter().number(static_cast<uint64_t>(kind)).text(what).text(body).body();
  if (call.size() > kLargestFrame)
    smelt::fail("rank {}: {} bytes in one message ({}): at most {} go", rank_, body.size(), what,
                kLargestFrame);
  queue(FrameKind::call, std::move(call));
  std::unique_lock lock(mutex_);
  return wait_result(lock);
}

std::string RankLink::wait_result(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return result_ || failure_.is_raised(); });
  if (!result_) failure_.check();
  const RoundResult result = std::move(*result_);
  result_.reset();
  if (!result.is_good) throw Error(result.text);
  return result.text;
}

void RankLink::agree(std::string_view what, const Values& values) {
  if (size_ == 1) return;
  std::vector<std::string> texts;
  for (const auto& [name, value] : values) texts.push_back(name), texts.push_back(value);
  round(RoundKind::agree, what, encode_texts(texts));
}

std::string RankLink::broadcast(std::string_view what, std::string_view bytes) {
  if (size_ == 1) return std::string(bytes);
  return round(RoundKind::broadcast, what, rank_ == 0 ? std::string(bytes) : "");
}

std::vector<std::string> RankLink::gather(std::string_view what, std::string_view bytes) {
  if (size_ == 1) return {std::string(bytes)};
  return decode_texts(round(RoundKind::gather, what, std::string(bytes)));
}

void RankLink::barrier(std::string_view what) {
  if (size_ > 1) round(RoundKind::barrier, what, "");
}

void RankLink::progress(std::string_view text, uint64_t counter) {
  const std::lock_guard lock(mutex_);
  report_ = text;
  counter_ = counter;
}

void RankLink::report_failure(std::string_view text) {
  if (size_ == 1 || failure_.is_raised()) return;
  queue(FrameKind::failed, std::string(text));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, seconds(kSecondsToReport), [&] { return failure_.is_raised(); });
}

void RankLink::leave() {
  if (size_ == 1) return;
  failure_.check();
  queue(FrameKind::leave, "");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_farewell_ || failure_.is_raised(); });
  if (!has_farewell_) failure_.check();
}

}  // namespace smelt
