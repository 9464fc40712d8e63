#include "compiler/driver/option_forms.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"
#include "runtime/system/environment.h"

namespace smelt {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},          {"B", 1},           {"KiB", 1 << 10}, {"MiB", 1 << 20},
                           {"GiB", 1 << 30}, {"TiB", 1LL << 40}, {"KB", 1e3},      {"MB", 1e6},
                           {"GB", 1e9},      {"TB", 1e12}};
constexpr double kMostBytes = 1e18;
constexpr std::string_view kPrecisions = "fp32|tf32|bf16|fp16|fp8";
constexpr DType kStorage[] = {DType::f32, DType::f32, DType::bf16, DType::f16, DType::bf16};

/// The number that is the whole text.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

Symbols::Bound parse_bound(llvm::StringRef text) {
  const auto [names, number] = text.split('=');
  Symbols::Bound bound;
  llvm::SmallVector<llvm::StringRef, 2> factors;
  names.split(factors, '*');
  for (llvm::StringRef factor : factors) bound.factors.push_back(factor.trim().str());
  std::ranges::sort(bound.factors);
  if (names.trim().empty() || number.trim().getAsInteger(10, bound.upper) || bound.upper < 1)
    fail("expected bounds such as B=32,T=1024 or B*T=4096");
  return bound;
}

void add_bound(std::vector<Symbols::Bound>& bounds, Symbols::Bound bound) {
  for (const Symbols::Bound& other : bounds)
    if (other.factors == bound.factors && other.upper != bound.upper)
      fail("two bounds of {}, {} and {}: give one of them", fmt::join(bound.factors, "*"), other.upper,
           bound.upper);
  bounds.push_back(std::move(bound));
}

}  // namespace

int64_t parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest =
      text.substr(error == std::errc{} ? static_cast<size_t>(end - text.data()) : 0);
  const std::string_view name = llvm::StringRef(rest).trim();
  const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
  if (error != std::errc{} || unit == std::end(kUnits) || !(number * unit->bytes >= 1) ||
      number * unit->bytes > kMostBytes)
    fail("'{}' is no amount of memory: expected one such as 12GiB, 800MiB or 1073741824 (bytes)", text);
  return static_cast<int64_t>(number * unit->bytes);
}

OffloadStatesOptions parse_offload(std::string_view text) {
  if (text == "all") return {.share = 1};
  if (text == "none") return {};
  if (!text.ends_with('%')) return {.bytes = parse_bytes(text)};
  const auto percent = number_in<double>(text.substr(0, text.size() - 1));
  if (!percent || !(*percent >= 0 && *percent <= 100))
    fail("expected all, none, 0% to 100%, or bytes such as 6GiB");
  return {.share = *percent / 100};
}

std::vector<Symbols::Bound> parse_bounds(std::string_view text) {
  std::vector<Symbols::Bound> bounds;
  for (const std::string& part : split_list(text)) add_bound(bounds, parse_bound(part));
  return bounds;
}

std::string bounds_text(const std::vector<Symbols::Bound>& bounds) {
  std::vector<std::string> parts;
  for (const Symbols::Bound& bound : bounds)
    parts.push_back(fmt::format("{}={}", fmt::join(bound.factors, "*"), bound.upper));
  return join_list(parts);
}

std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> parts;
  for (const MeshAxis& axis : mesh.axes) parts.push_back(fmt::format("{}={}", axis.name, axis.size));
  return join_list(parts);
}

bool parse_flag(std::string_view text) {
  const std::string lower = llvm::StringRef(text).lower();
  if (lower == "true" || lower == "on" || lower == "yes" || lower == "1") return true;
  if (lower != "false" && lower != "off" && lower != "no" && lower != "0") fail("expected true or false");
  return false;
}

int64_t parse_whole(std::string_view text, int64_t least, int64_t most) {
  const auto number = number_in<int64_t>(text);
  if (!number || *number < least || *number > most) fail("expected {}", Whole{least, most}.values());
  return *number;
}

double parse_real(std::string_view text, double least, double most) {
  const auto number = number_in<double>(text);
  if (!number || *number < least || *number > most) fail("expected {}", Real{least, most}.values());
  return *number;
}

size_t parse_word(std::string_view text, std::string_view words) {
  llvm::SmallVector<llvm::StringRef, 6> all;
  llvm::StringRef(words).split(all, '|');
  const auto* found = std::ranges::find(all, llvm::StringRef(text));
  if (found == all.end()) fail("expected {}", alternatives_text(words));
  return static_cast<size_t>(found - all.begin());
}

std::string word_at(std::string_view words, size_t place) {
  llvm::SmallVector<llvm::StringRef, 6> all;
  llvm::StringRef(words).split(all, '|');
  return all[place].str();
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  llvm::SmallVector<llvm::StringRef, 4> all;
  llvm::StringRef(text).split(all, ',', -1, false);
  for (llvm::StringRef part : all) parts.push_back(part.str());
  return parts;
}

std::string join_list(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string Whole::values() const {
  return most == kAnyWhole ? fmt::format("a whole number from {} on", least)
                           : fmt::format("a whole number from {} to {}", least, most);
}

std::string Real::values() const {
  return most > std::numeric_limits<double>::max() ? "a number"
                                                   : fmt::format("a number from {} to {}", least, most);
}

void TargetForm::parse(std::string_view text, std::string& value) const {
  if (text != "native" && text != "cuda") parse_target(text);
  value = text;
}

void PrecisionForm::set(CompileOptions& options, std::string_view text) const {
  const size_t place = parse_word(text, kPrecisions);
  options.storage = kStorage[place];
  options.tf32 = text == "tf32", options.training.fp8 = text == "fp8";
}

std::string PrecisionForm::get(const CompileOptions& options) const {
  if (options.tf32) return "tf32";
  if (options.training.fp8) return "fp8";
  return word_at(kPrecisions, static_cast<size_t>(std::ranges::find(kStorage, options.storage) - kStorage));
}

void OffloadForm::set(CompileOptions& options, std::string_view text) const {
  const int64_t bucket = options.offload.bucket;
  options.offload = parse_offload(text);
  options.offload.bucket = bucket;
  options.offload.automatic = false;
}

std::string OffloadForm::get(const CompileOptions& options) const {
  const OffloadStatesOptions& offload = options.offload;
  if (offload.automatic) return "";
  if (!offload.on()) return "none";
  return offload.share > 0 ? fmt::format("{}%", 100 * offload.share) : std::to_string(offload.bytes);
}

}  // namespace smelt
