#include "runtime/ranks/ranks.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

namespace smelt {

Ranks::Ranks(const Launch& launch, Connect connect, Socket listener)
    : link_(launch, std::move(listener)), connect_(std::move(connect)) {
  if (!connect_)
    connect_ = [](RankLink& link, std::span<const int64_t> members) { return share_memory(link, members); };
}

Communicator& Ranks::group(std::span<const int64_t> members) {
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& group) { return std::ranges::equal(group.members, members); });
  if (found != groups_.end()) return *found->communicator;
  auto communicator = connect_(link_, members);
  groups_.push_back({{members.begin(), members.end()}, std::move(communicator)});
  return *groups_.back().communicator;
}

Communicator& Ranks::all() {
  std::vector<int64_t> members(static_cast<size_t>(size()));
  std::iota(members.begin(), members.end(), 0);
  return group(members);
}

void Ranks::run(const std::function<void()>& work) {
  try {
    work();
    link_.leave();
  } catch (const std::exception& error) {
    link_.failure().check();  // what followed from another rank's failure says less than that does
    link_.report_failure(error.what());
    throw;
  }
}

}  // namespace smelt
