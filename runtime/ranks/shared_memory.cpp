#include "runtime/ranks/shared_memory.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/ranks/message.h"
#include "runtime/ranks/shared_communicator.h"

namespace smelt {
namespace {

/// A rank's proposal for its group.
struct Proposal {
  std::vector<int64_t> members;
  std::string host, name;
  uint64_t chunk_bytes = 0;
};

std::string encode(const Proposal& proposal) {
  BodyWriter writer;
  writer.number(proposal.members.size());
  for (const int64_t member : proposal.members) writer.number(static_cast<uint64_t>(member));
  return writer.text(proposal.host).text(proposal.name).number(proposal.chunk_bytes).body();
}

Proposal decode(const std::string& body) {
  BodyReader reader(body);
  Proposal proposal;
  const uint64_t count = reader.number();
  for (uint64_t i = 0; i < count; ++i) proposal.members.push_back(static_cast<int64_t>(reader.number()));
  proposal.host = reader.text();
  proposal.name = reader.text();
  proposal.chunk_bytes = reader.number();
  return proposal;
}

/// The same faults at all ranks: each looks at the groups of all.
class Groups {
 public:
  Groups(const RankLink& link, const std::vector<std::string>& bodies) : link_(link) {
    for (const std::string& body : bodies) all_.push_back(decode(body));
  }

  void check() const {
    for (size_t rank = 0; rank < all_.size(); ++rank) check_list(rank);
    for (size_t rank = 0; rank < all_.size(); ++rank)
      for (const int64_t member : all_[rank].members) check_pair(rank, static_cast<size_t>(member));
  }
  /// Returns the proposal of the first member of this rank's group.
  const Proposal& chosen() const {
    return all_[static_cast<size_t>(all_[static_cast<size_t>(link_.rank())].members.front())];
  }

 private:
  void check_list(size_t rank) const {
    const std::vector<int64_t>& members = all_[rank].members;
    const bool is_increasing = std::ranges::adjacent_find(members, std::greater_equal()) == members.end();
    if (!is_increasing || !std::ranges::binary_search(members, static_cast<int64_t>(rank)) ||
        members.front() < 0 || members.back() >= link_.size())
      fail("the group of rank {} is [{}]: expected numbers of 0 to {} in increasing order, {} among them",
           rank, fmt::join(members, ", "), link_.size() - 1, rank);
  }
  void check_pair(size_t rank, size_t member) const {
    const Proposal &a = all_[rank], &b = all_[member];
    if (a.members != b.members || a.chunk_bytes != b.chunk_bytes)
      fail("rank {} is in a group with ranks [{}] (chunks of {} bytes), and rank {} with [{}] ({})", rank,
           fmt::join(a.members, ", "), a.chunk_bytes, member, fmt::join(b.members, ", "), b.chunk_bytes);
    if (a.host != b.host)
      fail("ranks {} and {} are on different hosts, {} and {}: memory is shared within one host", rank,
           member, link_.hosts()[rank], link_.hosts()[member]);
  }

  const RankLink& link_;
  std::vector<Proposal> all_;
};

/// Every rank does its step, and all throw the fault of the first one that has one.
void together(RankLink& link, std::string_view what, const std::function<void()>& step) {
  std::string fault;
  try {
    step();
  } catch (const std::exception& error) {
    fault = fmt::format("rank {}: {}", link.rank(), error.what());
  }
  for (const std::string& text : link.gather(what, fault))
    if (!text.empty()) fail_with(Status::unavailable, "{}", text);
}

SharedRegion map_region(RankLink& link, const Proposal& group, size_t bytes) {
  SharedRegion region;
  const bool is_first = group.members.front() == link.rank();
  if (group.members.size() == 1) region = SharedRegion::of_one_process(bytes);
  const bool is_shared = group.members.size() > 1;
  together(link, "shared memory made", [&] {
    if (is_shared && is_first) region = SharedRegion::create(group.name, bytes);
  });
  together(link, "shared memory mapped", [&] {
    if (is_shared && !is_first) region = SharedRegion::open(group.name, bytes);
  });
  return region;
}

}  // namespace

std::unique_ptr<Communicator> share_memory(RankLink& link, std::span<const int64_t> members,
                                           const SharedMemoryOptions& options) {
  const Proposal own{
      {members.begin(), members.end()}, host_identity(), SharedRegion::new_name(), options.chunk_bytes};
  const Groups groups(link, link.gather("groups of ranks", encode(own)));
  groups.check();
  const Proposal& group = groups.chosen();
  const RegionLayout layout(own.members.size(), options.chunk_bytes);
  try {
    SharedRegion region = map_region(link, group, layout.bytes());
    SharedRegion::unlink(group.name);
    const auto place = std::ranges::find(own.members, link.rank()) - own.members.begin();
    return std::make_unique<SharedCommunicator>(std::move(region), layout, own.members,
                                                static_cast<size_t>(place), link);
  } catch (...) {  // its creator may be dead: every rank that knows the name removes it
    SharedRegion::unlink(group.name);
    throw;
  }
}

}  // namespace smelt
