// HIP kernels as assembly code of GPUs of AMD, made by Clang.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/hip/emit_hip.h"
#include "runtime/base/error.h"

namespace smelt::test {

/// Returns the text of several kernels for one run of the compiler, each in a namespace of its own.
inline std::string hip_unit(const std::vector<const Kernel*>& kernels) {
  std::string text = "#include \"tests/support/hip/hip_device.h\"\n";
  for (const Kernel* kernel : kernels)
    text += fmt::format("namespace space_{} {{\n{}}}\n#undef SM\n", kernel->name, emit_hip(*kernel));
  return text;
}

/// Returns the assembly code of HIP text for a GPU such as "gfx90a". Throws Error if the text does not
/// compile, and keeps it in a temporary directory. `compiler`: a Clang that has the target amdgcn.
inline std::string compile_hip(const std::string& compiler, const std::string& text, const char* gpu) {
  char directory[] = "/tmp/compile_hip_XXXXXX";
  if (mkdtemp(directory) == nullptr) fail_with(Status::io, "no temporary directory");
  const std::filesystem::path place = directory;
  std::ofstream(place / "kernels.hip") << text;
  const std::string command = fmt::format(
      "{} -x hip --cuda-device-only --offload-arch={} -nogpulib -nogpuinc -std=c++17 -O2 -w -I{} -S -o "
      "{}/kernels.s "
      "{}/kernels.hip",
      compiler, gpu, SMELT_SOURCE_DIR, directory, directory);
  if (std::system(command.c_str()) != 0)
    fail_with(Status::internal, "{}/kernels.hip does not compile for {}", directory, gpu);
  std::ifstream in(place / "kernels.s");
  const std::string code{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove_all(place);
  return code;
}

}  // namespace smelt::test
