#include "codegen/cuda/printers/body_arguments.h"

#include <fmt/format.h>

#include "codegen/cuda/prelude.h"

namespace smelt {
namespace {

/// Names that the text may use.
std::string unpacked(const Kernel& kernel, const gpu::KernelNames& names, const std::string& text) {
  std::string lines;
  const auto unpack = [&](const std::string& name, const std::string& line) {
    if (text.find(name) != std::string::npos) lines += line;
  };
  unpack("random", "  const auto random = body.random;\n");
  for (const std::string& param : names.params())
    unpack(param, fmt::format("  const auto {0} = body.{0};\n", param));
  for (const std::string& dim : names.dims())
    unpack(dim, fmt::format("  const Index {0} = (Index)body.{0}_;\n", dim));
  for (int i = 0; i < kernel.random_slots; ++i) {
    const std::string id = fmt::format("id{}", i);
    unpack(id, fmt::format("  const unsigned {0} = body.{0};\n", id));
  }
  return lines;
}

}  // namespace

std::string body_arguments(const Kernel& kernel, const gpu::KernelNames& names) {
  std::string text = "struct BodyArguments {\n  const unsigned* random;\n";
  for (size_t i = 0; i < kernel.params.size(); ++i)
    text += fmt::format("  {}{}* {};\n", kernel.params[i].output ? "" : "const ",
                        cuda_memory_type(kernel.params[i].dtype), names.params()[i]);
  for (const std::string& dim : names.dims()) text += fmt::format("  long long {}_;\n", dim);
  for (int i = 0; i < kernel.random_slots; ++i) text += fmt::format("  unsigned id{};\n", i);
  return text + "};\n";
}

std::string body_argument_list(const Kernel& kernel, const gpu::KernelNames& names) {
  std::string list = "random";
  for (const std::string& param : names.params()) list += ", " + param;
  for (const std::string& dim : names.dims()) list += fmt::format(", {}_", dim);
  for (int i = 0; i < kernel.random_slots; ++i) list += fmt::format(", id{}", i);
  return list;
}

std::string body_function(const Kernel& kernel, const gpu::KernelNames& names, const std::string& head,
                          const std::string& text) {
  return fmt::format("{} {{\n{}{}}}\n\n", head, unpacked(kernel, names, text), text);
}

}  // namespace smelt
