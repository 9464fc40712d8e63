#include "codegen/cuda/emit_cuda.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/print_body.h"
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

// ---- parameters and arguments

/// One parameter each, with a prefix before its name.
std::string pointers(const CudaBody& body, const std::string& prefix) {
  std::string text;
  for (size_t i = 0; i < body.kernel->params.size(); ++i) {
    const KernelParam& param = body.kernel->params[i];
    text += fmt::format("{}{}* {}{}, ", param.output ? "" : "const ", cuda_memory_type(param.dtype), prefix,
                        body.names.params()[i]);
  }
  return text;
}

/// Behind the pointers: random numbers' keys and sizes.
std::string numbers(const CudaBody& body) {
  std::string text = "const unsigned* random";
  for (const std::string& name : body.names.dims()) text += fmt::format(", long long {}_", name);
  for (int i = 0; i < body.kernel->random_slots; ++i) text += fmt::format(", unsigned id{}", i);
  return text + ", long long range_";
}

/// Of a function that the kernel calls.
std::string device_parameters(const CudaBody& body) {
  return pointers(body, "") + numbers(body) + ", float* shared_floats, int* shared_ints";
}

std::string device_arguments(const CudaBody& body) {
  std::string text;
  for (const std::string& name : body.names.params()) text += name + ", ";
  text += "random";
  for (const std::string& name : body.names.dims()) text += fmt::format(", {}_", name);
  for (int i = 0; i < body.kernel->random_slots; ++i) text += fmt::format(", id{}", i);
  return text + ", range_, shared_floats, shared_ints";
}

// ---- several sets of arguments, which have a struct that every block indexes

std::string copies_type(const CudaBody& body) {
  std::string members = pointers(body, "");
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

// ---- the tail: what the last block goes on with

std::string tail_name(size_t number) { return fmt::format("tail{}", number); }

/// Every block but one leaves. What the others have written is there for that one, by any path: the fence
/// behind the count drops what the multiprocessor had kept. The count begins anew with the next launch; those
/// of one stream follow one another.
constexpr const char* kIsLastBlock = R"(__device__ unsigned blocks_ended;

SM bool is_last_block() {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&blocks_ended, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

)";

std::string tail_functions(const std::vector<CudaBody>& tail) {
  std::string text = tail.empty() ? "" : kIsLastBlock;
  for (size_t i = 0; i < tail.size(); ++i)
    text +=
        fmt::format("SM void {}({}) {{\n{}}}\n\n", tail_name(i), device_parameters(tail[i]), tail[i].text);
  return text;
}

std::string tail_calls(const std::vector<CudaBody>& tail) {
  std::string text = tail.empty() ? "" : "  if (!is_last_block()) return;\n";
  for (size_t i = 0; i < tail.size(); ++i) {
    const std::string name = tail_name(i);
    text += (i == 0 ? "  " : "  __syncthreads();\n  ") + name + "(";
    for (const std::string& param : tail[i].names.params()) text += fmt::format("{}_{}, ", name, param);
    text +=
        fmt::format("random, {}, shared_floats, shared_ints);\n", tail[i].kernel->range().constant().value());
  }
  return text;
}

// ---- the kernel

/// A body that runs by vectors where sizes known at launch allow it stands in a template, made twice.
struct KernelText {
  CudaBody body;
  std::vector<CudaBody> tail;

  bool is_template() const { return !body.alignment_conditions.empty(); }
  bool has_function() const { return is_template() || !tail.empty(); }

  std::string function() const {
    if (!has_function()) return "";
    return fmt::format("{}SM void body({}) {{\n{}}}\n\n", is_template() ? "template <bool aligned>\n" : "",
                       device_parameters(body), body.text);
  }

  std::string call() const {
    const std::string arguments = device_arguments(body);
    if (is_template())
      return fmt::format("  if ({})\n    body<true>({});\n  else\n    body<false>({});\n",
                         fmt::join(body.alignment_conditions, " && "), arguments, arguments);
    return has_function() ? fmt::format("  body({});\n", arguments) : body.text;
  }

  /// What the host passes.
  std::string parameters() const {
    std::string text =
        body.kernel->copies > 1 ? "const __grid_constant__ Copies copies, " : pointers(body, "");
    for (size_t i = 0; i < tail.size(); ++i) text += pointers(tail[i], tail_name(i) + "_");
    return text + numbers(body);
  }

  std::string shared_arrays() const {
    int64_t floats = std::max<int64_t>(1, body.shared_floats), ints = std::max<int64_t>(1, body.shared_ints);
    for (const CudaBody& last : tail)
      floats = std::max(floats, last.shared_floats), ints = std::max(ints, last.shared_ints);
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
                       body.kernel->schedule.threads, body.kernel->name, parameters()) +
           shared_arrays() + wait() + (copies ? take_pointers_of_copy(body) : "") + call() +
           tail_calls(tail) + "}\n";
  }
};

std::string prelude_of(const Kernel& kernel, const std::string& code) {
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) need_element(needs, param.dtype);
  for (const Kernel& last : kernel.tail)
    for (const KernelParam& param : last.params) need_element(needs, param.dtype);
  need_calls(needs, code);
  return cuda_prelude(needs);
}

}  // namespace

std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources) {
  if (kernel.attention) return source_comment(sources) + comment(print(kernel)) + emit_attention(kernel);
  if (kernel.gemm) return source_comment(sources) + comment(print(kernel)) + emit_gemm(kernel);
  KernelText text{print_body(kernel, "blockIdx.x"), {}};
  for (const Kernel& last : kernel.tail) text.tail.push_back(print_body(last, "0u"));
  const std::string code = text.code();
  return source_comment(sources) + comment(print(kernel)) +
         fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n",
                     kernel.schedule.index32 ? "int" : "long long") +
         prelude_of(kernel, code) + "\n" + code;
}

}  // namespace smelt
