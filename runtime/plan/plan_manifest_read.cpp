#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_model.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestDim = 2000;  // characters
constexpr size_t kMostBounds = 16;    // keeps the search for the least upper bound short

/// A value of the document and the way to it, which is written out only for a message.
struct Place {
  const Json& value;
  const Place* parent = nullptr;
  std::string_view key;
  size_t index = 0;

  std::string path() const {
    if (!parent) return "";
    const std::string above = parent->path();
    if (key.empty()) return fmt::format("{}[{}]", above, index);
    return above.empty() ? std::string(key) : fmt::format("{}.{}", above, key);
  }
};

class ManifestReader {
 public:
  ManifestReader(std::span<const std::span<const std::byte>> blobs, std::string_view file)
      : blobs_(blobs), used_(blobs.size(), false), file_(file) {}

  void decode(const Place& at, bool& value) {
    if (!at.value.is_boolean()) expected(at, "true or false");
    value = at.value.get<bool>();
  }
  void decode(const Place& at, int& value) { value = static_cast<int>(integer(at, INT32_MIN, INT32_MAX)); }
  void decode(const Place& at, int64_t& value) { value = integer(at, INT64_MIN, INT64_MAX); }
  void decode(const Place& at, uint32_t& value) { value = static_cast<uint32_t>(integer(at, 0, UINT32_MAX)); }
  void decode(const Place& at, double& value) {
    if (at.value.is_number()) {
      value = at.value.get<double>();
      return;
    }
    const std::string word = at.value.is_string() ? at.value.get<std::string>() : "";
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (word == "inf")
      value = infinity;
    else if (word == "-inf")
      value = -infinity;
    else if (word == "nan")
      value = std::numeric_limits<double>::quiet_NaN();
    else
      expected(at, "a number");
  }
  void decode(const Place& at, std::string& value) { value = text(at); }
  void decode(const Place& at, Role& value) { value = named(at, parse_role(text(at)), "a role"); }
  void decode(const Place& at, DType& value) { value = named(at, parse_dtype(text(at)), "an element type"); }
  void decode(const Place& at, AttentionPart& value) {
    value = named(at, parse_attention_part(text(at)), "a part of attention");
  }
  void decode(const Place& at, CollectiveKind& value) {
    value = named(at, parse_collective_kind(text(at)), "a kind of collective");
  }
  void decode(const Place& at, CollectiveSum& value) {
    value = named(at, parse_collective_sum(text(at)), "add or max");
  }
  void decode(const Place& at, TemplateLaunch::Argument::Kind& value) {
    value = named(at, parse_argument_kind(text(at)), "a kind of argument");
  }
  void decode(const Place& at, Initializer& value) {
    value = named(at, parse_initializer(text(at)), "an initializer such as normal(0.02)");
  }
  void decode(const Place& at, Dim& value) {
    if (at.value.is_number_integer())
      value = Dim(integer(at, INT64_MIN, INT64_MAX));
    else
      value = parsed(at, text(at));
  }
  void decode(const Place& at, Symbols& value) {
    std::vector<Symbols::Bound> bounds;
    decode(at, bounds);
    if (bounds.size() > kMostBounds) expected(at, fmt::format("at most {} bounds", kMostBounds));
    for (const Symbols::Bound& bound : bounds) {
      const bool has_least = bound.lower == 1 || (bound.lower >= 0 && bound.factors.size() == 1);
      const bool fits = has_least && bound.upper >= bound.lower && !bound.factors.empty() &&
                        bound.factors.size() <= kMostBounds;
      if (!fits) expected(at, "bounds of at least 1 on at least one symbol (0 on a coordinate)");
      value.bound(bound.factors, bound.upper, bound.lower);
    }
  }
  void decode(const Place& at, BufferRef& value) {
    if (!at.value.is_array() || at.value.size() != 2) expected(at, "[buffer, offset]");
    decode(Place{at.value[0], &at, {}, 0}, value.buffer);
    decode(Place{at.value[1], &at, {}, 1}, value.offset);
  }
  void decode(const Place& at, std::pair<int, int>& value) {
    if (!at.value.is_array() || at.value.size() != 2) expected(at, "two numbers");
    decode(Place{at.value[0], &at, {}, 0}, value.first);
    decode(Place{at.value[1], &at, {}, 1}, value.second);
  }
  void decode(const Place& at, std::vector<std::byte>& value) {
    const int64_t blob = integer(at, -1, static_cast<int64_t>(blobs_.size()) - 1);
    if (blob < 0) return;
    if (used_[static_cast<size_t>(blob)]) expected(at, "a blob of its own");
    used_[static_cast<size_t>(blob)] = true;
    const auto bytes = blobs_[static_cast<size_t>(blob)];
    value.assign(bytes.begin(), bytes.end());
  }
  template <typename T>
  void decode(const Place& at, std::vector<T>& items) {
    if (!at.value.is_array()) expected(at, "an array");
    items.resize(at.value.size());
    for (size_t i = 0; i < items.size(); ++i) decode(Place{at.value[i], &at, {}, i}, items[i]);
  }
  template <typename T>
  void decode(const Place& at, std::optional<T>& value) {
    if (!at.value.is_null()) decode(at, value.emplace());
  }
  template <typename... Kinds>
  void decode(const Place& at, std::variant<Kinds...>& what) {
    const Json kind = at.value.is_object() ? at.value.value("kind", Json()) : Json();
    const auto choose = [&](auto chosen) {
      if (kind != StepKind<decltype(chosen)>::name) return false;
      decode(at, chosen);
      what = std::move(chosen);
      return true;
    };
    if (!(choose(Kinds{}) || ...)) expected(at, "a kind of step");
  }
  template <typename Struct>
  void decode(const Place& at, Struct& value) {
    if (!at.value.is_object()) expected(at, "an object");
    const auto field = [&](const char* name, auto& member, const auto&...) {
      const auto found = at.value.find(name);
      if (found == at.value.end()) expected(at, fmt::format("a field '{}'", name));
      decode(Place{*found, &at, name, 0}, member);
    };
    visit_fields(field, value);
  }

 private:
  [[noreturn]] void expected(const Place& at, std::string_view what) const {
    fail_with(Status::invalid_file, "'{}': damaged plan: {}: expected {}", file_, at.path(), what);
  }

  int64_t integer(const Place& at, int64_t least, int64_t most) const {
    const bool too_large = at.value.is_number_unsigned() &&
                           at.value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
    if (!at.value.is_number_integer() || too_large) expected(at, "an integer of 64 bits");
    const int64_t value = at.value.get<int64_t>();
    if (value < least || value > most) expected(at, fmt::format("an integer from {} to {}", least, most));
    return value;
  }

  const std::string& text(const Place& at) const {
    if (!at.value.is_string()) expected(at, "a string");
    return at.value.get_ref<const std::string&>();
  }

  template <typename T>
  T named(const Place& at, const std::optional<T>& value, std::string_view what) const {
    if (!value) expected(at, what);
    return *value;
  }

  const Dim& parsed(const Place& at, const std::string& text) {
    const auto known = dims_.find(text);
    if (known != dims_.end()) return known->second;
    if (text.size() > kLongestDim) expected(at, "a shorter size");
    try {
      return dims_[text] = Dim::parse(text);
    } catch (const Error& error) {
      expected(at, fmt::format("a size ({})", error.what()));
    }
  }

  std::span<const std::span<const std::byte>> blobs_;
  std::vector<bool> used_;
  std::string_view file_;
  std::map<std::string, Dim> dims_;  // few different ones, used very often
};

}  // namespace

Plan read_manifest(const Json& json, std::span<const std::span<const std::byte>> blobs,
                   std::string_view file_name) {
  Plan plan;
  ManifestReader(blobs, file_name).decode(Place{json, nullptr, {}, 0}, plan);
  return plan;
}

}  // namespace smelt
