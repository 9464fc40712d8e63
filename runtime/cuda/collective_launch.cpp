#include "runtime/cuda/collective_launch.h"

namespace smelt::cuda {

CollectiveLaunch CollectiveLaunch::row(int64_t number) const {
  CollectiveLaunch one = *this;
  one.rows = 1;
  one.from += static_cast<DevicePointer>(number * from_stride * size_of(dtype));
  one.to += static_cast<DevicePointer>(number * to_stride * size_of(dtype));
  return one;
}

}  // namespace smelt::cuda
