// Options of passes as text, "key=value". An options struct lists its fields once, next to its definition,
// and text is read and written by that list:
//
//   template <typename Field>
//   void visit_options(Field& field, JoinSumsOptions& o) { field("most_bytes", o.most_bytes); }
//
// The list omits fields without a text form, such as a report that a pass fills.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/ops/op.h"
#include "ir/target.h"
#include "llvm/ADT/ArrayRef.h"
#include "runtime/base/dtype.h"

namespace smelt {

using PassArguments = std::vector<std::pair<std::string, std::string>>;

/// Number whose text has another unit: 2.5 is the text of 0.0025 in thousandths.
struct ScaledOption {
  double& value;
  double unit;
  double least = 0;  // of the text
};
/// A number with bounds; NaN is outside of any.
template <typename T>
struct RangedOption {
  T& value;
  double least = 0, most = std::numeric_limits<double>::infinity();
};
template <typename T, typename... Bounds>
RangedOption(T&, Bounds...) -> RangedOption<T>;
/// Number that may be absent, "none".
struct OptionalNumber {
  bool& present;
  double& value;
};
/// Value of an enumeration, or a bool, by the names of its values in order.
template <typename Enum, size_t count>
struct NamedOption {
  Enum& value;
  const std::array<std::string_view, count>& names;
};
template <typename Enum, size_t count>
NamedOption(Enum&, const std::array<std::string_view, count>&) -> NamedOption<Enum, count>;

// ---- a value as text
std::string option_text(bool value);
std::string option_text(int64_t value);
std::string option_text(double value);
std::string option_text(DType value);
std::string option_text(const std::string& value);
std::string option_text(const std::vector<std::string>& value);  // "a+b", "none"
std::string option_text(const std::vector<Op>& value);           // composites: "softmax+attention", "none"
std::string option_text(const Target& value);
std::string option_text(const std::optional<Target>& value);
std::string option_text(const ScaledOption& value);
std::string option_text(const OptionalNumber& value);
inline std::string option_text(int value) { return option_text(static_cast<int64_t>(value)); }
template <typename T>
std::string option_text(const RangedOption<T>& option) {
  return option_text(option.value);
}
template <typename Enum, size_t count>
std::string option_text(const NamedOption<Enum, count>& option) {
  return std::string(option.names[static_cast<size_t>(option.value)]);
}

/// Text of one option. Functions below throw Error with pass, option, text and the expected value.
struct OptionSource {
  std::string_view pass, key, text;
  [[noreturn]] void expected(std::string_view what) const;
  void check_range(double number, double least, double most) const;
  [[noreturn]] void expected_one_of(llvm::ArrayRef<std::string_view> names) const;
};
void read_option(const OptionSource& source, bool& value);
void read_option(const OptionSource& source, int64_t& value);
void read_option(const OptionSource& source, int& value);
void read_option(const OptionSource& source, double& value);
void read_option(const OptionSource& source, DType& value);
void read_option(const OptionSource& source, std::string& value);
void read_option(const OptionSource& source, std::vector<std::string>& value);
void read_option(const OptionSource& source, std::vector<Op>& value);
void read_option(const OptionSource& source, Target& value);
void read_option(const OptionSource& source, std::optional<Target>& value);
void read_option(const OptionSource& source, const ScaledOption& value);
void read_option(const OptionSource& source, const OptionalNumber& value);
template <typename T>
void read_option(const OptionSource& source, const RangedOption<T>& option) {
  T number = option.value;
  read_option(source, number);
  source.check_range(static_cast<double>(number), option.least, option.most);
  option.value = number;
}
template <typename Enum, size_t count>
void read_option(const OptionSource& source, const NamedOption<Enum, count>& option) {
  for (size_t i = 0; i < count; ++i)
    if (option.names[i] == source.text) return void(option.value = static_cast<Enum>(i));
  source.expected_one_of(option.names);
}

/// Reads the field of one key.
class OptionReader {
 public:
  explicit OptionReader(OptionSource source) : source_(source) {}
  template <typename T>
  void operator()(std::string_view key, T&& member) {
    keys_.push_back(key);
    if (key == source_.key) read_option(source_, member), found_ = true;
  }
  /// Throws Error with the known options if no field has the key.
  void finish() const;

 private:
  OptionSource source_;
  std::vector<std::string_view> keys_;
  bool found_ = false;
};

/// Writes all fields.
class OptionWriter {
 public:
  template <typename T>
  void operator()(std::string_view key, T&& member) {
    arguments.emplace_back(key, option_text(member));
  }
  PassArguments arguments;
};

inline constexpr std::array<std::string_view, 3> kAttentionTemplateNames = {"mma", "wgmma", "measured"};
inline constexpr std::array<std::string_view, 4> kGemmEpilogueNames = {"off", "measured", "only", "wide"};

/// Visits a target as options of a pass, with the settings of its code generation.
template <typename Field>
void visit_options(Field& field, Target& o) {
  field("target", o), field("attention", NamedOption{o.attention, kAttentionTemplateNames});
  field("gemm_epilogues", NamedOption{o.gemm_epilogues, kGemmEpilogueNames});
}

template <typename Options>
Options read_options(std::string_view pass, const PassArguments& arguments) {
  Options options;
  for (const auto& [key, text] : arguments) {
    OptionReader reader({pass, key, text});
    if constexpr (requires { visit_options(reader, options); }) visit_options(reader, options);
    reader.finish();
  }
  return options;
}

/// Returns the options whose text differs from the default's.
template <typename Options>
PassArguments written_options([[maybe_unused]] Options options) {
  PassArguments arguments;
  if constexpr (requires(OptionWriter& writer) { visit_options(writer, options); }) {
    Options defaults;
    OptionWriter given, omitted;
    visit_options(given, options), visit_options(omitted, defaults);
    for (auto& argument : given.arguments)
      if (std::ranges::find(omitted.arguments, argument) == omitted.arguments.end())
        arguments.push_back(std::move(argument));
  }
  return arguments;
}

}  // namespace smelt
