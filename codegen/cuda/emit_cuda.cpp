#include "codegen/cuda/emit_cuda.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/byte_gemm/emit_byte_gemm.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/print_function.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/gpu/lower/lower_launch.h"
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
  const std::string code = print(gpu::lower_launch(kernel));
  return source_comment(sources) + comment(print(kernel)) +
         fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n",
                     kernel.schedule.index32 ? "int" : "long long") +
         prelude_of(kernel, code) + "\n" + code;
}

}  // namespace smelt
