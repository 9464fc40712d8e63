#include "runtime/cuda/collective_clock.h"

#include <algorithm>

#include "runtime/cuda/capture.h"
#include "runtime/cuda/collectives.h"

namespace smelt::cuda {
namespace {

/// The most collectives in one graph, because a launch of a graph takes as long as a small collective.
constexpr int64_t kMostInAGraph = 8;
constexpr int64_t kBytesOfAGraph = 64 << 20;

/// Returns a plan from which Collectives creates a communicator along the axis.
Plan plan_along(const RankGroups& ranks, size_t axis) {
  Plan plan;
  plan.mesh = ranks.mesh();
  CollectiveStep collective;
  collective.axis = plan.mesh.axes[axis].name;
  plan.entries.emplace_back().steps.emplace_back().what = collective;
  return plan;
}

class GraphClock {
 public:
  GraphClock(const Device& device, RankGroups& ranks, size_t axis)
      : device_(device),
        axis_(axis),
        ranks_(ranks.along(axis).size()),
        collectives_(device, plan_along(ranks, axis), ranks),
        stream_(make_stream(device)),
        begin_(make_event(device, true)),
        end_(make_event(device, true)) {}

  double operator()(CollectiveKind kind, int64_t bytes) {
    device_.make_current();
    prepare(kind, bytes);
    const Driver& d = driver();
    check(d.EventRecord(begin_.get(), stream_.get()), "timing a collective");
    check(d.GraphLaunch(graph_.get(), stream_.get()), "timing a collective");
    check(d.EventRecord(end_.get(), stream_.get()), "timing a collective");
    check(d.StreamSynchronize(stream_.get()), "timing a collective");
    collectives_.check();
    return seconds_between(begin_.get(), end_.get()) / static_cast<double>(times_);
  }

 private:
  void prepare(CollectiveKind kind, int64_t bytes) {
    if (graph_ && kind == kind_ && bytes == bytes_) return;
    graph_ = {};
    if (bytes != bytes_) {
      from_ = {}, to_ = {};
      from_ = device_block(device_, bytes), to_ = shared_block(device_, bytes);
      collectives_.share(axis_, {to_});
      check(driver().MemsetD8Async(from_.get(), 0, static_cast<size_t>(bytes), stream_.get()),
            "clearing memory");
    }
    kind_ = kind, bytes_ = bytes;
    times_ = std::clamp<int64_t>(kBytesOfAGraph / bytes, 1, kMostInAGraph);
    run();  // what NCCL prepares at a first call is not captured
    check(driver().StreamSynchronize(stream_.get()), "timing a collective");
    graph_ = captured(stream_.get(), [this] {
      for (int64_t i = 0; i < times_; ++i) run();
    });
  }

  void run() {
    const bool has_parts = kind_ != CollectiveKind::all_reduce;
    const int64_t elements = bytes_ / size_of(DType::f32) / (has_parts ? ranks_ : 1);
    collectives_.launch({.kind = kind_,
                         .axis = axis_,
                         .ranks = ranks_,
                         .from = from_.get(),
                         .to = to_.address(),
                         .elements = elements,
                         .dtype = DType::f32},
                        stream_.get());
    collectives_.join_all(stream_.get());
  }

  const Device& device_;
  size_t axis_;
  int64_t ranks_;
  Collectives collectives_;
  StreamOwner stream_;
  EventOwner begin_, end_;
  DeviceBlock from_;
  SharedBlock to_;
  GraphOwner graph_;  // goes before the communicators that it was captured with
  CollectiveKind kind_ = CollectiveKind::all_reduce;
  int64_t bytes_ = 0, times_ = 1;
};

}  // namespace

CollectiveClock collective_clock(const Device& device, RankGroups& ranks, size_t axis) {
  return [clock = std::make_shared<GraphClock>(device, ranks, axis)](CollectiveKind kind, int64_t bytes) {
    return (*clock)(kind, bytes);
  };
}

}  // namespace smelt::cuda
