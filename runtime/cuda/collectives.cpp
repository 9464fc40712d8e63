#include "runtime/cuda/collectives.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

#include "runtime/error.h"

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
  std::vector<NcclId> all(static_cast<size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all.front();
}

}  // namespace

CollectiveLaunch CollectiveLaunch::row(int64_t number) const {
  CollectiveLaunch one = *this;
  one.rows = 1;
  one.from += static_cast<DevicePointer>(number * from_stride * size_of(dtype));
  one.to += static_cast<DevicePointer>(number * to_stride * size_of(dtype));
  return one;
}

Collectives::Collectives(const Device& device, const Plan& plan, RankGroups& ranks)
    : ranks_(ranks),
      comms_(std::make_shared<NcclComms>()),
      device_(device),
      side_(device, StreamPriority::high) {
  connect(device, plan, ranks);
  ranks.on_failure([comms = comms_](const std::string& text) { comms->fail(text); });
}

Collectives::~Collectives() {
  ranks_.on_failure({});
  device_.try_make_current();
  comms_->end(std::uncaught_exceptions() > 0 ? nccl().CommAbort : nccl().CommDestroy);
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
  side_.launch(stream, launch.waited_at,
               [&](Stream own) { comms_->call([&] { run(launch, along_[launch.axis], own); }); });
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

void Collectives::join(size_t step, Stream stream) { side_.join(step, stream); }

void Collectives::join_all(Stream stream) { side_.join_all(stream); }

void Collectives::check() const { comms_->check(); }

}  // namespace smelt::cuda
