// Names and small look-ups of the plan's types.
#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace smelt {
namespace {

constexpr std::array<std::string_view, 13> kRoles = {
    "input", "output", "constant", "parameter", "gradient",  "optimizer", "state",
    "cache", "stream", "fault",    "saved",     "temporary", "workspace"};
constexpr std::array<std::string_view, 3> kArguments = {"address", "integer", "real"};
constexpr std::array<std::string_view, 4> kCollectives = {"all_reduce", "reduce_scatter", "all_gather",
                                                          "all_to_all"};
constexpr std::array<std::string_view, 2> kSums = {"add", "max"};
constexpr std::array<std::string_view, 3> kInitializers = {"value", "normal", "uniform"};

template <typename Item>
const Item* find_named(const std::vector<Item>& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const Item& i) { return i.name == name; });
  return found == items.end() ? nullptr : &*found;
}

template <typename Enum, size_t count>
std::optional<Enum> parse_name(const std::array<std::string_view, count>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

/// All of `text` as a number.
template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string str(const IdRange& ids) {
  return fmt::format("an id from {} to {}{}", ids.least, ids.below - 1,
                     ids.ignored ? fmt::format(", or {} to ignore it", *ids.ignored) : "");
}

std::string_view name(Role role) { return kRoles[static_cast<size_t>(role)]; }

std::optional<Role> parse_role(std::string_view name) { return parse_name<Role>(kRoles, name); }

std::string_view name(TemplateLaunch::Argument::Kind kind) { return kArguments[static_cast<size_t>(kind)]; }

std::optional<TemplateLaunch::Argument::Kind> parse_argument_kind(std::string_view name) {
  return parse_name<TemplateLaunch::Argument::Kind>(kArguments, name);
}

std::string_view name(CollectiveKind kind) { return kCollectives[static_cast<size_t>(kind)]; }
std::optional<CollectiveKind> parse_collective_kind(std::string_view text) {
  return parse_name<CollectiveKind>(kCollectives, text);
}

std::string_view name(CollectiveSum sum) { return kSums[static_cast<size_t>(sum)]; }
std::optional<CollectiveSum> parse_collective_sum(std::string_view text) {
  return parse_name<CollectiveSum>(kSums, text);
}

std::string str(const Initializer& init) {
  const std::string_view kind = kInitializers[static_cast<size_t>(init.kind)];
  return init.seed == 0 ? fmt::format("{}({})", kind, init.a)
                        : fmt::format("{}({}, {})", kind, init.a, init.seed);
}

std::optional<Initializer> parse_initializer(std::string_view text) {
  text = trimmed(text);
  const size_t open = text.find('(');
  if (open == text.npos || text.back() != ')') return std::nullopt;
  const auto kind = std::find(kInitializers.begin(), kInitializers.end(), trimmed(text.substr(0, open)));
  if (kind == kInitializers.end()) return std::nullopt;
  Initializer init;
  init.kind = static_cast<Initializer::Kind>(kind - kInitializers.begin());
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const size_t comma = inside.find(',');
  if (!read(trimmed(inside.substr(0, comma)), init.a)) return std::nullopt;
  if (comma != inside.npos && !read(trimmed(inside.substr(comma + 1)), init.seed)) return std::nullopt;
  return init;
}

int64_t Segment::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      fail("the segment {} has an extent below 0 or more than 2^63 elements", name);
  return count;
}

const PlanEntry* Plan::find_entry(std::string_view name) const { return find_named(entries, name); }
const State* Plan::find_state(std::string_view name) const { return find_named(states, name); }

}  // namespace smelt
