#include "runtime/cuda/device_rates.h"

#include <algorithm>
#include <functional>

#include "runtime/cuda/gemm.h"
#include "runtime/system/cache_directory.h"

namespace smelt::cuda {
namespace {

/// Seconds of the best of six runs; the first is not counted.
double best_seconds(const Device& device, Stream stream, const char* what,
                    const std::function<void()>& work) {
  const EventOwner begin = make_event(device, true), end = make_event(device, true);
  double best = 0;
  for (int run = 0; run < 6; ++run) {
    check(driver().EventRecord(begin.get(), stream), what);
    work();
    check(driver().EventRecord(end.get(), stream), what);
    check(driver().StreamSynchronize(stream), what);
    const double seconds = seconds_between(begin.get(), end.get());
    if (run > 0) best = run == 1 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace

double copy_bytes_per_second(const Device& device, Stream stream) {
  constexpr size_t kBytes = size_t{1} << 28;
  const DeviceBlock from = device_block(device, kBytes), to = device_block(device, kBytes);
  const double seconds = best_seconds(device, stream, "timing a copy", [&] {
    check(driver().MemcpyDtoDAsync(to.get(), from.get(), kBytes, stream), "timing a copy");
  });
  return 2.0 * static_cast<double>(kBytes) / seconds;
}

double matrix_flops_per_second(const Device& device, Stream stream, DType dtype) {
  constexpr int64_t n = 4096;
  const bool is_f8 = dtype == DType::f8e4m3;  // the library reads both matrices along k, and makes 16 bits
  const DType result = is_f8 ? DType::bf16 : dtype;
  const auto bytes = static_cast<size_t>(n * n * size_of(dtype));
  const DeviceBlock matrices =
                        try_device_block(device, static_cast<int64_t>(2 * bytes) + n * n * size_of(result)),
                    workspace = try_device_block(device, kGemmWorkspace);
  if (!matrices || !workspace) return 0;
  const DevicePointer a = matrices.get(), b = a + bytes, c = b + bytes;
  check(driver().MemsetD8Async(a, 0x3c, 2 * bytes, stream),
        "timing a matmul");  // about 0.01: zeros draw less power
  const GemmSizes::Matrix rows{n, 1}, columns{1, n};
  const GemmSizes sizes{.m = n,
                        .n = n,
                        .k = n,
                        .a = rows,
                        .b = is_f8 ? columns : rows,
                        .c = rows,
                        .dtype = dtype,
                        .result_dtype = result};
  PreparedGemm gemm(device, sizes, a, b, c, "timing a matmul");
  GemmChoices choices(cache_directory(), GemmPlace::of(device));
  gemm.choose(stream, workspace.get(), choices);
  const double seconds =
      best_seconds(device, stream, "timing a matmul", [&] { gemm.run(stream, workspace.get()); });
  return 2.0 * n * n * n / seconds;
}

}  // namespace smelt::cuda
