#include "runtime/tools/call_object.h"

#include <algorithm>
#include <utility>

#include "runtime/system/json_text.h"

namespace smelt::tools {
namespace {

/// Returns the value of a JSON string; an empty text if it is not valid, such as half of a surrogate pair.
std::string string_value(std::string_view json) {
  const Json value = parse_json_or_null(json);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

CallObject::State CallObject::push(char byte) {
  const size_t before = scanner_.depth();
  const JsonByte kind = scanner_.push(byte);
  const size_t after = scanner_.depth();
  if (kind == JsonByte::wrong) return State::wrong;
  bool is_right = before > 0 || byte == '{';
  const bool is_inside = std::max(before, after) > 1;  // the value of a member, with its brackets
  if (is_inside || (kind == JsonByte::value && before == 1 && after == 1))
    is_right = add_to_member(byte);
  else if (kind == JsonByte::key)
    is_right = add_to_key(byte);
  else if (kind == JsonByte::mark && byte == ',')
    member_ = Member::none, key_.clear();
  if (!is_right) return State::wrong;
  if (!scanner_.is_whole()) return State::open;
  return is_call() ? State::whole : State::wrong;
}

std::string CallObject::take_arguments() { return std::exchange(arguments_, ""); }

/// A key that is too long to be one of ours needs no more of its bytes.
bool CallObject::add_to_key(char byte) {
  if (key_.size() < kMostNameBytes) key_ += byte;
  return true;
}

/// Returns whether the newest key may have a value that begins like this.
bool CallObject::begin_member(char byte) {
  const std::string key = string_value(key_);
  member_ = key == "name"                                  ? Member::name
            : std::ranges::find(keys_, key) != keys_.end() ? Member::arguments
                                                           : Member::other;
  if (member_ == Member::name) return byte == '"' && !has_name_;
  if (member_ != Member::arguments) return true;
  return byte == '{' && !std::exchange(has_arguments_, true);
}

bool CallObject::add_to_member(char byte) {
  if (member_ == Member::none && !begin_member(byte)) return false;
  if (member_ == Member::arguments) arguments_ += byte;
  if (member_ != Member::name) return true;
  name_ += byte;
  if (!scanner_.in_string()) return end_name();
  return name_.size() <= kMostNameBytes;
}

bool CallObject::end_name() {
  name_ = string_value(name_);
  has_name_ = true;
  return !name_.empty();
}

}  // namespace smelt::tools
