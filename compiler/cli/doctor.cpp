// smelt doctor: what this machine offers and what Smelt found on it.
#include <cblas.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "codegen/code_listing.h"
#include "compiler/cli/command.h"
#include "compiler/cli/copy_bandwidth.h"
#include "compiler/cli/subprocess.h"
#include "compiler/cli/text_table.h"
#include "runtime/cache_directory.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/memory.h"
#include "runtime/dynamic_library.h"
#include "runtime/smelt.h"

namespace smelt::cli {
namespace {

struct DoctorCommand {
  bool measure = true;
};

struct Library {
  const char* what;
  std::vector<const char*> names;
};
const Library kCudaLibraries[] = {
    {"CUDA driver", {"libcuda.so.1"}},
    {"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}},
    {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}},
    {"NCCL", {"libnccl.so.2"}},
};
constexpr const char* kEnvironment[] = {"SMELT_CACHE_DIR",      "SMELT_CHECK_STEPS", "SMELT_DEVICE",
                                        "SMELT_NUM_THREADS",    "OMP_NUM_THREADS",   "XDG_CACHE_HOME",
                                        "CUDA_VISIBLE_DEVICES", "NO_COLOR",          "LD_LIBRARY_PATH"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string find_any(const Library& library) {
  if (std::string path = find_library(library.names); !path.empty()) return path;
  std::string searched = environment("LD_LIBRARY_PATH");
  return fmt::format("not found: looked for {} in {}the loader's path, {}", fmt::join(library.names, ", "),
                     searched.empty() ? "" : "LD_LIBRARY_PATH (" + searched + "), ",
                     fmt::join(toolkit_folders(), ", "));
}

void run_doctor(const DoctorCommand& options) {
  TextTable table({"what", "found"});
  table.add({"smelt", SMELT_VERSION});
  table.add({"processor", processor()});
  table.add({"instructions", fmt::format("{}", fmt::join(host_features(), " "))});
  table.add({"compiles for", cpu_code_target()});
  table.add({"cores", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN))});
  table.add({"free memory", bytes_text(available_memory())});
  table.add({"threads (OpenMP)", std::to_string(omp_get_max_threads())});
  if (options.measure)
    table.add({"copy bandwidth", fmt::format("{:.1f} GB/s, all threads", copy_bytes_per_second() / 1e9)});
  table.add({"BLAS", fmt::format("{}; {} threads", openblas_get_config(), openblas_get_num_threads())});
  table.add({"code generator", cpu_code_generator()});
  table.add({"cache directory", cache_directory().string()});
  const std::string graphviz = find_program("dot");
  table.add({"Graphviz", graphviz.empty() ? "not found: graphs stay text (package graphviz)" : graphviz});
  for (const Library& library : kCudaLibraries) table.add({library.what, find_any(library)});
  for (const char* name : kEnvironment)
    if (const char* value = std::getenv(name)) table.add({name, value});
  fmt::print("{}", table.text());
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto options = std::make_shared<DoctorCommand>();
  CLI::App* command =
      app.add_subcommand("doctor", "Show what this machine offers and which libraries were found");
  command->add_flag("!--no-measure", options->measure, "leave the copy bandwidth out");
  on_call(command, options, run_doctor);
}

}  // namespace smelt::cli
