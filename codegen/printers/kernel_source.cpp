#include "codegen/printers/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/printers/print_expression.h"
#include "codegen/printers/print_function.h"
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

PreludeNeeds needs_of(const Prelude& prelude, const Kernel& kernel, const std::string& code) {
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) needs.emplace(memory_type(param.dtype));
  for (const std::vector<Kernel>* others : {&kernel.beside, &kernel.tail})
    for (const Kernel& other : *others)
      for (const KernelParam& param : other.params) needs.emplace(memory_type(param.dtype));
  prelude.need_calls(needs, code);
  return needs;
}

}  // namespace

std::string kernel_comment(const Kernel& kernel, const std::vector<std::string>& sources) {
  return source_comment(sources) + comment(print(kernel));
}

std::string kernel_source(const Language& language, const Prelude& prelude, const Kernel& kernel,
                          const gpu::Launch& launch) {
  const std::string code = print(language, launch);
  return fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n{}\n{}",
                     kernel.schedule.index32 ? "int" : "long long",
                     prelude.text(needs_of(prelude, kernel, code)), code);
}

}  // namespace smelt
