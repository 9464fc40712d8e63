#include "codegen/launches/launch_passes.h"

#include <algorithm>
#include <set>

#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/launches/gemm_epilogue_kernel.h"
#include "codegen/launches/join_steps.h"
#include "ir/analysis/step_footprint.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

/// The least work for which a measurement can tell a difference: products of the three extents, and bytes
/// that the kernel moves. Sums of bytes are four times as wide as these, so less of them is worth the trial.
constexpr int64_t kLeastProducts = int64_t{1} << 30, kLeastBytes = int64_t{32} << 20,
                  kLeastBytesOfSums = kLeastBytes / 4;

/// A matmul and the step that reads its result.
struct Pair {
  size_t gemm, kernel;
};

/// A template's kernel for both, and its readable name.
struct Way {
  std::string name;
  GemmEpilogue body;
};

class EntryBodies {
 public:
  EntryBodies(Program& program, PlanEntry& entry, const Target& target)
      : program_(program), entry_(entry), target_(target) {}

  bool run() {
    bool changed = false;
    for (size_t i = 0; i < entry_.steps.size(); ++i)
      while (offer(i)) changed = true;  // where a matmul has moved down, another step is in its place
    return changed;
  }

 private:
  std::vector<Step>& steps() { return entry_.steps; }

  bool offer(size_t gemm) {
    const auto kernel = reader_of(gemm);
    if (!kernel || !is_large(gemm, *kernel)) return false;
    const bool kept = is_seen_elsewhere({gemm, *kernel});
    if (!keeps_what_is_read({gemm, *kernel})) return false;
    std::vector<Way> ways;
    for (const GemmEpilogueTiles& tiles :
         gemm_epilogue_tiles(target_, std::get<GemmStep>(steps()[gemm].what)))
      if (auto body = body_of({gemm, *kernel}, tiles, kept)) ways.push_back({tiles.name, std::move(*body)});
    if (ways.empty()) return false;
    const auto at = bring_together({gemm, *kernel});
    if (!at) return false;
    if (is_measured())
      choose(*at, std::move(ways), kept);
    else
      replace(*at, std::move(is_wide() ? ways.back() : ways.front()), kept);
    return true;
  }

  bool is_measured() const { return target_.gemm_epilogues == GemmEpilogues::measured; }
  bool is_wide() const {
    return target_.gemm_epilogues == GemmEpilogues::wide || target_.gemm_epilogues == GemmEpilogues::mma_wide;
  }

  /// The next step that reads or writes the result, if it is a kernel that reads it.
  std::optional<size_t> reader_of(size_t at) {
    const auto* gemm = std::get_if<GemmStep>(&steps()[at].what);
    if (!gemm || steps()[at].choice >= 0) return std::nullopt;
    const int result = gemm->c.base.buffer;
    for (size_t i = at + 1; i < steps().size(); ++i) {
      if (!touches(steps()[i], result)) continue;
      const bool reads = std::ranges::count(steps()[i].reads, result) > 0;
      const bool is_kernel = std::holds_alternative<KernelStep>(steps()[i].what) && steps()[i].choice < 0;
      return reads && is_kernel ? std::optional(i) : std::nullopt;
    }
    return std::nullopt;
  }

  bool is_large(size_t at, size_t kernel) {
    if (!is_measured()) return true;
    const auto& gemm = std::get<GemmStep>(steps()[at].what);
    Dim rows = gemm.m;
    for (const GemmStep::Batch& axis : gemm.batch) rows *= axis.extent;
    double products = 1;
    for (const Dim& dim : {rows, gemm.n, gemm.k})
      products *= static_cast<double>(program_.symbols.upper(dim));
    const auto is_result = [&](int buffer) {
      return program_.buffers[static_cast<size_t>(buffer)].role != Role::workspace;
    };
    const int64_t moved = bytes_at_bounds(program_.symbols, rows * gemm.n, gemm.result_dtype) *
                          (1 + std::ranges::count_if(steps()[kernel].writes, is_result));
    return products >= static_cast<double>(kLeastProducts) &&
           moved >= (gemm.dtype == DType::i8 ? kLeastBytesOfSums : kLeastBytes);
  }

  /// Returns whether a third step uses the result, or it is used after the run.
  bool is_seen_elsewhere(const Pair& pair) {
    const int result = std::get<GemmStep>(steps()[pair.gemm].what).c.base.buffer;
    if (!in_arena(program_.buffers[static_cast<size_t>(result)].role)) return true;
    for (const Port& port : entry_.outputs)
      if (port.buffer == result) return true;
    for (size_t i = 0; i < steps().size(); ++i)
      if (i != pair.gemm && i != pair.kernel && touches(steps()[i], result)) return true;
    return false;
  }

  std::optional<GemmEpilogue> body_of(const Pair& pair, const GemmEpilogueTiles& tiles, bool kept) {
    return gemm_epilogue(program_, std::get<GemmStep>(steps()[pair.gemm].what),
                         std::get<KernelStep>(steps()[pair.kernel].what), tiles, kept, target_);
  }

  /// The template's step, with its kernel in the program.
  Step step_of(const Pair& pair, GemmEpilogue made) {
    const Step &gemm = steps()[pair.gemm], &reader = steps()[pair.kernel];
    Step step = reader;
    step.recomputed = gemm.recomputed;
    step.reads.clear(), step.writes.clear();
    for (size_t i = 0; i < made.arguments.size(); ++i)
      (made.kernel.params[i].output ? step.writes : step.reads).push_back(made.arguments[i].buffer);
    step.sources.insert(step.sources.begin(), gemm.sources.begin(), gemm.sources.end());
    dedupe(step.sources);
    const int result = std::get<GemmStep>(gemm.what).c.base.buffer;
    // Other tiles still read the matmul's operands when one is stored.
    std::erase_if(step.may_alias, [&](const auto& alias) {
      return alias.second == result || std::ranges::count(gemm.reads, alias.second) > 0;
    });
    program_.kernels.push_back(std::move(made.kernel));
    step.what = KernelStep{.kernel = static_cast<int>(program_.kernels.size()) - 1,
                           .arguments = std::move(made.arguments),
                           .random_ids = std::get<KernelStep>(reader.what).random_ids,
                           .random_parts = std::get<KernelStep>(reader.what).random_parts};
    return step;
  }

  static void dedupe(std::vector<std::string>& names) {
    std::vector<std::string> once;
    for (std::string& name : names)
      if (std::ranges::count(once, name) == 0) once.push_back(std::move(name));
    names = std::move(once);
  }

  int memory(int buffer) const {
    const int state = program_.buffers[static_cast<size_t>(buffer)].state;
    return state < 0 ? buffer : -2 - state;
  }

  /// Returns whether neither step writes data that one of them reads, except for the result, so that each may
  /// run many times.
  bool keeps_what_is_read(const Pair& pair) {
    const int result = std::get<GemmStep>(steps()[pair.gemm].what).c.base.buffer;
    std::set<int> written;
    for (const size_t i : {pair.gemm, pair.kernel})
      for (const int buffer : steps()[i].writes) written.insert(memory(buffer));
    for (const size_t i : {pair.gemm, pair.kernel})
      for (const int buffer : steps()[i].reads)
        if (buffer != result && written.count(memory(buffer))) return false;
    return std::ranges::count(steps()[pair.kernel].writes, result) == 0;
  }

  /// Moves the kernel up to the matmul, or the matmul down to the kernel, past steps that share nothing with
  /// it.
  std::optional<Pair> bring_together(const Pair& pair) {
    const auto conflicts = [&](size_t moved) {
      const Footprint own = footprint(program_, steps()[moved]);
      for (size_t i = pair.gemm + 1; i < pair.kernel; ++i)
        if (conflict(own, footprint(program_, steps()[i]))) return true;
      return false;
    };
    const auto at = [&](size_t i) { return steps().begin() + static_cast<std::ptrdiff_t>(i); };
    if (!conflicts(pair.kernel)) {
      std::rotate(at(pair.gemm + 1), at(pair.kernel), at(pair.kernel + 1));
      return Pair{pair.gemm, pair.gemm + 1};
    }
    if (conflicts(pair.gemm)) return std::nullopt;
    std::rotate(at(pair.gemm), at(pair.gemm + 1), at(pair.kernel));
    return Pair{pair.kernel - 1, pair.kernel};
  }

  /// Replaces both steps by the first variant. A result that no other step reads gets no memory.
  void replace(const Pair& pair, Way way, bool kept) {
    if (!kept)
      program_.buffers[static_cast<size_t>(std::get<GemmStep>(steps()[pair.gemm].what).c.base.buffer)]
          .elements = 0;
    steps()[pair.gemm] = step_of(pair, std::move(way.body));
    steps().erase(steps().begin() + static_cast<std::ptrdiff_t>(pair.kernel));
  }

  /// The kernel of the first alternative may still take the memory of the result, which that alternative
  /// makes.
  void choose(const Pair& pair, std::vector<Way> ways, bool kept) {
    const int result = std::get<GemmStep>(steps()[pair.gemm].what).c.base.buffer;
    const int choice = static_cast<int>(entry_.choices.size());
    Choice& made = entry_.choices.emplace_back();
    made.alternatives.push_back("a library's call and a kernel");
    std::vector<Step> others;
    for (Way& way : ways) {
      Step& step = others.emplace_back(step_of(pair, std::move(way.body)));
      step.may_alias.clear();
      step.choice = choice, step.alternative = static_cast<int>(made.alternatives.size());
      made.alternatives.push_back(std::move(way.name));
    }
    std::erase_if(steps()[pair.kernel].may_alias,
                  [&](const auto& alias) { return kept || alias.second != result; });
    steps()[pair.gemm].choice = steps()[pair.kernel].choice = choice;
    steps().insert(steps().begin() + static_cast<std::ptrdiff_t>(pair.kernel) + 1, others.begin(),
                   others.end());
  }

  Program& program_;
  PlanEntry& entry_;
  const Target& target_;
};

}  // namespace

bool offer_gemm_epilogues(Program& program, const Target& target) {
  if (target.gemm_epilogues == GemmEpilogues::off) return false;
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= EntryBodies(program, entry, target).run();
  return changed;
}

}  // namespace smelt
