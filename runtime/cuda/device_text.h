// The files of runtime/cuda/device/ as constants, without the comments at their heads. cmake/embed.cmake
// defines them.
#pragma once

#include <string_view>

namespace smelt::cuda::device {

extern const std::string_view kPeerSum;

}  // namespace smelt::cuda::device
