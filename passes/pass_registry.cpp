#include "passes/pass_registry.h"

#include <fmt/ranges.h>

#include "ir/text/nearest_names.h"
#include "llvm/ADT/StringRef.h"
#include "passes/autodiff/differentiate.h"
#include "passes/autodiff/differentiate_forward.h"
#include "passes/autodiff/make_backward.h"
#include "passes/autodiff/rectifier_masks.h"
#include "passes/autodiff/rematerialize.h"
#include "passes/axes/raise_attention.h"
#include "passes/axes/refine_axes.h"
#include "passes/axes/share_heads.h"
#include "passes/axes/sink_concats.h"
#include "passes/axes/sink_masks.h"
#include "passes/fusion/accumulate_gemms.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fuse_gemm_epilogues.h"
#include "passes/fusion/merge_gemms.h"
#include "passes/fusion/split_bodies.h"
#include "passes/memory/assign_layout.h"
#include "passes/memory/chunk_rows.h"
#include "passes/memory/store_ports.h"
#include "passes/precision/allow_tf32.h"
#include "passes/precision/assign_precision.h"
#include "passes/precision/keep_attention_rest.h"
#include "passes/precision/quantize_weights.h"
#include "passes/reductions/rewrite_reductions.h"
#include "passes/sharding/exchange_addends.h"
#include "passes/sharding/join_sums.h"
#include "passes/sharding/partition.h"
#include "passes/sharding/propagate_shardings.h"
#include "passes/sharding/reassociate_sums.h"
#include "passes/sharding/shard_sequences.h"
#include "passes/sharding/shard_training.h"
#include "passes/simplify/bind_symbols.h"
#include "passes/simplify/bound_ids.h"
#include "passes/simplify/decompose.h"
#include "passes/simplify/drop_stops.h"
#include "passes/simplify/guard_indices.h"
#include "passes/simplify/simplify.h"
#include "passes/training/apply_optimizer.h"
#include "passes/training/flatten_parameters.h"
#include "passes/training/freeze_parameters.h"
#include "passes/training/training_entries.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// Options with a set_option of their own take arguments; the others have none.
template <typename Options>
Options options_from(std::string_view pass, const PassArguments& arguments) {
  Options options;
  for (const auto& [key, value] : arguments) {
    if constexpr (requires { set_option(options, std::string_view(key), std::string_view(value)); })
      set_option(options, key, value);
    else
      fail("pass {} takes no option ('{}' given)", pass, key);
  }
  return options;
}

template <typename Options, bool (*pass)(Graph&, const Options&)>
bool run_graph(std::string_view name, Graph& graph, const PassArguments& arguments) {
  return pass(graph, options_from<Options>(name, arguments));
}

template <typename Options, bool (*pass)(Module&, const Options&)>
bool run_module(std::string_view name, Module& module, const PassArguments& arguments) {
  return pass(module, options_from<Options>(name, arguments));
}

constexpr bool required = true, optional = false;

constexpr PassInfo kPasses[] = {
#define SMELT_PASS(name, options, kind, text)                  \
  {#name, text, kind,                                          \
   [](Graph& graph, const PassArguments& arguments) {          \
     return run_graph<options, name>(#name, graph, arguments); \
   },                                                          \
   nullptr},
#define SMELT_MODULE_PASS(name, options, text)                                          \
  {#name, text, required, nullptr, [](Module& module, const PassArguments& arguments) { \
     return run_module<options, name>(#name, module, arguments);                        \
   }},
#include "passes/passes.def"
};

/// A reader of pipeline text.
struct Reader {
  llvm::StringRef text;
  size_t at = 0;

  [[noreturn]] void fault(std::string_view expected) const {
    fail("pipeline \"{}\": expected {} at position {}", std::string_view(text), expected, at);
  }
  void skip_spaces() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool take(char c) {
    skip_spaces();
    if (at == text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  std::string until(llvm::StringRef stops, std::string_view what) {
    skip_spaces();
    const size_t end = std::min(text.find_first_of(stops, at), text.size());
    const std::string word = text.slice(at, end).rtrim().str();
    if (word.empty()) fault(what);
    at = end;
    return word;
  }
};

PassArguments read_arguments(Reader& reader) {
  PassArguments arguments;
  if (!reader.take('{')) return arguments;
  do {
    std::string key = reader.until("={},", "the name of an option");
    if (!reader.take('=')) reader.fault("'='");
    arguments.emplace_back(std::move(key), reader.until("{},", "a value"));
  } while (reader.take(','));
  if (!reader.take('}')) reader.fault("',' or '}'");
  return arguments;
}

}  // namespace

llvm::ArrayRef<PassInfo> all_passes() { return kPasses; }

const PassInfo& find_pass(std::string_view name) {
  std::vector<std::string> names;
  for (const PassInfo& pass : kPasses) {
    if (pass.name == name) return pass;
    names.emplace_back(pass.name);
  }
  fail("there is no pass '{}'; there are {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
}

std::string PassCall::str() const {
  if (arguments.empty()) return name;
  std::vector<std::string> items;
  for (const auto& [key, value] : arguments) items.push_back(key + "=" + value);
  return fmt::format("{}{{{}}}", name, fmt::join(items, ","));
}

std::vector<PassCall> parse_pipeline(std::string_view text) {
  std::vector<PassCall> calls;
  Reader reader{llvm::StringRef(text).trim()};
  if (reader.text.empty()) return calls;
  do {
    PassCall call;
    call.name = reader.until(",{}", "the name of a pass");
    find_pass(call.name);
    call.arguments = read_arguments(reader);
    calls.push_back(std::move(call));
  } while (reader.take(','));
  if (reader.at != reader.text.size()) reader.fault("',' or the end");
  return calls;
}

}  // namespace smelt
