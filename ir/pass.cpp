#include "ir/pass.h"

#include <fmt/ranges.h>

#include "ir/text/names.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Names of the version before.
constexpr std::pair<std::string_view, std::string_view> kRenamedPasses[] = {
    {"raise_attention", "match_attention"},
    {"share_heads", "group_query_heads"},
    {"fuse_few_rows", "fuse_small_m"},
    {"offer_gemm_bodies", "offer_gemm_epilogues"}};

/// A reader of pipeline text.
struct PipelineReader {
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
  PassArguments arguments() {
    PassArguments result;
    if (!take('{')) return result;
    do {
      std::string key = until("={},", "the name of an option");
      if (!take('=')) fault("'='");
      result.emplace_back(std::move(key), until("{},", "a value"));
    } while (take(','));
    if (!take('}')) fault("',' or '}'");
    return result;
  }
};

}  // namespace

std::string_view name(PassUnit unit) {
  static constexpr std::string_view kNames[] = {"graph", "module", "lowering", "program", "kernel"};
  return kNames[static_cast<size_t>(unit)];
}

std::string PassCall::str() const {
  if (arguments.empty()) return name;
  std::vector<std::string> items;
  for (const auto& [key, value] : arguments) items.push_back(key + "=" + value);
  return fmt::format("{}{{{}}}", name, fmt::join(items, ","));
}

std::string str(llvm::ArrayRef<PassCall> calls) {
  std::string text;
  for (const PassCall& call : calls) text += (text.empty() ? "" : ",") + call.str();
  return text;
}

PassRegistry::PassRegistry(std::initializer_list<llvm::ArrayRef<Pass>> tables) {
  for (const llvm::ArrayRef<Pass> table : tables) passes_.insert(passes_.end(), table.begin(), table.end());
}

const Pass& PassRegistry::find(std::string_view name) const {
  for (const Pass& pass : passes_)
    if (pass.name == name) return pass;
  for (const auto& [before, now] : kRenamedPasses)
    if (name == before) fail("pass {} is now {}", before, now);
  std::vector<std::string> names;
  for (const Pass& pass : passes_) names.emplace_back(pass.name);
  fail("there is no pass '{}'; there are {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
}

std::vector<PassCall> PassRegistry::parse(std::string_view pipeline) const {
  std::vector<PassCall> calls;
  PipelineReader reader{llvm::StringRef(pipeline).trim()};
  if (reader.text.empty()) return calls;
  do {
    const Pass& pass = find(reader.until(",{}", "the name of a pass"));
    PassArguments arguments = reader.arguments();
    PassBody body = pass.bind(pass.name, arguments);
    calls.push_back({std::string(pass.name), std::move(arguments), std::move(body)});
  } while (reader.take(','));
  if (reader.at != reader.text.size()) reader.fault("',' or the end");
  return calls;
}

}  // namespace smelt
