#include "runtime/cuda/side_stream.h"

#include <algorithm>
#include <cstdint>

namespace smelt::cuda {
namespace {

constexpr size_t kEndOfEntry = SIZE_MAX;

}  // namespace

SideStream::SideStream(const Device& device, StreamPriority priority)
    : device_(device), stream_(make_stream(device, priority)), begin_(make_event(device)) {}

void SideStream::launch(Stream main, size_t waited_at, const std::function<void(Stream)>& work) {
  const Driver& d = driver();
  check(d.EventRecord(begin_.get(), main), "beginning work on a stream of its own");
  check(d.StreamWaitEvent(stream_.get(), begin_.get(), 0), "beginning work on a stream of its own");
  work(stream_.get());
  if (pending_.size() == events_.size()) events_.push_back(make_event(device_));
  pending_.push_back(waited_at);
  check(d.EventRecord(events_[pending_.size() - 1].get(), stream_.get()),
        "ending work on a stream of its own");
}

/// Work is done in order, so a wait for one piece of work includes all earlier ones.
void SideStream::join(size_t step, Stream main) {
  const auto is_needed = [&](size_t waited_at) { return waited_at <= step; };
  const auto last = std::find_if(pending_.rbegin(), pending_.rend(), is_needed);
  const auto count = pending_.rend() - last;
  if (count == 0) return;
  check(driver().StreamWaitEvent(main, events_[static_cast<size_t>(count) - 1].get(), 0),
        "waiting for a stream");
  pending_.erase(pending_.begin(), pending_.begin() + count);
  std::rotate(events_.begin(), events_.begin() + count, events_.end());
}

void SideStream::join_all(Stream main) { join(kEndOfEntry, main); }

}  // namespace smelt::cuda
