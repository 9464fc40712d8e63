#include "ir/pass_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kAbsent = "none";

template <typename Number>
Number option_number(const OptionSource& source, std::string_view what) {
  Number number{};
  const std::string_view text = source.text;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) source.expected(what);
  return number;
}

std::string text_of_names(const std::vector<std::string>& names) {
  return names.empty() ? std::string(kAbsent) : fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace

std::string option_text(bool value) { return value ? "true" : "false"; }
std::string option_text(int64_t value) { return std::to_string(value); }
std::string option_text(double value) { return fmt::format("{}", value); }
std::string option_text(DType value) { return std::string(name(value)); }
std::string option_text(const std::string& value) { return value; }
std::string option_text(const std::vector<std::string>& value) { return text_of_names(value); }
std::string option_text(const std::vector<Op>& value) {
  std::vector<std::string> names;
  for (const Op op : value) names.emplace_back(info(op).name);
  return text_of_names(names);
}
std::string option_text(const Target& value) { return value.str(); }
std::string option_text(const std::optional<Target>& value) {
  return value ? value->str() : std::string(kAbsent);
}
std::string option_text(const std::optional<double>& value) {
  return value ? option_text(*value) : std::string(kAbsent);
}
std::string option_text(const ScaledOption& value) { return fmt::format("{:.4g}", value.value / value.unit); }
std::string option_text(const OptionalNumber& value) {
  return value.present ? option_text(value.value) : std::string(kAbsent);
}

void OptionSource::expected(std::string_view what) const {
  fail("pass {}: {} is '{}', expected {}", pass, key, text, what);
}

void OptionSource::check_range(double number, double least, double most) const {
  if (number >= least && number <= most) return;
  if (std::isinf(most)) expected(fmt::format("a number from {} on", least));
  expected(fmt::format("a number from {} to {}", least, most));
}

void OptionSource::expected_one_of(llvm::ArrayRef<std::string_view> names) const {
  expected(fmt::format("{} or {}", fmt::join(names.drop_back(), ", "), names.back()));
}

void read_option(const OptionSource& source, bool& value) {
  if (source.text != "true" && source.text != "false") source.expected("true or false");
  value = source.text == "true";
}
void read_option(const OptionSource& source, int64_t& value) {
  value = option_number<int64_t>(source, "a whole number");
}
void read_option(const OptionSource& source, int& value) {
  value = option_number<int>(source, "a whole number");
}
void read_option(const OptionSource& source, double& value) {
  value = option_number<double>(source, "a number");
}
void read_option(const OptionSource& source, DType& value) {
  const std::optional<DType> dtype = parse_dtype(source.text);
  if (!dtype || (*dtype != DType::f32 && *dtype != DType::bf16 && *dtype != DType::f16))
    source.expected("bf16, f16 or f32");
  value = *dtype;
}
void read_option(const OptionSource& source, std::string& value) { value = source.text; }
void read_option(const OptionSource& source, std::vector<std::string>& value) {
  llvm::SmallVector<llvm::StringRef, 4> names;
  if (source.text != kAbsent) llvm::StringRef(source.text).split(names, '+', -1, false);
  value.assign(names.begin(), names.end());
}
void read_option(const OptionSource& source, std::vector<Op>& value) {
  std::vector<std::string> names;
  read_option(source, names);
  value.clear();
  for (const std::string& name : names) {
    const auto op = parse_op(name);
    if (!op || !info(*op).has(Trait::composite)) source.expected("composite ops (ops.def lists them)");
    value.push_back(*op);
  }
}
static Target target_of(const OptionSource& source) {
  try {
    return parse_target(source.text);
  } catch (const Error& error) {
    fail("pass {}: {}: {}", source.pass, source.key, error.what());
  }
}
void read_option(const OptionSource& source, Target& value) {
  Target named = target_of(source);
  named.attention = value.attention, named.gemm_epilogues = value.gemm_epilogues;
  named.same_bits = value.same_bits;
  value = named;
}
void read_option(const OptionSource& source, std::optional<Target>& value) {
  value = source.text == kAbsent ? std::nullopt : std::optional(target_of(source));
}
void read_option(const OptionSource& source, std::optional<double>& value) {
  value.reset();
  if (source.text == kAbsent) return;
  read_option(source, value.emplace());
}
void read_option(const OptionSource& source, const ScaledOption& value) {
  double number = 0;
  read_option(source, number);
  source.check_range(number, value.least, std::numeric_limits<double>::infinity());
  value.value = number * value.unit;
}
void read_option(const OptionSource& source, const OptionalNumber& value) {
  value.present = source.text != kAbsent;
  if (value.present) read_option(source, value.value);
}

void OptionReader::finish() const {
  if (found_) return;
  if (keys_.empty()) fail("pass {} takes no option ('{}' given)", source_.pass, source_.key);
  fail("pass {} has no option '{}': expected {}", source_.pass, source_.key, fmt::join(keys_, ", "));
}

}  // namespace smelt
