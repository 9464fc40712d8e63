// ToolParser divides the text that a model generates into content and tool calls, while the text is received
// piece by piece.
//
// The grammar of calls depends on the model's format (tool_format.h). A call begins when its name and the
// opening brace of its arguments have been read. From then on, its arguments are returned as they arrive. If
// the arguments end too early or are not JSON, the call keeps the arguments up to the error, and the text
// after it is content. Text that only looks like the beginning of a call is content. So each byte of the text
// is in a call, in a marker of the format, or in the content. There is one exception: white space at the end
// of a text with calls is dropped.
//
// The parser does not check that the name of a call is the name of a tool of the request. The client gets the
// call in any case, as with vLLM's parsers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/call_object.h"
#include "runtime/tools/json_scanner.h"
#include "runtime/tools/tool_format.h"

namespace smelt::tools {

/// New part of a call.
struct CallPiece {
  size_t index = 0;       // number of the call in its answer, from 0
  std::string id, name;   // not empty in the first piece of a call, and only there
  std::string arguments;  // new part of the JSON text
};

/// New content and new parts of calls: at most one piece per call.
struct ParsedPiece {
  std::string content;
  std::vector<CallPiece> calls;
  bool empty() const { return content.empty() && calls.empty(); }
};
/// Appends a later piece of the same answer to `all`.
void append(ParsedPiece& all, ParsedPiece fresh);

class ToolParser {
 public:
  /// `make_id` returns the id of the call with this index. `format` must outlive the parser.
  ToolParser(const ToolFormat& format, std::function<std::string(size_t index)> make_id);

  /// Reads a piece of the text. Returns all new content and calls that are certain now; text that may still
  /// be the beginning of a call is held back. The concatenation of all results does not depend on how the
  /// text is divided into pieces. A result ends inside a UTF-8 character only if a piece of the text does.
  ParsedPiece push(std::string_view text);
  /// Ends the text, and returns the text that was held back. Requires: push() is not called afterwards.
  ParsedPiece finish();
  /// Returns the number of calls that have begun.
  size_t calls() const { return calls_; }

 private:
  /// Position in the grammar of a format.
  enum class Place : uint8_t {
    start,      // white space at the beginning of an answer, where an object may be a call
    content,    // inside content, or inside a possible opening marker
    opened,     // after an opening marker, a bracket or a separator
    object,     // inside an object
    after,      // after an object
    name,       // inside NAME of NAME[ARGS]{...}
    mark,       // inside [ARGS] or [CALL_ID]
    id,         // after [CALL_ID]
    brace,      // after [ARGS]
    arguments,  // inside {...} of NAME[ARGS]{...}
  };

  bool step(char byte);
  bool step_start(char byte);
  bool step_content(char byte);
  bool step_opened(char byte);
  bool step_object(char byte);
  bool step_after(char byte);
  bool step_name(char byte);
  bool step_mark(char byte);
  bool step_arguments(char byte);
  bool hold(char byte, Place next);
  bool refuse();
  void leave_object();
  bool begin_object(char byte);
  bool begin_named(char byte);
  void begin_call(std::string name);
  void add_arguments(std::string_view text);
  void add_content(std::string_view text);

  const ToolFormat& format_;
  std::function<std::string(size_t)> make_id_;
  Place place_;
  std::string held_;    // text of a possible call; it becomes content if there is no call
  std::string spaces_;  // white space at the end of the content so far
  size_t matched_ = 0;  // bytes of a marker that were read
  size_t calls_ = 0;
  bool in_list_ = false, is_continued_ = false;  // is_continued_: a separator between two calls was read
  bool is_committed_ = false;                    // true: the current object is certainly a call
  std::optional<CallObject> object_;
  JsonScanner arguments_;
  std::string name_, mark_;
  ParsedPiece fresh_;
};

}  // namespace smelt::tools
