#include "compiler/cli/commands/verify_report.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace smelt::cli {
namespace {

constexpr double kZeroReference = 1e-6;

}  // namespace

double norm(std::span<const float> values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum);
}

void VerifyReport::add(const std::string& what, double error, double bound) {
  const bool good = error <= bound;
  add_row(what, fmt::format("{:.2e}", error), fmt::format("{:.2e}", bound), good);
}

void VerifyReport::add_tensor(const std::string& what, std::span<const float> value,
                              std::span<const float> reference, double bound) {
  if (value.size() != reference.size())
    return add_row(what, fmt::format("{} elements", value.size()), fmt::format("{}", reference.size()),
                   false);
  const double size = norm(reference);
  if (size == 0)
    add(what, distance(value, reference), kZeroReference);
  else
    add(what, distance(value, reference) / size, bound);
}

void VerifyReport::add_exact(const std::string& what, const std::string& found, bool good) {
  add_row(what, found, "exact", good);
}

void VerifyReport::add_note(const std::string& what, const std::string& found) {
  table_.add({what, found, "", ""});
}

void VerifyReport::add_row(const std::string& what, std::string error, std::string bound, bool good) {
  ++(good ? passed_ : failed_);
  table_.add({what, std::move(error), std::move(bound), good ? "ok" : "FAILED"});
}

}  // namespace smelt::cli
