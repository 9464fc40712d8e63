#include "compiler/cli/commands/dump_files.h"

#include <fmt/format.h>

#include "codegen/code_generator.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

void write_kernels(const Compilation& compilation, const std::filesystem::path& directory) {
  make_directories(directory);
  for (const ListedKernel& listed : listed_kernels(compilation.program)) {
    const Kernel& kernel = *listed.kernel;
    const CodeGenerator& generator =
        code_generator(kernel.schedule.threads > 0 ? BackEnd::cuda : BackEnd::cpu);
    write_file(directory / (kernel.name + ".kernel"), print(kernel));
    write_file(directory / fmt::format("{}{}", kernel.name, generator.suffix()), generator.listing(listed));
  }
}

Json report_of(const MemoryReport& report) {
  Json roles = Json::object();
  for (const auto& [role, bytes] : report.by_role) roles[std::string(name(role))] = bytes;
  return {{"entry", report.entry},
          {"arena", report.arena},
          {"without_reuse", report.without_reuse},
          {"lower_bound", report.lower_bound},
          {"by_role", roles}};
}

/// [byte, first step, last step] of each.
Json parts_of(const Buffer& buffer) {
  Json parts = Json::array();
  for (const BufferPart& part : buffer.parts) parts.push_back({part.begin, part.first_step, part.last_step});
  return parts;
}

Json buffers_of(const Program& program) {
  Json buffers = Json::array();
  for (const Buffer& b : program.buffers)
    buffers.push_back({{"name", b.name},
                       {"role", name(b.role)},
                       {"elements", b.elements.str()},
                       {"bytes", b.bytes},
                       {"offset", b.offset_bytes},
                       {"first_step", b.first_step},
                       {"last_step", b.last_step},
                       {"parts", parts_of(b)}});
  return buffers;
}

}  // namespace

void write_dump_files(const Compilation& compilation, const std::filesystem::path& directory) {
  if (compilation.program.entries.empty()) return;
  write_kernels(compilation, directory / "kernels");
  Json entries = Json::array();
  for (const MemoryReport& report : compilation.memory) entries.push_back(report_of(report));
  const Json json = {{"entries", entries}, {"buffers", buffers_of(compilation.program)}};
  write_file(directory / "memory.json", json.dump(1) + "\n");
}

}  // namespace smelt::cli
