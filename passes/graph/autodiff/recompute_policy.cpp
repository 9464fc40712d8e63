#include "passes/graph/autodiff/recompute_policy.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr double kMilli = 1e-3;
constexpr RecomputePolicy kLayers = {.seconds_per_gib = std::numeric_limits<double>::infinity(), .layers = 1};

/// Not below 0; "inf" is one.
double read_number(std::string_view key, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || std::isnan(value) || value < 0)
    fail("recompute: {} is '{}', expected a number from 0 up{}", key, text,
         key == "price" || key == "rest" ? " (ms a GiB) or inf" : "");
  return value;
}

}  // namespace

std::string RecomputePolicy::str() const {
  if (!has_price()) return "cheap";
  std::string text = fmt::format("price={:.4g}", seconds_per_gib / kMilli);
  if (layers > 0) text += fmt::format(",layers={}", layers);
  if (share < 1) text += fmt::format(",share={:.4g}", share);
  if (share < 1 && rest > 0) text += fmt::format(",rest={:.4g}", rest / kMilli);
  return text;
}

RecomputePolicy parse_recompute_policy(std::string_view text) {
  if (text == "cheap") return {};
  if (text == "layers") return kLayers;
  RecomputePolicy policy;
  llvm::SmallVector<llvm::StringRef, 3> parts;
  llvm::StringRef(text).split(parts, ',');
  for (const llvm::StringRef part : parts) {
    const auto [key, value] = part.split('=');
    set_option(policy, key.trim(), value.trim());
  }
  return policy;
}

void set_option(RecomputePolicy& policy, std::string_view key, std::string_view value) {
  if (key == "price") {
    policy.seconds_per_gib = read_number(key, value) * kMilli;
  } else if (key == "rest") {
    policy.rest = read_number(key, value) * kMilli;
  } else if (key == "share") {
    policy.share = read_number(key, value);
    if (policy.share > 1) fail("recompute: share is {}, expected a part of the segments, from 0 to 1", value);
  } else if (key == "layers") {
    const double layers = read_number(key, value);
    if (layers > 1e6 || layers != std::floor(layers))
      fail("recompute: layers is {}, expected a whole number, such as 2", value);
    policy.layers = static_cast<int64_t>(layers);
  } else {
    fail(
        "recompute: '{}' is not known; expected cheap, layers, or parts of "
        "price=MS,layers=N,share=PART,rest=MS",
        key);
  }
}

}  // namespace smelt
