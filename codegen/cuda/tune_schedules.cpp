#include "codegen/cuda/tune_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/kernel_trial.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/scheduling/schedule.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "ir/kernel/schedule_fields.h"
#include "runtime/base/error.h"
#include "runtime/cuda/cubin_cache.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

using cuda::KernelTrial;

/// The size range of kernels to tune: smaller kernels take as long as their launch; larger ones do not fit in
/// memory next to the model.
constexpr int64_t kSmallest = 256 << 10, kLargest = int64_t{4} << 30;
/// The largest time of a new schedule, relative to the first one's. The tolerances of a result, relative to
/// the largest number of the first schedule's result: for values that are rounded for memory, and for sums
/// over all rows in f32, where one row must not be lost.
constexpr double kGain = 0.98, kTolerance = 1e-2, kSumTolerance = 1e-4;

/// Returns a symbol's own bound, or the bound of the first product that contains the symbol.
int64_t bound_of(const std::string& name, const Symbols& symbols) {
  for (const bool own : {true, false})
    for (const Symbols::Bound& bound : symbols.bounds())
      if (std::ranges::count(bound.factors, name) > 0 && (!own || bound.factors.size() == 1))
        return bound.upper;
  return 1;
}

/// Every symbol at its bound, or as near as bounds of products let all of them be.
SymbolValues largest_values(const Symbols& symbols) {
  SymbolValues values;
  for (const std::string& name : symbols.names()) values[name] = bound_of(name, symbols);
  const auto fits = [&] {
    try {
      return symbols.check(values), true;
    } catch (const Error&) {
      return false;
    }
  };
  const auto above_least = [&](const auto& value) { return value.second - symbols.lower(value.first); };
  while (!values.empty() && !fits()) {
    auto& [name, largest] = *std::ranges::max_element(values, {}, above_least);
    if (largest <= symbols.lower(name)) break;
    largest = std::max(symbols.lower(name), largest / 2);
  }
  return values;
}

/// The default, made lighter until its code fits registers.
void make_lean(Kernel& kernel, int architecture) {
  const auto lean = [&] {
    return is_lean(compile_cuda(CudaSource{emit_cuda(kernel, {}), kernel.name}, architecture).resources);
  };
  while (!lean() && lighten_schedule(kernel)) {
  }
}

// ---- what is known already

std::string key_of(Kernel kernel, const SymbolValues& values) {
  kernel.name = "kernel";
  std::string text = print(kernel);
  for (const Dim& dim : launch_dims(kernel)) text += fmt::format(" {}", dim.evaluate(values));
  return CubinCache::key(text + fmt::format(" {}", kernel.range().evaluate(values)));
}

class KnownSchedules {
 public:
  explicit KnownSchedules(const std::string& device) {
    if (cache_directory().empty()) return;
    file_ = cache_directory() / fmt::format("schedules-{}.json", file_name_part(device));
    known_ = read();
  }

  /// Returns the stored schedule if it is one of the candidates.
  const Schedule* find(const std::string& key, const std::vector<Schedule>& candidates) const {
    const auto entry = known_.find(key);
    if (entry == known_.end() || !entry->is_object()) return nullptr;
    for (const Schedule& candidate : candidates)
      if (to_json(candidate) == *entry) return &candidate;
    return nullptr;
  }

  void add(const std::string& key, const Schedule& schedule) { fresh_[key] = to_json(schedule); }

  /// Entries that another process has added in the meantime stay; a directory that cannot be written is no
  /// error.
  void save() {
    if (fresh_.empty() || file_.empty()) return;
    try {
      std::filesystem::create_directories(file_.parent_path());
      Json all = read();
      all.update(fresh_);
      write_file(file_, all.dump());
    } catch (const std::exception&) {
    }
  }

 private:
  static Json to_json(const Schedule& schedule) {
    Json json;
    visit_schedule_fields([&](const char* word, auto member) { json[word] = schedule.*member; });
    return json;
  }

  Json read() const {
    std::error_code error;
    if (!std::filesystem::exists(file_, error)) return Json::object();
    try {
      Json json = parse_json_or_null(read_text_file(file_));
      return json.is_object() ? json : Json::object();
    } catch (const Error&) {
      return Json::object();
    }
  }

  std::filesystem::path file_;
  Json known_ = Json::object(), fresh_ = Json::object();
};

// ---- trials

struct Candidate {
  Schedule schedule;
  cuda::ModuleOwner module;
  cuda::Function function = nullptr;
  double seconds = 0;
};

/// Returns the candidates whose code fits registers.
std::vector<Candidate> compiled(const Kernel& kernel, const std::vector<Schedule>& schedules,
                                int architecture) {
  std::vector<CudaSource> texts;
  for (const Schedule& schedule : schedules) {
    Kernel other = kernel;
    take_schedule(other, schedule);
    texts.push_back({emit_cuda(other, {}), kernel.name});
  }
  const std::vector<Cubin> cubins = compile_cuda(texts, architecture);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < cubins.size(); ++i) {
    if (!is_lean(cubins[i].resources)) continue;
    cuda::Module module = nullptr;
    cuda::check(cuda::driver().ModuleLoadData(&module, cubins[i].bytes.data()), "loading a kernel to try");
    Candidate& candidate = candidates.emplace_back();
    candidate.schedule = schedules[i], candidate.module = cuda::ModuleOwner(module);
    cuda::check(cuda::driver().ModuleGetFunction(&candidate.function, module, kernel.name.c_str()),
                "finding a kernel to try");
  }
  return candidates;
}

bool agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  float largest = 0;
  for (const float x : a)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::fabs(a[i] - b[i]) <= tolerance * largest)) return false;
  }
  return true;
}

/// Each result by its own size: sums over rows would hide what is wrong with a mean.
bool all_agree(const Kernel& kernel, const std::vector<std::vector<float>>& a,
               const std::vector<std::vector<float>>& b) {
  size_t result = 0;
  for (const KernelParam& param : kernel.params) {
    if (!param.output) continue;
    if (!agree(a[result], b[result], param.partial ? kSumTolerance : kTolerance)) return false;
    ++result;
  }
  return true;
}

/// The kernel alone, on one set of arguments: what a trial launches.
Kernel alone(Kernel kernel) {
  kernel.copies = 1;
  kernel.beside.clear(), kernel.tail.clear();
  return kernel;
}

/// The fastest that is right, and how many there were.
TunedKernel measure(const cuda::Device& device, Kernel& kernel, const SymbolValues& values,
                    const std::vector<Schedule>& schedules, int architecture) {
  std::vector<Candidate> candidates = compiled(kernel, schedules, architecture);
  TunedKernel tuned{
      .name = kernel.name, .tried = static_cast<int>(candidates.size()), .schedule = kernel.schedule};
  if (candidates.empty() || candidates[0].schedule != schedules[0]) return tuned;
  KernelTrial trial(device, kernel, values);
  for (Candidate& candidate : candidates)
    candidate.seconds = trial.seconds(candidate.function, candidate.schedule);
  tuned.first_seconds = tuned.seconds = candidates[0].seconds;
  const std::vector<std::vector<float>> wanted =
      trial.results(candidates[0].function, candidates[0].schedule);
  std::sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.seconds < b.seconds; });
  for (const Candidate& candidate : candidates) {
    if (candidate.seconds > kGain * tuned.first_seconds) break;
    if (!all_agree(kernel, wanted, trial.results(candidate.function, candidate.schedule))) continue;
    kernel.schedule = tuned.schedule = candidate.schedule;
    tuned.seconds = candidate.seconds;
    break;
  }
  return tuned;
}

}  // namespace

std::vector<TunedKernel> tune_schedules(Program& program, const Target& target, int ordinal) {
  if (target.back_end != BackEnd::cuda)
    fail("schedules are timed on a GPU: the target is '{}'", target.str());
  const cuda::Device& device = cuda::Device::open(ordinal);
  if (device.info().compute_capability != target.compute_capability)
    fail_with(Status::unavailable, "schedules for {} cannot be timed on this machine's {} (sm_{})",
              target.str(), device.info().name, device.info().compute_capability);
  KnownSchedules known(device.info().name);
  const SymbolValues values = largest_values(program.symbols);
  std::vector<TunedKernel> all;
  for (Kernel& whole : program.kernels) {
    if (whole.has_template()) continue;
    Kernel kernel = alone(whole);
    const int64_t bytes = KernelTrial::is_possible(kernel) ? KernelTrial::bytes(kernel, values) : 0;
    if (bytes < kSmallest || bytes > kLargest) continue;
    make_lean(kernel, target.compute_capability);
    std::vector<Schedule> schedules = schedule_candidates(kernel, program.symbols);
    const std::string key = key_of(kernel, values);
    if (const Schedule* schedule = known.find(key, schedules)) {
      take_schedule(whole, *schedule);
      all.push_back({.name = kernel.name, .schedule = *schedule});
      continue;
    }
    try {
      all.push_back(measure(device, kernel, values, schedules, target.compute_capability));
    } catch (const Error& error) {
      fail_with(error.status(), "tuning kernel {}: {}", kernel.name, error.what());
    }
    take_schedule(whole, kernel.schedule);
    known.add(key, kernel.schedule);
  }
  known.save();
  return all;
}

}  // namespace smelt
