// Options of passes as text, "key=value". Each options struct has a function visit_options, which lists its
// fields. Text is read and written with that list:
//
//   template <typename Field>
//   void visit_options(Field& field, JoinSumsOptions& o) { field("most_bytes", o.most_bytes); }
//
// The list omits fields that have no text form, such as a pointer to a report that the pass fills.
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

/// Options as text: pairs of a key and a value.
using PassArguments = std::vector<std::pair<std::string, std::string>>;

/// Number whose text is in another unit: if `unit` is 0.001, the text of the value 0.0025 is 2.5.
struct ScaledOption {
  double& value;
  double unit;
  double least = 0;  // lower bound of the number in the text
};
/// Number with inclusive bounds. NaN is outside all bounds.
template <typename T>
struct RangedOption {
  T& value;
  double least = 0, most = std::numeric_limits<double>::infinity();
};
template <typename T, typename... Bounds>
RangedOption(T&, Bounds...) -> RangedOption<T>;
/// Number that may be absent; its text is then "none".
struct OptionalNumber {
  bool& present;
  double& value;
};
/// Value of an enumeration, or a bool, whose text is a name. `names` has the names in the order of the
/// values.
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
std::string option_text(const std::vector<std::string>& value);  // "a+b"; "none" if empty
std::string option_text(const std::vector<Op>& value);           // "softmax+attention"; "none" if empty
std::string option_text(const Target& value);
std::string option_text(const std::optional<Target>& value);
std::string option_text(const std::optional<double>& value);  // "none" if absent
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

/// Text of one option, with the pass and the key for error messages. expected() and expected_one_of() throw
/// Error with the pass, the key, the text and the expected values; check_range() does so if `number` is
/// outside the bounds.
struct OptionSource {
  std::string_view pass, key, text;
  [[noreturn]] void expected(std::string_view what) const;
  void check_range(double number, double least, double most) const;
  [[noreturn]] void expected_one_of(llvm::ArrayRef<std::string_view> names) const;
};
// Each overload of read_option converts the text of `source` to a value, or throws Error. A DType can only be
// f32, bf16 or f16, and an Op only a composite (Trait::composite).
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
void read_option(const OptionSource& source, std::optional<double>& value);
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

/// Visitor of the fields of an options struct that reads the field whose key is that of `source`.
class OptionReader {
 public:
  explicit OptionReader(OptionSource source) : source_(source) {}
  template <typename T>
  void operator()(std::string_view key, T&& member) {
    keys_.push_back(key);
    if (key == source_.key) read_option(source_, member), found_ = true;
  }
  /// Throws Error with the keys of all visited fields if no field has the key.
  void finish() const;

 private:
  OptionSource source_;
  std::vector<std::string_view> keys_;
  bool found_ = false;
};

/// Visitor of the fields of an options struct that appends each field's text to `arguments`.
class OptionWriter {
 public:
  template <typename T>
  void operator()(std::string_view key, T&& member) {
    arguments.emplace_back(key, option_text(member));
  }
  PassArguments arguments;
};

inline constexpr std::array<std::string_view, 3> kAttentionTemplateNames = {"mma", "wgmma", "measured"};
inline constexpr std::array<std::string_view, 6> kGemmEpilogueNames = {"off",  "measured", "only",
                                                                       "wide", "mma",      "mma_wide"};

/// Visits the fields of a Target, for passes whose options struct is a Target: its name, and its settings for
/// code generation.
template <typename Field>
void visit_options(Field& field, Target& o) {
  field("target", o), field("attention", NamedOption{o.attention, kAttentionTemplateNames});
  field("gemm_epilogues", NamedOption{o.gemm_epilogues, kGemmEpilogueNames});
  field("same_bits", o.same_bits);
}

/// Returns the options that the text describes; other options have their defaults. Throws Error for an
/// unknown key or a value that is not valid.
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

/// Returns the text of the options that differ from the defaults.
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
