// CUDA templates (kernels with KernelCode::launch) that are compiled for the host and launched as in a plan.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/row_text.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cuda/template_launch.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {

inline void replace_text(std::string& text, const std::string& from, const std::string& to) {
  if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

/// Returns the number of blocks of a cluster; 0: the kernel has no clusters.
inline int cluster_blocks(const KernelCode& kernel) {
  static constexpr std::string_view kAttribute = "cluster_dims(";
  const size_t at = kernel.source.find(kAttribute);
  return at == std::string::npos ? 0 : std::stoi(kernel.source.substr(at + kAttribute.size()));
}

inline std::string host_source(const KernelCode& kernel) {
  std::string text = kernel.source;
  if (const int blocks = cluster_blocks(kernel); blocks > 0)
    replace_text(text, row_blocks_text(blocks),
                 fmt::format("constexpr int kBlocks = {};{}", blocks, kHostBlocksText));
  replace_text(text, "extern __shared__ float held[];",
               fmt::format("__shared__ float held[{}];", kernel.shared_bytes / 4));
  return text;
}

/// Arguments of a launch, which become the parameters' types.
constexpr std::string_view kArgumentsText = R"(
struct HostAddress {
  uint64_t bits;
  template <typename T>
  operator T*() const { return (T*)bits; }
};
struct HostInteger {
  uint64_t bits;
  operator long long() const { return (long long)bits; }
};
)";

/// Returns the text of a function kernel.name. It runs one block; if the kernel has clusters, it runs all
/// blocks of the grid.
inline std::string block_text(const KernelCode& kernel) {
  std::string call;
  for (size_t i = 0; i < kernel.launch->arguments.size(); ++i) {
    const TemplateLaunch::Argument& argument = kernel.launch->arguments[i];
    const bool address = argument.kind == TemplateLaunch::Argument::Kind::address;
    call += fmt::format("{}{}{{a[{}]}}", i > 0 ? ", " : "", address ? "HostAddress" : "HostInteger", i);
  }
  const int blocks = cluster_blocks(kernel);
  const std::string run = blocks > 0
                              ? fmt::format("host::run_clusters({}, {}, (int)block", kernel.threads, blocks)
                              : fmt::format("host::run_block({}, {{block}}, {{}}", kernel.threads);
  return fmt::format(
      "#define {0} device_{0}\nnamespace space_{0} {{\n{1}\n#undef kIdentity\n}}\n#undef {0}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(unsigned block, const uint64_t* a) {{\n"
      "  const auto kernel = [&] {{ space_{0}::device_{0}({2}); }};\n"
      "  {3}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, (void*)&kernel);\n}}\n",
      kernel.name, host_source(kernel), call, run);
}

/// The kernels of one step, compiled for the host.
class HostKernels {
 public:
  explicit HostKernels(std::vector<KernelCode> kernels) : kernels_(std::move(kernels)) {
    std::string text(kArgumentsText);
    for (const KernelCode& kernel : kernels_) text += block_text(kernel);
    object_.emplace(compile_text_on_host(text));
  }

  /// Launches all kernels whose conditions on the sizes hold, and returns their number.
  int run(const cuda::LaunchValues& values) const {
    int launches = 0;
    for (const KernelCode& kernel : kernels_) {
      const auto launch = cuda::launch_of(kernel, nullptr, values);
      if (!launch) continue;
      ++launches;
      const auto run = reinterpret_cast<void (*)(unsigned, const uint64_t*)>(object_->symbol(kernel.name));
      if (cluster_blocks(kernel) > 0) {
        run(launch->blocks, launch->values.data());
        continue;
      }
      for (unsigned i = launch->blocks; i-- > 0;) run(i, launch->values.data());
    }
    return launches;
  }

 private:
  std::vector<KernelCode> kernels_;
  std::optional<SharedObject> object_;
};

template <typename T>
cuda::DevicePointer address_of(const std::vector<T>& values) {
  return reinterpret_cast<cuda::DevicePointer>(values.data());
}

}  // namespace smelt::test
