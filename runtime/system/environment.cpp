#include "runtime/system/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = VariableValues::Kind;

constexpr VariableValues text() { return {}; }
constexpr VariableValues secret() { return {Kind::secret}; }
constexpr VariableValues flag() { return {Kind::flag}; }
constexpr VariableValues whole(int least, int most) {
  return {Kind::whole, static_cast<double>(least), static_cast<double>(most)};
}
constexpr VariableValues seconds(double least) { return {Kind::seconds, least}; }
constexpr VariableValues one_of(std::string_view words) { return {Kind::one_of, 0, 0, words}; }

constexpr auto kVariables = std::to_array<VariableInfo>({
#define SMELT_VARIABLE(name, group, values, standard, help) \
  {#name, VariableGroup::group, values, standard, help},
#include "runtime/system/environment.def"
});

[[noreturn]] void refuse(const VariableInfo& variable, std::string_view value) {
  fail("{} is '{}': expected {}", variable.name, value, variable.values.str());
}

bool is_one_of(std::string_view words, std::string_view value) {
  for (size_t begin = 0; begin <= words.size();) {
    const size_t end = std::min(words.find('|', begin), words.size());
    if (words.substr(begin, end - begin) == value) return true;
    begin = end + 1;
  }
  return false;
}

template <typename Number>
Number parse_number(const VariableInfo& variable, std::string_view text) {
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto real = static_cast<double>(value);
  const double most = variable.values.kind == Kind::seconds ? HUGE_VAL : variable.values.most;
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(real) ||
      real < variable.values.least || real > most)
    refuse(variable, text);
  return value;
}

}  // namespace

std::string VariableValues::str() const {
  switch (kind) {
    case Kind::text:
    case Kind::secret:
      return "a text";
    case Kind::flag:
      return "1 or 0";
    case Kind::whole:
      return fmt::format("a whole number from {} to {}", least, most);
    case Kind::seconds:
      return fmt::format("seconds, at least {}", least);
    case Kind::one_of:
      return alternatives_text(words);
  }
  return {};
}

std::span<const VariableInfo> variables() { return kVariables; }

const VariableInfo& info(EnvironmentVariable variable) {
  return kVariables.at(static_cast<size_t>(variable));
}

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    if (std::ranges::find(kVariables, name, &VariableInfo::name) == kVariables.end())
      fail_with(Status::internal, "{} is not in runtime/system/environment.def", name);
    const char* value = std::getenv(std::string(name).c_str());
    return value && *value ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::optional<std::string> read_text(EnvironmentVariable variable, const Environment& environment) {
  const VariableInfo& row = info(variable);
  auto value = environment(row.name);
  if (value && value->empty()) value.reset();
  if (value && row.values.kind == Kind::one_of && !is_one_of(row.values.words, *value)) refuse(row, *value);
  return value;
}

std::optional<bool> read_flag(EnvironmentVariable variable, const Environment& environment) {
  const auto value = read_text(variable, environment);
  if (!value) return std::nullopt;
  if (*value != "0" && *value != "1") refuse(info(variable), *value);
  return *value == "1";
}

std::optional<int> read_whole(EnvironmentVariable variable, const Environment& environment) {
  const auto value = read_text(variable, environment);
  return value ? std::optional(parse_number<int>(info(variable), *value)) : std::nullopt;
}

std::optional<double> read_seconds(EnvironmentVariable variable, const Environment& environment) {
  const auto value = read_text(variable, environment);
  return value ? std::optional(parse_number<double>(info(variable), *value)) : std::nullopt;
}

int parse_whole(std::string_view variable, const std::string& text, int low, int high) {
  return parse_number<int>({variable, VariableGroup::launchers, whole(low, high), "", ""}, text);
}

void check_variable(const VariableInfo& variable, const Environment& environment) {
  const auto id = static_cast<EnvironmentVariable>(&variable - kVariables.data());
  switch (variable.values.kind) {
    case Kind::flag:
      read_flag(id, environment);
      return;
    case Kind::whole:
      read_whole(id, environment);
      return;
    case Kind::seconds:
      read_seconds(id, environment);
      return;
    default:
      read_text(id, environment);
  }
}

std::string alternatives_text(std::string_view words) {
  std::string text(words);
  const size_t last = text.rfind('|');
  if (last != std::string::npos) text.replace(last, 1, " or ");
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos;) text.replace(at, 1, ", ");
  return text;
}

}  // namespace smelt
