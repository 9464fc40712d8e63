#include "runtime/ranks/rank_link.h"

#include "runtime/base/error.h"
#include "runtime/ranks/hub.h"
#include "runtime/ranks/join_hub.h"
#include "runtime/ranks/link_thread.h"

namespace smelt {
namespace {

HubTimeouts timeouts_of(const Launch& launch) {
  return {launch.join_timeout, launch.heartbeat_timeout, launch.progress_timeout};
}

}  // namespace

RankLink::RankLink(const Launch& launch, Socket listener)
    : rank_(launch.rank), size_(launch.size), hosts_({host_name()}) {
  if (size_ == 1) return;
  HubPlace hub{launch.master_address, launch.master_port};
  if (rank_ == 0) {
    if (!launch.bind_address.empty()) hub.address = launch.bind_address;
    if (!listener.is_open()) listener = listen_at(hub.address, hub.port);
    hub.port = port_of(listener);
    hub_ = std::make_unique<Hub>(std::move(listener), size_, launch.secret, timeouts_of(launch));
  }
  const LinkPlace place{rank_, fmt::format("{}:{}", hub.address, hub.port), launch.heartbeat_timeout};
  thread_ = std::make_unique<LinkThread>(join_hub(hub, launch), place, failure_);
  hosts_ = thread_->wait_start();
}

RankLink::~RankLink() = default;

void RankLink::agree(std::string_view what, const Values& values) {
  if (!thread_) return;
  std::vector<std::string> texts;
  for (const auto& [name, value] : values) texts.push_back(name), texts.push_back(value);
  thread_->round(RoundKind::agree, what, encode_texts(texts));
}

std::string RankLink::broadcast(std::string_view what, std::string_view bytes) {
  if (!thread_) return std::string(bytes);
  return thread_->round(RoundKind::broadcast, what, rank_ == 0 ? bytes : "");
}

std::vector<std::string> RankLink::gather(std::string_view what, std::string_view bytes) {
  if (!thread_) return {std::string(bytes)};
  return decode_texts(thread_->round(RoundKind::gather, what, bytes));
}

void RankLink::barrier(std::string_view what) {
  if (thread_) thread_->round(RoundKind::barrier, what, "");
}

void RankLink::progress(std::string_view text, uint64_t counter) {
  if (thread_) thread_->progress(text, counter);
}

void RankLink::begin_call(const char* what, uint64_t bytes) {
  if (thread_) thread_->begin_call(what, bytes);
}

void RankLink::end_call() {
  if (thread_) thread_->end_call();
}

void RankLink::report_failure(std::string_view text) {
  if (thread_) thread_->report_failure(text);
}

void RankLink::leave() {
  if (thread_) thread_->leave();
}

}  // namespace smelt
