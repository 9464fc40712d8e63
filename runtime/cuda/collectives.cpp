#include "runtime/cuda/collectives.h"

#include <algorithm>
#include <exception>
#include <string>

#include "runtime/error.h"
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

/// NCCL begins what `calls` give it as one. A group is the thread's: it ends with a failure, too.
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

/// The id of one group: its first rank makes it.
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
      device_(device),
      side_(device, StreamPriority::high),
      own_parts_(device, StreamPriority::high),
      exchanges_(device, StreamPriority::high) {
  connect(device, plan, ranks);
  ranks.on_failure([comms = comms_](const std::string& text) { comms->fail(text); });
}

Collectives::~Collectives() {
  ranks_.on_failure({});
  device_.try_make_current();
  const bool failing = std::uncaught_exceptions() > 0;
  if (failing) comms_->end(nccl().CommAbort);
  for (Copies& copies : copies_) unshare(copies);
  if (!failing) comms_->end(nccl().CommDestroy);
}

void Collectives::share(size_t axis, std::vector<SharedBlock> blocks) {
  Copies& copies = copies_[axis];
  unshare(copies);
  copies.ways = PeerCopies::connect(device_, ranks_.along(axis), std::move(blocks));
  if (copies.ways) copies.at_end = comms_->at_end([ways = copies.ways.get()] { ways->give_up(); });
}

/// Nothing is under way any more then.
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
  }
}

void Collectives::launch(const CollectiveLaunch& launch, Stream stream) {
  const PeerCopies* copies = copies_[launch.axis].ways.get();
  if (copies && copies->takes(launch)) return launch_copies(*copies, launch, stream);
  side_.launch(stream, launch.waited_at,
               [&](Stream own) { comms_->call([&] { run(launch, along_[launch.axis], own); }); });
}

/// What a rank has itself is copied beside what comes from others.
void Collectives::launch_copies(const PeerCopies& copies, const CollectiveLaunch& launch, Stream stream) {
  check();
  own_parts_.launch(stream, launch.waited_at, [&](Stream own) { copies.copy_own(launch, own); });
  exchanges_.launch(stream, launch.waited_at, [&](Stream own) { copies.exchange(launch, own); });
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
  for (SideStream* side : {&side_, &own_parts_, &exchanges_}) side->forget();
}

void Collectives::check() const { comms_->check(); }

}  // namespace smelt::cuda
