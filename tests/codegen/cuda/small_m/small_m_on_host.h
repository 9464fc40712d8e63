// Tests of small-M GEMM kernels (matmuls with few rows) without a GPU: kernels are compiled for the host
// (tests/support/cuda_on_host/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cuda/template_launch.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#include "tests/support/cuda_on_host/small_m_on_host.h"

namespace smelt::test {

/// Returns C++ text: the kernel, in its own namespace, and the function kernel.name, which runs one block of
/// the kernel.
inline std::string small_m_host_text(const SmallM& few, const KernelCode& kernel) {
  std::string text = small_m_host_source(kernel.source, few.dtype);
  const std::string name = "#define KERNEL " + kernel.name;
  text.replace(text.find(name), name.size(), "#define KERNEL device_" + kernel.name);
  std::string call;
  for (size_t i = 0; i < kernel.launch->arguments.size(); ++i) {
    const TemplateLaunch::Argument& argument = kernel.launch->arguments[i];
    const std::string cast = argument.kind == TemplateLaunch::Argument::Kind::integer ? "(long long)a[{}]"
                             : argument.kind == TemplateLaunch::Argument::Kind::real
                                 ? "__uint_as_float((unsigned)a[{}])"
                             : argument.value.str() == "a" || argument.value.str() == "b" ? "(Half*)a[{}]"
                                                                                          : "(Result*)a[{}]";
    call += (i > 0 ? ", " : "") + fmt::format(fmt::runtime(cast), i);
  }
  return fmt::format(
      "namespace space_{0} {{\n{1}}}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(unsigned block, unsigned blocks, const "
      "uint64_t* a) {{\n"
      "  using namespace space_{0};\n  const auto kernel = [&] {{ device_{0}({2}); }};\n"
      "  host::run_block({3}, {{block}}, {{blocks}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n"
      "}}\n{4}#undef KERNEL\n#undef BIAS_PARAMETER\n#undef BIAS\n",
      kernel.name, text, call, kernel.threads, small_m_undefined());
}

/// Small-M GEMM kernels that are compiled for the host. They are numbered in the order of `all`.
class SmallMOnHost {
 public:
  explicit SmallMOnHost(const std::vector<SmallM>& all) {
    std::string text = kTensorCoreDevice;
    for (const SmallM& few : all) {
      kernels_.push_back(small_m_kernel(few));
      text += small_m_host_text(few, kernels_.back());
    }
    object_.emplace(compile_text_on_host(text));
  }

  /// Runs kernel `number`. Returns false, and does nothing, if the kernel does not support the sizes.
  bool run(size_t number, const cuda::LaunchValues& values) const {
    const KernelCode& kernel = kernels_.at(number);
    const auto launch = cuda::launch_of(kernel, nullptr, values);
    if (!launch) return false;
    const auto block =
        reinterpret_cast<void (*)(unsigned, unsigned, const uint64_t*)>(object_->symbol(kernel.name));
    for (unsigned i = launch->blocks; i-- > 0;) block(i, launch->blocks, launch->values.data());
    return true;
  }

 private:
  std::vector<KernelCode> kernels_;
  std::optional<SharedObject> object_;
};

}  // namespace smelt::test
