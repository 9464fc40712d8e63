#include "codegen/cuda/emit_cuda.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/byte_gemm/emit_byte_gemm.h"
#include "codegen/cuda/device_text.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/print_body.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "ir/text/text_writer.h"

namespace smelt {
namespace {

// ---- the comment at the top

std::string comment(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += "// " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return result;
}

constexpr size_t kSourcesShown = 8;

std::string source_comment(const std::vector<std::string>& sources) {
  std::string text;
  for (size_t i = 0; i < std::min(sources.size(), kSourcesShown); ++i)
    text += (i == 0 ? "from " : ", ") + sources[i];
  if (sources.size() > kSourcesShown) text += fmt::format(" and {} more", sources.size() - kSourcesShown);
  return text.empty() ? "" : comment(text);
}

// ---- horizontal fusion: each kernel has blocks of its own, the first kernel's first

std::string beside_name(size_t number) { return fmt::format("beside{}", number); }

std::string beside_functions(const std::vector<CudaBody>& kernels) {
  std::string text;
  for (size_t i = 0; i < kernels.size(); ++i) text += function_of(kernels[i], beside_name(i));
  return text;
}

/// Threads beyond those of a block's own kernel have nothing to do.
std::string beside_calls(const std::vector<CudaBody>& kernels, const gpu::KernelNames& names, int threads) {
  std::string text = "  unsigned block = blockIdx.x;\n";
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = *kernels[i].kernel;
    const std::string range = number_of(names, kernel.range());
    if (i + 1 < kernels.size())
      text += fmt::format(
          "  const unsigned blocks{0} = (unsigned)(({1} + {2}) / {3});\n  if (block < blocks{0}) {{\n", i,
          range, kernel.schedule.grain - 1, kernel.schedule.grain);
    if (kernel.schedule.threads < threads)
      text += fmt::format("  if (threadIdx.x >= {}) return;\n", kernel.schedule.threads);
    text += "  " + beside_name(i) + "(";
    for (const std::string& param : kernels[i].names.params())
      text += fmt::format("{}_{}, ", beside_name(i), param);
    text += "random";
    for (const Dim& dim : launch_dims(kernel)) text += ", " + number_of(names, dim);
    text += fmt::format(", {}, block, shared_floats, shared_ints);\n", range);
    if (i + 1 < kernels.size()) text += fmt::format("  return;\n  }}\n  block -= blocks{};\n", i);
  }
  return text;
}

// ---- several sets of arguments, which have a struct that every block indexes

std::string copies_type(const CudaBody& body) {
  std::string members = pointer_parameters(body, "");
  for (size_t at = 0; (at = members.find(", ", at)) != std::string::npos;) members.replace(at, 2, "; ");
  return fmt::format("struct Pointers {{ {}}};\nstruct Copies {{ Pointers of[{}]; }};\n\n", members,
                     body.kernel->copies);
}

std::string take_pointers_of_copy(const CudaBody& body) {
  std::string text;
  for (size_t i = 0; i < body.kernel->params.size(); ++i) {
    const KernelParam& param = body.kernel->params[i];
    text += fmt::format("  {0}{1}* const {2} = copies.of[blockIdx.y].{2};\n", param.output ? "" : "const ",
                        cuda_memory_type(param.dtype), body.names.params()[i]);
  }
  return text;
}

// ---- the tail: last-block epilogues

std::string tail_name(size_t number) { return fmt::format("tail{}", number); }

std::string tail_functions(const std::vector<CudaBody>& tail) {
  std::string text = tail.empty() ? "" : std::string(device::kLastBlock);
  for (size_t i = 0; i < tail.size(); ++i) text += function_of(tail[i], tail_name(i));
  return text;
}

std::string tail_calls(const std::vector<CudaBody>& tail) {
  std::string text = tail.empty() ? "" : "  if (!is_last_block()) return;\n";
  for (size_t i = 0; i < tail.size(); ++i) {
    const std::string name = tail_name(i);
    text += (i == 0 ? "  " : "  __syncthreads();\n  ") + name + "(";
    for (const std::string& param : tail[i].names.params()) text += fmt::format("{}_{}, ", name, param);
    text += fmt::format("random, {}, 0u, shared_floats, shared_ints);\n",
                        tail[i].kernel->range().constant().value());
  }
  return text;
}

// ---- the kernel

struct KernelText {
  CudaBody body;
  std::vector<CudaBody> beside, tail;  // `beside` begins with the kernel itself

  bool has_function() const { return has_two_forms(body) || !tail.empty(); }

  std::string function() const {
    if (!beside.empty()) return beside_functions(beside);
    return has_function() ? function_of(body, "body") : "";
  }

  std::string call() const {
    if (!beside.empty()) return beside_calls(beside, body.names, body.kernel->threads());
    return has_function() ? fmt::format("  body({});\n", function_arguments(body, "blockIdx.x")) : body.text;
  }

  /// Returns the parameters that the host passes.
  std::string parameters() const {
    std::string text = body.kernel->copies > 1 ? "const __grid_constant__ Copies copies, "
                       : beside.empty()        ? pointer_parameters(body, "")
                                               : "";
    for (size_t i = 0; i < beside.size(); ++i) text += pointer_parameters(beside[i], beside_name(i) + "_");
    for (size_t i = 0; i < tail.size(); ++i) text += pointer_parameters(tail[i], tail_name(i) + "_");
    return text + number_parameters(body);
  }

  std::string shared_arrays() const {
    int64_t floats = std::max<int64_t>(1, body.shared_floats), ints = std::max<int64_t>(1, body.shared_ints);
    for (const std::vector<CudaBody>* others : {&beside, &tail})
      for (const CudaBody& other : *others)
        floats = std::max(floats, other.shared_floats), ints = std::max(ints, other.shared_ints);
    return fmt::format(
        "  __shared__ __align__(16) float shared_floats[{}];\n  __shared__ int shared_ints[{}];\n", floats,
        ints);
  }

  std::string wait() const {
    return body.kernel->waits ? "  sm_allow_next_launch();\n  sm_wait_for_launches();\n" : "";
  }

  std::string code() const {
    const bool copies = body.kernel->copies > 1;
    return (copies ? copies_type(body) : "") + function() + tail_functions(tail) +
           fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n",
                       body.kernel->threads(), body.kernel->name, parameters()) +
           shared_arrays() + wait() + (copies ? take_pointers_of_copy(body) : "") + call() +
           tail_calls(tail) + "}\n";
  }
};

std::string prelude_of(const Kernel& kernel, const std::string& code) {
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) need_element(needs, param.dtype);
  for (const std::vector<Kernel>* others : {&kernel.beside, &kernel.tail})
    for (const Kernel& other : *others)
      for (const KernelParam& param : other.params) need_element(needs, param.dtype);
  need_calls(needs, code);
  return cuda_prelude(needs);
}

}  // namespace

std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources) {
  if (kernel.attention) return source_comment(sources) + comment(print(kernel)) + emit_attention(kernel);
  if (kernel.gemm)
    return source_comment(sources) + comment(print(kernel)) +
           (kernel.gemm->is_small_m()     ? emit_small_m(kernel)
            : kernel.gemm->is_byte_gemm() ? emit_byte_gemm(kernel)
                                          : emit_gemm(kernel));
  const gpu::Expr block = gpu::variable("block_", gpu::Scalar::bits);
  KernelText text{print_body(kernel, gpu::block_number()), {}, {}};
  Kernel alone = kernel;
  alone.beside.clear();
  if (!kernel.beside.empty()) text.beside.push_back(print_body(alone, block));
  for (const Kernel& other : kernel.beside) text.beside.push_back(print_body(other, block));
  for (const Kernel& last : kernel.tail) text.tail.push_back(print_body(last, gpu::bits(0)));
  const std::string code = text.code();
  return source_comment(sources) + comment(print(kernel)) +
         fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n",
                     kernel.schedule.index32 ? "int" : "long long") +
         prelude_of(kernel, code) + "\n" + code;
}

}  // namespace smelt
