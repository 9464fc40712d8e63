// Forms of option values. Each form is a class that parses and prints one kind of value:
//   values()           the accepted values, for help texts
//   parse(text, value) stores the value; throws Error with the expected form, to which the caller adds the
//                      option's name
//   text(value)        the value as text; empty if the option is not set
// A form for an option that sets several members of CompileOptions has set(options, text) and get(options)
// instead of parse and text.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt {

/// The kind of a value. From the kind, an interface such as the command line derives how users write the
/// value. flag: true or not set; toggle: true, false or not set; one_of: one of several words; whole: an
/// integer; list: names; bounds: upper bounds of symbols.
enum class ValueKind : uint8_t { flag, toggle, one_of, whole, real, bytes, list, bounds, text };
/// Returns whether values of this kind are lists, separated by commas.
constexpr bool is_list(ValueKind kind) { return kind == ValueKind::list || kind == ValueKind::bounds; }
/// Returns whether values are true and false. The option's name without a value means true.
constexpr bool is_switch(ValueKind kind) { return kind == ValueKind::flag || kind == ValueKind::toggle; }

/// The upper limit of whole numbers that have no other limit.
inline constexpr int64_t kAnyWhole = std::numeric_limits<int64_t>::max();

/// Parses an amount of memory, such as "12GiB", "500MiB", "1.5 GB" (a power of ten) or "1073741824". Returns
/// bytes.
int64_t parse_bytes(std::string_view text);
/// Parses the part of the states that is kept in host memory: "all", "none", a share such as "50%", or a text
/// for parse_bytes.
OffloadStatesOptions parse_offload(std::string_view text);
/// Parses a text such as "B=32,T=1024,B*T=4096"; bounds_text is the inverse.
std::vector<Symbols::Bound> parse_bounds(std::string_view text);
std::string bounds_text(const std::vector<Symbols::Bound>& bounds);
/// Returns a text for parse_mesh, such as "data=2,model=2"; empty for an empty mesh.
std::string mesh_text(const Mesh& mesh);

/// Parse a value. Throw Error with the expected form if the text has another form, or if a number is not in
/// [least, most].
bool parse_flag(std::string_view text);
int64_t parse_whole(std::string_view text, int64_t least, int64_t most);
double parse_real(std::string_view text, double least, double most);
/// Returns the index of `text` among the words of `words`, which has the form "a|b|c"; word_at is the
/// inverse. Throws Error with the words if `text` is none of them.
size_t parse_word(std::string_view text, std::string_view words);
std::string word_at(std::string_view words, size_t place);
/// Splits a text at commas; join_list is the inverse.
std::vector<std::string> split_list(std::string_view text);
std::string join_list(const std::vector<std::string>& parts);

/// A switch that is off by default.
struct Flag {
  static constexpr ValueKind kKind = ValueKind::flag;
  std::string values() const { return "true or false"; }
  void parse(std::string_view text, bool& value) const { value = parse_flag(text); }
  std::string text(bool value) const { return value ? "true" : ""; }
};

/// A switch that is on, off, or chosen by the compiler; "no-NAME" is off.
struct Toggle {
  static constexpr ValueKind kKind = ValueKind::toggle;
  std::string values() const { return "true or false"; }
  void parse(std::string_view text, std::optional<bool>& value) const { value = parse_flag(text); }
  std::string text(std::optional<bool> value) const { return value ? *value ? "true" : "false" : ""; }
};

/// One of several words. `words` has the form "a|b|c": one word per value of an enumeration, in the order of
/// the values, or one word for false and one for true.
struct Words {
  static constexpr ValueKind kKind = ValueKind::one_of;
  std::string_view words;
  std::string values() const { return std::string(words); }
  template <typename T>
  void parse(std::string_view text, T& value) const {
    value = static_cast<T>(parse_word(text, words));
  }
  template <typename T>
  std::string text(T value) const {
    return word_at(words, static_cast<size_t>(value));
  }
};

/// A whole number from `least` to `most`. `unset`: the value that means that the option is not set. The text
/// of this value is empty.
struct Whole {
  static constexpr ValueKind kKind = ValueKind::whole;
  int64_t least, most = kAnyWhole;
  std::optional<int64_t> unset = {};
  std::string values() const;
  template <typename T>
  void parse(std::string_view text, T& value) const {
    constexpr int64_t kMost = std::same_as<T, int> ? std::numeric_limits<int>::max() : kAnyWhole;
    value = static_cast<T>(parse_whole(text, least, std::min(most, kMost)));
  }
  void parse(std::string_view text, std::optional<int64_t>& value) const {
    value = parse_whole(text, least, most);
  }
  std::string text(int64_t value) const { return value == unset ? "" : std::to_string(value); }
  std::string text(std::optional<int64_t> value) const { return value ? text(*value) : ""; }
};

/// A real number from `least` to `most`.
struct Real {
  static constexpr ValueKind kKind = ValueKind::real;
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  std::string values() const;
  template <typename T>
  void parse(std::string_view text, T& value) const {
    value = parse_real(text, least, most);
  }
  std::string text(std::optional<double> value) const { return value ? fmt::format("{}", *value) : ""; }
};

/// A number of bytes, which is written in MiB.
struct Mebibytes {
  static constexpr ValueKind kKind = ValueKind::whole;
  int64_t least, most;
  std::string values() const { return Whole{least, most}.values(); }
  void parse(std::string_view text, int64_t& value) const { value = parse_whole(text, least, most) << 20; }
  std::string text(int64_t value) const { return std::to_string(value >> 20); }
};

/// A number of bytes, which may be written with a unit. The text of 0 is empty.
struct Bytes {
  static constexpr ValueKind kKind = ValueKind::bytes;
  std::string values() const { return "bytes, such as 800MiB"; }
  template <typename T>
  void parse(std::string_view text, T& value) const {
    value = parse_bytes(text);
  }
  std::string text(std::optional<int64_t> value) const {
    return value.value_or(0) > 0 ? std::to_string(*value) : "";
  }
};

/// Names with commas between them.
struct List {
  static constexpr ValueKind kKind = ValueKind::list;
  std::string values() const { return "names, with commas"; }
  void parse(std::string_view text, std::vector<std::string>& value) const { value = split_list(text); }
  std::string text(const std::vector<std::string>& value) const { return join_list(value); }
};

struct Text {
  static constexpr ValueKind kKind = ValueKind::text;
  std::string values() const { return "text"; }
  void parse(std::string_view text, std::string& value) const { value = text; }
  std::string text(const std::string& value) const { return value; }
};

struct TargetForm : Text {
  std::string values() const { return "cpu, cuda, native or sm_N"; }
  void parse(std::string_view text, std::string& value) const;
};

struct BoundsForm {
  static constexpr ValueKind kKind = ValueKind::bounds;
  std::string values() const { return "B=32,T=1024,B*T=4096"; }
  void parse(std::string_view text, std::vector<Symbols::Bound>& value) const { value = parse_bounds(text); }
  std::string text(const std::vector<Symbols::Bound>& value) const { return bounds_text(value); }
};

/// A mesh of ranks: the name of each axis, and its number of ranks.
struct MeshForm {
  static constexpr ValueKind kKind = ValueKind::text;
  std::string values() const { return "AXIS=RANKS, with commas"; }
  void parse(std::string_view text, Mesh& value) const { value = parse_mesh(text); }
  std::string text(const Mesh& value) const { return mesh_text(value); }
};

struct RecomputeForm {
  static constexpr ValueKind kKind = ValueKind::text;
  std::string values() const { return "cheap, layers or price=..."; }
  void set(CompileOptions& options, std::string_view text) const {
    options.recompute = parse_recompute_policy(text), options.recompute_given = true;
  }
  std::string get(const CompileOptions& options) const {
    return options.recompute.has_price() ? options.recompute.str() : "";
  }
};

/// Form of the option that sets CompileOptions::storage, CompileOptions::tf32 and TrainingOptions::fp8.
struct PrecisionForm {
  static constexpr ValueKind kKind = ValueKind::one_of;
  std::string values() const { return "fp32|tf32|bf16|fp16|fp8"; }
  void set(CompileOptions& options, std::string_view text) const;
  std::string get(const CompileOptions& options) const;
};

/// Form of the option that sets CompileOptions::offload, the part of the states that is kept in host memory.
/// set() also records that the user has chosen this part, so that a memory budget does not choose another.
struct OffloadForm {
  static constexpr ValueKind kKind = ValueKind::text;
  std::string values() const { return "all, none, a share or bytes"; }
  void set(CompileOptions& options, std::string_view text) const;
  std::string get(const CompileOptions& options) const;
};

}  // namespace smelt
