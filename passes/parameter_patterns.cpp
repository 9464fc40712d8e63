#include "passes/parameter_patterns.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

llvm::GlobPattern parsed(const std::string& text) {
  auto pattern = llvm::GlobPattern::create(text);
  if (pattern) return std::move(*pattern);
  fail("names of parameters: '{}' is no pattern: {}", text, llvm::toString(pattern.takeError()));
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const Module::Parameter& parameter : module.parameters) names.push_back(parameter.name);
  return names;
}

}  // namespace

std::vector<bool> parameters_that_fit(const Module& module, const std::vector<std::string>& patterns,
                                      bool may_be_unused) {
  std::vector<std::string> unused;
  std::vector<bool> fits(module.parameters.size());
  for (const std::string& text : patterns) {
    const llvm::GlobPattern pattern = parsed(text);
    bool used = false;
    for (auto [i, parameter] : llvm::enumerate(module.parameters))
      if (pattern.match(parameter.name)) used = fits[i] = true;
    if (!used) unused.push_back(text);
  }
  if (!unused.empty() && !may_be_unused)
    fail("no parameter has a name that fits {}; there are {}", fmt::join(unused, ", "),
         fmt::join(names_of(module), ", "));
  return fits;
}

}  // namespace smelt
