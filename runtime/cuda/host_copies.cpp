#include "runtime/cuda/host_copies.h"

namespace smelt::cuda {

HostCopies::HostCopies(const Device& device)
    : in_(device, StreamPriority::usual), out_(device, StreamPriority::usual) {}

void HostCopies::launch(const HostCopyLaunch& copy, Stream main) {
  if (copy.bytes == 0) return;
  const Driver& d = driver();
  (copy.to_device ? in_ : out_).launch(main, copy.waited_at, [&](Stream stream) {
    check(copy.to_device ? d.MemcpyHtoDAsync(copy.device, copy.host, copy.bytes, stream)
                         : d.MemcpyDtoHAsync(copy.host, copy.device, copy.bytes, stream),
          "copying a part of a state");
  });
}

void HostCopies::join(size_t step, Stream main) { in_.join(step, main), out_.join(step, main); }

void HostCopies::join_all(Stream main) { in_.join_all(main), out_.join_all(main); }

void HostCopies::forget() { in_.forget(), out_.forget(); }

}  // namespace smelt::cuda
