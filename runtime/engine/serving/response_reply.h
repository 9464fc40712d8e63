// ResponseReply: the reply to POST /v1/responses, as one object or as a stream of events. Its output is a
// list of items: messages of the assistant, and calls of functions.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/completion_reply.h"
#include "runtime/system/json_text.h"
#include "runtime/tools/tool_parser.h"

namespace smelt {

class ResponseReply {
 public:
  /// `head`: id, model and time of the reply; the id is "resp-" and a suffix that the ids of items have, too.
  /// `fields`: fields of the request that the response object repeats.
  ResponseReply(const CompletionHead& head, Json fields);

  /// Returns the events that begin a stream.
  std::string begin();
  /// Adds new content and calls to the output, and returns the events that report them. Requires: each piece
  /// of the answer is given once, in order.
  std::string add(const tools::ParsedPiece& piece);
  /// Ends the output, and returns the last events: response.completed, or response.incomplete if the answer
  /// was cut off after the most tokens.
  std::string end(Finish finish, const CompletionUsage& usage);
  /// Returns the event response.failed.
  std::string fail(const ApiError& error);
  /// Returns the response object as text. Requires: end() was called.
  std::string whole() const;

 private:
  /// An item of the output. `text` is the content of a message, or the arguments of a call.
  struct Item {
    bool is_call;
    size_t call;  // number of the call in the answer
    std::string id = {}, call_id = {}, name = {}, text = {};
    Json object(const char* status) const;
  };
  /// Adds an event to events_.
  void report(const char* type, Json fields);
  bool has_open_item() const { return items_.size() > output_.size(); }
  void open(Item item);
  void close(const char* status);
  void end_arguments(const Item& item);
  void end_text(const Item& item);
  void add_text(const std::string& text);
  void add_call(const tools::CallPiece& piece);
  Json part_of_item() const;

  std::string suffix_;
  Json response_;
  std::vector<Item> items_;
  Json output_ = Json::array();  // items that are complete
  std::string events_;           // text of the events that were not returned yet
  size_t count_ = 0;             // number of events
};

}  // namespace smelt
