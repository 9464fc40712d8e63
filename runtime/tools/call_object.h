// CallObject: incremental reader of a call that is a JSON object, such as {"name": "f", "arguments": {...}}.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/tools/json_scanner.h"

namespace smelt::tools {

/// Longest name of a function, in bytes of JSON text.
constexpr size_t kMostNameBytes = 256;

/// A call has a member "name", a text that is not empty, and one member with the arguments, an object. They
/// come in any order, once each; other members are ignored.
class CallObject {
 public:
  /// `arguments`: names that the member with the arguments may have; the texts must outlive this object.
  explicit CallObject(std::span<const std::string_view> arguments) : keys_(arguments) {}

  enum class State : uint8_t { open, whole, wrong };
  /// Reads the next byte, from the opening brace on. Returns `whole` after the last brace, `wrong` if the
  /// bytes so far cannot be the beginning of a call, and else `open`. Requires: the previous result was
  /// `open`.
  State push(char byte);
  /// Returns whether the name and the beginning of the arguments are known.
  bool is_call() const { return has_name_ && has_arguments_; }
  const std::string& name() const { return name_; }
  /// Returns the part of the arguments' text that was read since take_arguments was last called.
  std::string take_arguments();

 private:
  enum class Member : uint8_t { none, name, arguments, other };

  bool add_to_key(char byte);
  bool begin_member(char byte);
  bool add_to_member(char byte);
  bool end_name();

  std::span<const std::string_view> keys_;
  JsonScanner scanner_;
  Member member_ = Member::none;  // member whose value is read
  std::string key_;               // text of the newest key of the outer object, with quotes and escapes
  std::string name_;              // with quotes and escapes until it is complete
  std::string arguments_;         // text that was not taken yet
  bool has_name_ = false, has_arguments_ = false;
};

}  // namespace smelt::tools
