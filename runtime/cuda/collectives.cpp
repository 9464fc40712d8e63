#include "runtime/cuda/collectives.h"

#include <algorithm>
#include <exception>
#include <string>

#include "runtime/base/error.h"
#include "runtime/ranks/gathered.h"

namespace smelt::cuda {
namespace {

void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

bool works_along(const Plan& plan, const MeshAxis& axis) {
  return axis.size > 1 && std::ranges::any_of(plan.entries, [&](const PlanEntry& entry) {
           return std::ranges::any_of(entry.steps, [&](const Step& step) {
             const auto* collective = std::get_if<CollectiveStep>(&step.what);
             return collective && collective->axis == axis.name;
           });
         });
}

/// Runs `calls` as one NCCL group. A group belongs to the thread, so it is ended after a failure, too.
template <typename Calls>
void as_group(const std::string& what, const Calls& calls) {
  check_nccl(nccl().GroupStart(), what);
  try {
    calls();
  } catch (...) {
    nccl().GroupEnd();
    throw;
  }
  check_nccl(nccl().GroupEnd(), what);
}

/// Returns the id of one group: its first rank makes it.
NcclId shared_id(Communicator& group) {
  NcclId own;
  if (group.rank() == 0) own = new_nccl_id();
  return gathered(group, own).front();
}

}  // namespace

Collectives::Collectives(const Device& device, const Plan& plan, RankGroups& ranks)
    : ranks_(ranks),
      comms_(std::make_shared<NcclComms>()),
      copies_(plan.mesh.axes.size()),
      sums_(plan.mesh.axes.size()),
      device_(device),
      side_(device, StreamPriority::high),
      own_parts_(device, StreamPriority::high),
      exchanges_(device, StreamPriority::high),
      made_(make_event(device)) {
  connect(device, plan, ranks);
  ranks.on_failure([comms = comms_](const std::string& text) { comms->fail(text); });
}

Collectives::~Collectives() {
  ranks_.on_failure({});
  device_.try_make_current();
  const bool failing = std::uncaught_exceptions() > 0;
  if (failing) comms_->end(nccl().CommAbort);
  for (Copies& copies : copies_) unshare(copies);
  for (const Sums& sums : sums_)
    if (sums.ways) comms_->forget(sums.at_end);
  if (!failing) comms_->end(nccl().CommDestroy);
}

void Collectives::share(size_t axis, std::vector<SharedBlock> blocks) {
  Copies& copies = copies_[axis];
  unshare(copies);
  copies.ways = PeerCopies::connect(device_, ranks_.along(axis), std::move(blocks));
  if (copies.ways) copies.at_end = comms_->at_end([ways = copies.ways.get()] { ways->give_up(); });
}

/// Ends the copies of an axis; none is in progress afterwards.
void Collectives::unshare(Copies& copies) {
  if (!copies.ways) return;
  comms_->forget(copies.at_end);
  own_parts_.finish();
  exchanges_.finish();
  copies.ways.reset();
}

void Collectives::connect(const Device& device, const Plan& plan, RankGroups& ranks) {
  along_.resize(plan.mesh.axes.size());
  for (size_t axis = 0; axis < plan.mesh.axes.size(); ++axis) {
    if (!works_along(plan, plan.mesh.axes[axis])) continue;
    Communicator& group = ranks.along(axis);
    along_[axis] = comms_->connect(device, group.size(), group.rank(), shared_id(group),
                                   "along the axis " + plan.mesh.axes[axis].name);
    connect_sums(axis, group);
  }
}

void Collectives::connect_sums(size_t axis, Communicator& group) {
  Sums& sums = sums_[axis];
  sums.ways = PeerSums::connect(device_, group);
  if (sums.ways) sums.at_end = comms_->at_end([ways = sums.ways.get()] { ways->give_up(); });
}

void Collectives::launch(const CollectiveLaunch& launch, Stream stream) {
  const PeerCopies* copies = copies_[launch.axis].ways.get();
  if (copies && copies->takes(launch)) return launch_copies(*copies, launch, stream);
  if (const PeerSums* sums = sums_[launch.axis].ways.get(); sums && sums->takes(launch))
    return check(), sums->run(launch, stream);
  const auto run_on = [&](Stream on) { comms_->call([&] { run(launch, along_[launch.axis], on); }); };
  if (launch.waited_at_once && side_.is_idle()) return run_on(stream);
  side_.launch(stream, launch.waited_at, run_on);
}

/// Copies the rank's own part concurrently with the parts from others.
void Collectives::launch_copies(const PeerCopies& copies, const CollectiveLaunch& launch, Stream stream) {
  check();
  launch_own(copies, launch, launch.waited_at + (launch.read_in_parts ? 1 : 0), stream);
  if (!launch.read_in_parts)
    return exchanges_.launch(stream, launch.waited_at, [&](Stream own) { copies.exchange(launch, own); });
  arriving_.insert(launch.waited_at);
  exchanges_.launch(stream, launch.waited_at + 1, [&](Stream own) {
    const auto note = [&](int64_t from) {
      cuda::check(driver().EventRecord(arrival(launch.waited_at, from), own), "noting a part of a rank");
    };
    copies.exchange_in_parts(launch, {.before_copy = {}, .has_arrived = note}, own);
  });
}

Event Collectives::arrival(size_t step, int64_t rank) {
  std::vector<EventOwner>& events = arrivals_[step];
  while (std::ssize(events) <= rank) events.push_back(make_event(device_));
  return events[static_cast<size_t>(rank)].get();
}

Collectives::Parts Collectives::parts(const CollectiveLaunch& launch) const {
  const PeerCopies* copies = copies_[launch.axis].ways.get();
  return copies && copies->takes(launch) ? Parts{copies->parts(), copies->sent().back()} : Parts{};
}

void Collectives::launch_own(const PeerCopies& copies, const CollectiveLaunch& launch, size_t waited_at,
                             Stream stream) {
  if (!launch.own_part_is_there)
    own_parts_.launch(stream, waited_at, [&](Stream own) { copies.copy_own(launch, own); });
}

void Collectives::launch_made_in_parts(const CollectiveLaunch& launch, Stream stream,
                                       const std::function<void(int64_t rank)>& make) {
  check();
  const PeerCopies& copies = *copies_[launch.axis].ways;
  exchanges_.launch(stream, launch.waited_at, [&](Stream own) {
    const auto make_first = [&](int64_t to) {
      make(to);
      cuda::check(driver().EventRecord(made_.get(), stream), "sending a part that is made");
      cuda::check(driver().StreamWaitEvent(own, made_.get(), 0), "sending a part that is made");
    };
    copies.exchange_in_parts(launch, {.before_copy = make_first, .has_arrived = {}}, own);
  });
  make(copies.sent().back());
  launch_own(copies, launch, launch.waited_at, stream);
}

void Collectives::read_in_parts(const CollectiveLaunch& launch, Stream stream,
                                const std::function<void(int64_t rank)>& read) {
  const bool under_way = arriving_.erase(launch.waited_at) > 0;
  const std::vector<int64_t> order = copies_[launch.axis].ways->arriving();
  for (const int64_t rank : order) {
    if (under_way && rank != order.front())
      cuda::check(driver().StreamWaitEvent(stream, arrival(launch.waited_at, rank), 0),
                  "waiting for a part of a rank");
    read(rank);
  }
}

void Collectives::run(const CollectiveLaunch& l, NcclComm comm, Stream stream) const {
  if (l.rows == 1) return run_row(l, comm, stream);
  as_group(fmt::format("{} rows of {} of {} bytes", l.rows, name(l.kind), l.part_bytes()), [&] {
    for (int64_t row = 0; row < l.rows; ++row) run_row(l.row(row), comm, stream);
  });
}

void Collectives::run_row(const CollectiveLaunch& l, NcclComm comm, Stream stream) const {
  const Nccl& n = nccl();
  const auto count = static_cast<size_t>(l.elements), bytes = static_cast<size_t>(l.part_bytes());
  const int sum = l.sum == CollectiveSum::add ? kNcclAdd : kNcclMax;
  const std::string what = fmt::format("{} of {} bytes", name(l.kind), bytes);
  switch (l.kind) {
    case CollectiveKind::all_reduce:
      return check_nccl(
          n.AllReduce(pointer(l.from), pointer(l.to), count, nccl_type(l.dtype), sum, comm, stream), what);
    case CollectiveKind::reduce_scatter:
      return check_nccl(
          n.ReduceScatter(pointer(l.from), pointer(l.to), count, nccl_type(l.dtype), sum, comm, stream),
          what);
    case CollectiveKind::all_gather:
      return check_nccl(n.AllGather(pointer(l.from), pointer(l.to), bytes, kNcclBytes, comm, stream), what);
    case CollectiveKind::all_to_all:
      return as_group(what, [&] {
        for (int peer = 0; peer < static_cast<int>(l.ranks); ++peer) {
          const auto place = static_cast<DevicePointer>(peer) * bytes;
          check_nccl(n.Send(pointer(l.from + place), bytes, kNcclBytes, peer, comm, stream), what);
          check_nccl(n.Recv(pointer(l.to + place), bytes, kNcclBytes, peer, comm, stream), what);
        }
      });
  }
}

void Collectives::join(size_t step, Stream stream) {
  for (SideStream* side : {&side_, &own_parts_, &exchanges_}) side->join(step, stream);
}

void Collectives::join_all(Stream stream) {
  for (SideStream* side : {&side_, &own_parts_, &exchanges_}) side->join_all(stream);
}

void Collectives::forget() {
  arriving_.clear();
  for (SideStream* side : {&side_, &own_parts_, &exchanges_}) side->forget();
}

void Collectives::check() const { comms_->check(); }

}  // namespace smelt::cuda
