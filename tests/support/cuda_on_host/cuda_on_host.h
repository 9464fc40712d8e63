// CUDA kernels without a GPU. The CUDA text of a kernel is compiled by this machine's C++ compiler with
// device.h, which defines CUDA's functions for a CPU. A compiled kernel has the interface of kernels in CPU
// plans: one call runs one thread block. So tests of CPU kernels and of whole sessions can also test CUDA
// text.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/row_text.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/make_plan.h"
#include "ir/program/program.h"
#include "llvm/ADT/ArrayRef.h"
#include "runtime/base/error.h"
#include "runtime/cpu/features.h"
#include "runtime/cuda/cubin_cache.h"
#include "tests/support/cuda_on_host/decode_on_host.h"
#include "tests/support/cuda_on_host/mma_attention_on_host.h"
#include "tests/support/cuda_on_host/mma_gemm_on_host.h"
#include "tests/support/cuda_on_host/small_m_on_host.h"

namespace smelt::test {

/// Returns launch_dims, followed by the last argument of CUDA kernels: the range of the kernel, or its grid
/// if other kernels are fused horizontally with it.
inline std::vector<Dim> host_launch_dims(const Kernel& kernel) {
  std::vector<Dim> dims = launch_dims(kernel);
  dims.push_back(kernel.beside.empty() ? kernel.range() : kernel.grid());
  return dims;
}

/// Returns the pointer arguments of a kernel and of the kernels that are fused with it, as text. Types that
/// the text of the kernel defines are in the namespace space_SPACE, where SPACE is `space`. `buffer` is the
/// index of the first argument in KernelArgs::buffers, and becomes the index after the last one.
inline std::string host_pointers(const Kernel& kernel, const std::string& space, size_t& buffer) {
  std::string call;
  for (const KernelParam& param : kernel.params) {
    std::string type(cuda_memory_type(param.dtype));
    const bool of_language = type == "float" || type == "double" || type == "int";
    if (!of_language) type = fmt::format("space_{}::{}", space, type);
    call += fmt::format("({}*)a->buffers[{}], ", type, buffer++);
  }
  for (const Kernel& first : kernel.before)
    call += host_pointers(first, space, buffer), call.erase(call.rfind(", ", call.size() - 3) + 2), --buffer;
  for (const Kernel& other : kernel.beside) call += host_pointers(other, space, buffer);
  for (const Kernel& last : kernel.tail) call += host_pointers(last, space, buffer);
  return call;
}

inline bool is_small_m(const Kernel& kernel) { return kernel.gemm && kernel.gemm->is_small_m(); }
inline bool is_mma_gemm(const Kernel& kernel) { return kernel.gemm && kernel.gemm->mma; }

/// Text for a CPU that replaces row_blocks_text for several blocks per row, which has cluster instructions.
/// It comes after the number of blocks.
inline constexpr const char* kHostBlocksText = R"(
inline int block_of_row() { return (int)(blockIdx.x % kBlocks); }
inline void row_sync() { host::cluster_barrier(); }
template <typename T>
inline T* in_block(T* mine, int block) {
  return (T*)((char*)mine + (host::cluster.memory[block] - host::cluster.memory[block_of_row()]));
}
)";

inline bool is_tensor_decode(const Kernel& kernel) {
  return kernel.attention && kernel.attention->few() && kernel.attention->few()->tensor_cores;
}

/// Returns whether the kernel has the text of the template "mma", of which parts of keys use functions, too.
inline bool is_mma_attention(const Kernel& kernel) {
  if (!kernel.attention) return false;
  return std::holds_alternative<AttentionTiles>(kernel.attention->tiles) ||
         (kernel.attention->few() && kernel.attention->part_keys > 0);
}

/// Returns the number of blocks of a cluster that run concurrently on the host. In other kernels with
/// clusters, the first block does the work of all.
inline int host_cluster(const Kernel& kernel) {
  return is_mma_attention(kernel) && kernel.attention->few() ? kernel.attention->few()->cluster : 1;
}

/// Returns the text of a kernel of attention that uses mma instructions, in a form that the host's compiler
/// accepts.
inline std::string mma_attention_text(const Kernel& kernel) {
  std::string text = mma_attention_host_source(emit_cuda(kernel));
  const int blocks = host_cluster(kernel);
  if (blocks == 1) return text;
  const std::string from = "#ifdef __CUDA_ARCH__\nnamespace sharing {\n" + row_blocks_text(blocks);
  const size_t at = text.find(from);
  if (at == std::string::npos) fail("the text has no {}", from);
  return text.replace(
      at, from.size(),
      fmt::format("#if 1\nnamespace sharing {{\nconstexpr int kBlocks = {};{}", blocks, kHostBlocksText));
}

/// Returns the source of a kernel in a form that the host's compiler accepts.
using HostText = std::string (*)(const Kernel& kernel);

inline std::string host_text(const Kernel& kernel) {
  if (is_mma_attention(kernel)) return mma_attention_text(kernel);
  if (is_tensor_decode(kernel)) return decode_host_source(emit_cuda(kernel));
  if (is_mma_gemm(kernel)) return mma_gemm_host_source(emit_cuda(kernel));
  if (!is_small_m(kernel)) return emit_cuda(kernel);
  return small_m_host_source(emit_cuda(kernel), small_m_dtype(kernel));
}

/// Returns the number of blocks of the kernel's grid, as text. `range`: the value of Kernel::range, as text.
inline std::string host_blocks(const Kernel& kernel, const std::string& range) {
  const Schedule& s = kernel.schedule;
  if (is_mma_gemm(kernel) && kernel.gemm->most_blocks > 0)
    return fmt::format("min<long long>({}, {})", range, kernel.gemm->most_blocks);
  if (!kernel.beside.empty() || is_mma_gemm(kernel)) return range;
  return s.splits > 0 ? std::to_string(s.splits) : fmt::format("({} + {}) / {}", range, s.grain - 1, s.grain);
}

inline std::string host_undefined(const Kernel& kernel) {
  return is_small_m(kernel) ? small_m_undefined() : is_mma_gemm(kernel) ? kMmaGemmUndefined : "";
}

/// Returns C++ text: the kernel, in its own namespace, and the function kernel.name, which runs one block of
/// the kernel in each row of the grid (Kernel::copies).
inline std::string host_unit(const Kernel& kernel, HostText text) {
  size_t first = 0;
  std::string call = kernel.copies > 1 ? fmt::format("*(space_{}::Copies*)a->buffers, ", kernel.name)
                                       : host_pointers(kernel, kernel.name, first);
  call += "random";
  const size_t dims = launch_dims(kernel).size();
  const int cluster = host_cluster(kernel);
  const std::string run =
      cluster == 1
          ? fmt::format("host::run_block({}, {{(unsigned)(begin / a->chunk), copy}}, grid", kernel.threads())
          : fmt::format("if (begin == 0) host::run_clusters({}, {}, (int)grid.x", kernel.threads(), cluster);
  for (size_t i = 0; i < dims; ++i) call += fmt::format(", a->dims[{}]", i);
  for (int i = 0; i < kernel.random_slots; ++i) call += fmt::format(", a->random_ids[{}]", i);
  call += fmt::format(", a->dims[{}]", dims);
  return fmt::format(
      "#define {0} device_{0}\nnamespace space_{0} {{\n{1}}}\n#undef {0}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(const KernelArgs* a, int64_t begin, "
      "int64_t) {{\n"
      "  const unsigned random[3] = {{a->seed, a->step, a->micro_step}};\n"
      "  const auto kernel = [&] {{ space_{0}::device_{0}({3}); }};\n"
      "  const host::Index grid{{(unsigned)({4}), {5}}};\n"
      "  if (begin / a->chunk >= grid.x) return;\n"
      "  for (unsigned copy = 0; copy < grid.y; ++copy)\n"
      "    {2}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, (void*)&kernel);\n"
      "}}\n{6}\n",
      kernel.name, text(kernel), run, call, host_blocks(kernel, fmt::format("a->dims[{}]", dims)),
      kernel.copies, host_undefined(kernel));
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Compiles `text` with the compiler command, and returns the bytes of the shared object. If it does not
/// compile, throws Error and keeps the source in a temporary directory.
inline std::vector<std::byte> compile_anew(const std::string& command, const std::string& text) {
  char directory[] = "/tmp/cuda_on_host_XXXXXX";
  if (mkdtemp(directory) == nullptr) fail_with(Status::io, "no temporary directory");
  const std::filesystem::path place = directory;
  std::ofstream(place / "kernels.cpp") << text;
  if (std::system(fmt::format("{0} -o {1}/kernels.so {1}/kernels.cpp", command, directory).c_str()) != 0)
    fail_with(Status::internal, "{}/kernels.cpp does not compile", directory);
  const std::string bytes = text_of(place / "kernels.so");
  std::filesystem::remove_all(place);
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

/// Does the same with device.h, and caches the result for all test programs with the same cache directory,
/// because compilation takes most of the time of such tests.
inline std::vector<std::byte> compile_text_on_host(const std::string& text) {
  const std::string command = fmt::format(
      "{} -std=c++20 -O1 -w -fPIC -shared -fno-gnu-unique -fvisibility=hidden -fno-strict-aliasing "
      "-ffp-contract=off -I{}",
      SMELT_CXX_COMPILER, SMELT_SOURCE_DIR);
  static const std::string device = text_of(SMELT_SOURCE_DIR "/tests/support/cuda_on_host/device.h");
  const CubinCache cache(CubinCache::default_directory());
  const std::string key = CubinCache::key(command + device + text);
  if (auto known = cache.read(key)) return std::move(known->bytes);
  Cubin made;
  made.bytes = compile_anew(command, "#include \"tests/support/cuda_on_host/device.h\"\n" + text);
  cache.write(key, made);
  return std::move(made.bytes);
}

inline std::vector<std::byte> compile_on_host(llvm::ArrayRef<const Kernel*> kernels,
                                              HostText text_of_kernel = host_text) {
  const auto has_mma = [](const Kernel* kernel) { return is_small_m(*kernel) || is_mma_gemm(*kernel); };
  std::string text = std::ranges::any_of(kernels, has_mma) ? kTensorCoreDevice : "";
  for (const Kernel* kernel : kernels) text += host_unit(*kernel, text_of_kernel);
  return compile_text_on_host(text);
}

/// Returns a plan for the CPU executor, from a program that was lowered for a GPU.
inline Plan plan_on_host(const Program& program, HostText text = host_text) {
  Plan plan = plan_without_code(program);
  plan.target = make_cpu_plan({}).target;
  std::vector<const Kernel*> kernels;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    plan.kernels[i].dims = host_launch_dims(program.kernels[i]);
    plan.kernels[i].threads = 0;
    kernels.push_back(&program.kernels[i]);
  }
  if (!kernels.empty()) plan.binary = compile_on_host(kernels, text);
  return plan;
}

}  // namespace smelt::test
