#include "runtime/tools/tool_parser.h"

#include <algorithm>
#include <utility>

namespace smelt::tools {
namespace {

constexpr std::string_view kArgumentsMark = "[ARGS]", kIdMark = "[CALL_ID]";

bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }
bool is_letter_or_digit(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}
/// Returns whether a name outside of JSON may have this byte: visible characters except brackets and quotes.
bool is_name_byte(char byte) {
  constexpr std::string_view kOthers = "[]{}()<>\"'`,;";
  return (static_cast<unsigned char>(byte) > ' ' && byte != '\x7f') && kOthers.find(byte) == kOthers.npos;
}

}  // namespace

void append(ParsedPiece& all, ParsedPiece fresh) {
  all.content += fresh.content;
  for (CallPiece& piece : fresh.calls) {
    if (!all.calls.empty() && all.calls.back().index == piece.index)
      all.calls.back().arguments += piece.arguments;
    else
      all.calls.push_back(std::move(piece));
  }
}

ToolParser::ToolParser(const ToolFormat& format, std::function<std::string(size_t)> make_id)
    : format_(format),
      make_id_(std::move(make_id)),
      place_(format.shape == CallShape::objects ? Place::start : Place::content) {}

/// A step that does not take the byte has changed the place to one that does.
ParsedPiece ToolParser::push(std::string_view text) {
  for (const char byte : text)
    while (!step(byte)) continue;
  return std::exchange(fresh_, {});
}

/// A separator or a part of a closing marker after a call is no content.
ParsedPiece ToolParser::finish() {
  const bool is_markup = place_ == Place::after || (place_ == Place::opened && is_continued_);
  if (!is_markup) add_content(held_);
  if (calls_ == 0) fresh_.content += spaces_;
  held_.clear(), spaces_.clear();
  return std::exchange(fresh_, {});
}

/// Reads a byte. Returns false if it is to be read again, in another place.
bool ToolParser::step(char byte) {
  switch (place_) {
    case Place::start:
      return step_start(byte);
    case Place::content:
      return step_content(byte);
    case Place::opened:
      return step_opened(byte);
    case Place::object:
      return step_object(byte);
    case Place::after:
      return step_after(byte);
    case Place::mark:
      return step_mark(byte);
    case Place::arguments:
      return step_arguments(byte);
    default:
      return step_name(byte);
  }
}

bool ToolParser::step_start(char byte) {
  if (is_space(byte)) return hold(byte, Place::start);
  return byte == '{' ? begin_object(byte) : refuse();
}

/// The first byte of a marker is at no other place of it, so a marker begins at most once in what is held.
bool ToolParser::step_content(char byte) {
  if (byte != format_.open[matched_]) {
    if (matched_ > 0) return refuse();
    add_content({&byte, 1});
    return true;
  }
  ++matched_;
  if (matched_ < format_.open.size()) return hold(byte, Place::content);
  matched_ = 0;
  return hold(byte, Place::opened);
}

bool ToolParser::step_opened(char byte) {
  if (is_space(byte)) return hold(byte, Place::opened);
  if (byte == '{' && (format_.shape != CallShape::named_or_list || in_list_)) return begin_object(byte);
  if (format_.shape != CallShape::named_or_list || in_list_) return refuse();
  if (byte == '[') {
    in_list_ = true;
    return hold(byte, Place::opened);
  }
  name_.clear();
  return is_name_byte(byte) ? (place_ = Place::name, false) : refuse();
}

bool ToolParser::step_object(char byte) {
  const CallObject::State state = object_->push(byte);
  if (state == CallObject::State::wrong) return is_committed_ ? (leave_object(), false) : refuse();
  if (!is_committed_) held_ += byte;
  if (!is_committed_ && object_->is_call()) begin_call(object_->name());
  if (is_committed_) add_arguments(object_->take_arguments());
  if (state == CallObject::State::whole) is_committed_ = false, place_ = Place::after;
  return true;
}

bool ToolParser::step_after(char byte) {
  if (is_space(byte) && matched_ == 0) return hold(byte, Place::after);
  if (matched_ < format_.close.size() && byte == format_.close[matched_]) {
    ++matched_;
    hold(byte, Place::after);
    if (matched_ == format_.close.size()) leave_object();
    return true;
  }
  if (in_list_ && byte == ']') return leave_object(), true;
  is_continued_ = (in_list_ && byte == ',') || (format_.shape == CallShape::objects && byte == ';');
  return is_continued_ ? hold(byte, Place::opened) : refuse();
}

/// Reads NAME[ARGS] or NAME[CALL_ID]ID[ARGS], up to the brace. Models whose decoder drops [ARGS] have none.
bool ToolParser::step_name(char byte) {
  if (byte == '{' && !name_.empty()) return begin_named(byte);
  if (place_ == Place::brace) return is_space(byte) ? hold(byte, place_) : refuse();
  if (byte == '[' && !name_.empty()) {
    mark_ = byte;
    return hold(byte, Place::mark);
  }
  if (place_ == Place::id) return is_letter_or_digit(byte) ? hold(byte, place_) : refuse();
  if (!is_name_byte(byte) || name_.size() == kMostNameBytes) return refuse();
  name_ += byte;
  return hold(byte, place_);
}

bool ToolParser::step_mark(char byte) {
  mark_ += byte;
  if (mark_ == kArgumentsMark) return hold(byte, Place::brace);
  if (mark_ == kIdMark) return hold(byte, Place::id);
  if (kArgumentsMark.starts_with(mark_) || kIdMark.starts_with(mark_)) return hold(byte, Place::mark);
  return refuse();
}

bool ToolParser::step_arguments(char byte) {
  if (arguments_.push(byte) == JsonByte::wrong) return leave_object(), false;
  add_arguments({&byte, 1});
  if (arguments_.is_whole()) leave_object();
  return true;
}

bool ToolParser::hold(char byte, Place next) {
  held_ += byte;
  place_ = next;
  return true;
}

/// Gives what is held as content, except an end that may begin the opening marker of another call.
bool ToolParser::refuse() {
  const size_t last = place_ == Place::content ? held_.npos : held_.rfind(format_.open[0]);
  const std::string end = last == held_.npos ? "" : held_.substr(last);
  const bool is_beginning = end.size() < format_.open.size() && format_.open.starts_with(end);
  if (is_beginning) held_.resize(held_.size() - end.size());
  add_content(held_);
  leave_object();
  if (is_beginning) held_ = end, matched_ = end.size();
  return false;
}

/// Continues with content.
void ToolParser::leave_object() {
  held_.clear();
  matched_ = 0;
  in_list_ = is_continued_ = is_committed_ = false;
  place_ = Place::content;
}

bool ToolParser::begin_object(char byte) {
  object_.emplace(format_.arguments);
  object_->push(byte);
  is_continued_ = false;
  return hold(byte, Place::object);
}

bool ToolParser::begin_named(char byte) {
  begin_call(std::exchange(name_, ""));
  arguments_ = {};
  place_ = Place::arguments;
  return step_arguments(byte);
}

void ToolParser::begin_call(std::string name) {
  held_.clear();
  is_committed_ = true;
  fresh_.calls.push_back({.index = calls_, .id = make_id_(calls_), .name = std::move(name), .arguments = ""});
  ++calls_;
}

void ToolParser::add_arguments(std::string_view text) {
  if (text.empty()) return;
  if (fresh_.calls.empty() || fresh_.calls.back().index + 1 != calls_)
    fresh_.calls.push_back({.index = calls_ - 1, .id = "", .name = "", .arguments = ""});
  fresh_.calls.back().arguments += text;
}

/// White space waits for text after it, because at the end of a text with calls it is no content.
void ToolParser::add_content(std::string_view text) {
  for (const char byte : text) {
    if (is_space(byte)) {
      spaces_ += byte;
      continue;
    }
    fresh_.content += std::exchange(spaces_, "");
    fresh_.content += byte;
  }
}

}  // namespace smelt::tools
