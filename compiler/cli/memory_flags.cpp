#include "compiler/cli/memory_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/cli/text_table.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/error.h"

namespace smelt::cli {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},          {"B", 1},           {"KiB", 1 << 10}, {"MiB", 1 << 20},
                           {"GiB", 1 << 30}, {"TiB", 1LL << 40}, {"KB", 1e3},      {"MB", 1e6},
                           {"GB", 1e9},      {"TB", 1e12}};
constexpr double kMostBytes = 1e18;

}  // namespace

void MemoryFlags::add_to(CLI::App& app) {
  app.add_option(
      "--memory-budget", budget,
      "of training, on each rank: take the fastest plan whose states and arena fit, such as 12GiB or "
      "800MiB (docs/memory_budget.md)");
  app.add_option(
      "--recompute", recompute,
      "what backward computes again to save memory: cheap (no matmuls; default), layers (all but the "
      "layers' inputs), or a line of dump --memory-curve, such as price=2.5,layers=1");
  app.add_option(
      "--offload-optimizer", offload,
      "of training on a GPU: how much of the f32 masters and moments lies in the host's memory and is copied "
      "in and out by each update: all, none, a share such as 50%, or bytes such as 6GiB (default: what "
      "exceeds "
      "--memory-budget; docs/memory_budget.md)");
  app.add_option("--offload-bucket", offload_bucket,
                 "bytes of each that are copied at once, such as 16MiB (default: 32MiB)");
}

/// A CPU has one memory, which is the host's.
void MemoryFlags::apply_offload(CompileOptions& options) const {
  if (!offload_bucket.empty()) options.offload.bucket = parse_bytes(offload_bucket);
  if (offload.empty()) return;
  const int64_t bucket = options.offload.bucket;
  options.offload = parse_offload(offload);
  options.offload.bucket = bucket;
  options.offload.automatic = false;
  if (!options.offload.on()) return;
  if (options.mode != Mode::train)
    fail("--offload-optimizer is for training: what --mode=infer makes has no masters and no moments");
  if (!resolved_target(options).is_cuda())
    fail(
        "--offload-optimizer moves states from a GPU's memory to the host's, and the target is {}, which has "
        "that memory alone: leave it out, or give --target=cuda",
        options.target);
}

void MemoryFlags::apply(CompileOptions& options) const {
  apply_offload(options);
  if (!budget.empty() && !recompute.empty())
    fail("--memory-budget chooses what is computed again: leave it or --recompute out");
  if (!budget.empty()) options.memory_budget = parse_bytes(budget);
  if (!recompute.empty()) options.recompute = parse_recompute_policy(recompute);
  if (options.recompute.has_price() && !options.pipeline.empty())
    fail(
        "--recompute is of the default pipeline: give its parts as those of rematerialize{{...}} in "
        "--pipeline");
}

OffloadStatesOptions parse_offload(std::string_view text) {
  if (text == "all") return {.share = 1};
  if (text == "none") return {};
  if (!text.ends_with('%')) return {.bytes = parse_bytes(text)};
  double percent = 0;
  const std::string_view number = text.substr(0, text.size() - 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (error != std::errc{} || end != number.data() + number.size() || !(percent >= 0 && percent <= 100))
    fail("--offload-optimizer is '{}': expected all, none, 0% to 100%, or bytes such as 6GiB", text);
  return {.share = percent / 100};
}

int64_t parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest =
      text.substr(error == std::errc{} ? static_cast<size_t>(end - text.data()) : 0);
  const std::string_view name = llvm::StringRef(rest).trim();
  const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
  if (error != std::errc{} || unit == std::end(kUnits) || !(number > 0) || number * unit->bytes > kMostBytes)
    fail("'{}' is no amount of memory: expected one such as 12GiB, 800MiB or 1073741824 (bytes)", text);
  return static_cast<int64_t>(number * unit->bytes);
}

std::string curve_text(const Compilation& compilation, std::optional<int64_t> budget) {
  const std::vector<MemoryPoint>& curve = compilation.curve;
  if (curve.empty()) return {};
  TextTable table({"", "recompute", "memory", "arena", "kept", "% kept", "predicted ms", "x", "FLOP again"});
  const MemoryPoint& first = curve.front();
  bool taken = !budget;
  for (const MemoryPoint& point : curve) {
    const bool takes = !taken && point.bytes() - compilation.offload_bytes <= *budget;
    taken |= takes;
    table.add({takes ? ">" : "", point.policy.str(), bytes_text(point.bytes()), bytes_text(point.arena_bytes),
               count_text(point.kept_bytes),
               fmt::format("{:.1f}", 100.0 * static_cast<double>(point.kept_bytes) /
                                         static_cast<double>(std::max<int64_t>(first.kept_bytes, 1))),
               fmt::format("{:.3f}", point.seconds * 1e3),
               fmt::format("{:.3f}", point.seconds / first.seconds),
               fmt::format("{:.3g}", point.recomputed_flops)});
  }
  if (compilation.offload_bytes == 0) return table.text();
  return table.text() + fmt::format("{} of the optimizer's states go to the host's memory\n",
                                    bytes_text(compilation.offload_bytes));
}

}  // namespace smelt::cli
