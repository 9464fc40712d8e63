#include "compiler/cli/commands/doctor.h"

#include <fmt/format.h>

#include <fstream>

#include "runtime/base/error.h"
#include "runtime/cuda/cublas_lt.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/nvtx.h"

namespace smelt::cli {
namespace {

/// Returns the text that `describe` makes of a library, or the reason why there is none.
template <typename Describe>
std::string found_or_why(Describe describe) {
  try {
    return describe();
  } catch (const Error& error) {
    return error.what();
  }
}

/// "580.95.05": the first word of the file that is a number.
std::string kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "of unknown version";
}

std::string driver_text() {
  return fmt::format("CUDA {}, kernel module {}, {}", cuda::driver_cuda_version(), kernel_module(),
                     cuda::driver().path);
}

std::string device_text(const cuda::Device& device) {
  const cuda::DeviceInfo& info = device.info();
  return fmt::format("{}, sm_{}, {} multiprocessors, {} free of {}", info.name, info.compute_capability,
                     info.model.multiprocessors, bytes_text(static_cast<int64_t>(device.free_bytes())),
                     bytes_text(static_cast<int64_t>(device.total_bytes())));
}

std::string nvrtc_text() {
  const NvrtcInfo& info = nvrtc_info();
  return info.available ? fmt::format("{}.{}, {}", info.major, info.minor, info.library) : info.problem;
}

std::string cublas_text() {
  const auto [path, version] = cuda::cublas_lt_info();
  return fmt::format("{}.{}.{}, {}", version / 10000, version / 100 % 100, version % 100, path);
}

std::string nccl_text() {
  const auto [path, version] = cuda::nccl_info();
  return fmt::format("{}, {}", version, path);
}

std::string nvtx_text() {
  return cuda::nvtx_version() > 0 ? fmt::format("version {}, built in", cuda::nvtx_version())
                                  : "not built in: its headers were not found";
}

}  // namespace

void add_gpu_rows(TextTable& table) {
  table.add({"CUDA driver", found_or_why(driver_text)});
  found_or_why([&] {
    for (int i = 0; i < cuda::device_count(); ++i)
      table.add({fmt::format("GPU {}", i), device_text(cuda::Device::open(i))});
    return "";
  });
  table.add({"NVRTC", nvrtc_text()});
  table.add({"cuBLASLt", found_or_why(cublas_text)});
  table.add({"NVTX", nvtx_text()});
  table.add({"NCCL", found_or_why(nccl_text)});
}

}  // namespace smelt::cli
