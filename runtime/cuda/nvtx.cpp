#include "runtime/cuda/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace smelt::cuda {

Range::Range(const std::string& name) { nvtxRangePushA(name.c_str()); }
Range::~Range() { nvtxRangePop(); }
int nvtx_version() { return NVTX_VERSION; }

}  // namespace smelt::cuda

#else

namespace smelt::cuda {

Range::Range(const std::string&) {}
Range::~Range() = default;
int nvtx_version() { return 0; }

}  // namespace smelt::cuda

#endif
