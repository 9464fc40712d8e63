#include "runtime/engine/serving/response_reply.h"

#include <string_view>
#include <utility>

namespace smelt {
namespace {

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json output_text(const std::string& text) {
  return {
      {"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
}

Json usage_of(const CompletionUsage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", 0}}},
          {"output_tokens", usage.new_tokens},
          {"output_tokens_details", {{"reasoning_tokens", 0}}},
          {"total_tokens", usage.prompt_tokens + usage.new_tokens}};
}

}  // namespace

ResponseReply::ResponseReply(const CompletionHead& head, Json fields) : response_(std::move(fields)) {
  const std::string_view id = head.id;
  suffix_ = id.substr(id.find('-') + 1);
  response_.update({{"id", head.id},
                    {"object", "response"},
                    {"created_at", head.created},
                    {"status", "in_progress"},
                    {"background", false},
                    {"error", nullptr},
                    {"incomplete_details", nullptr},
                    {"model", head.model},
                    {"output", Json::array()},
                    {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                    {"truncation", "disabled"},
                    {"usage", nullptr}});
}

Json ResponseReply::Item::object(const char* status) const {
  if (is_call)
    return {{"type", "function_call"}, {"id", id},        {"call_id", call_id}, {"name", name},
            {"arguments", text},       {"status", status}};
  Json content = Json::array();
  if (status != std::string_view("in_progress")) content.push_back(output_text(text));
  return {{"type", "message"}, {"id", id}, {"role", "assistant"}, {"content", content}, {"status", status}};
}

void ResponseReply::report(const char* type, Json fields) {
  fields["type"] = type, fields["sequence_number"] = count_++;
  events_ += fmt::format("event: {}\ndata: {}\n\n", type, text_of(fields));
}

std::string ResponseReply::begin() {
  report("response.created", {{"response", response_}});
  report("response.in_progress", {{"response", response_}});
  return std::exchange(events_, "");
}

/// The place of the last item, and of its one part if it is a message.
Json ResponseReply::part_of_item() const {
  Json place = {{"item_id", items_.back().id}, {"output_index", items_.size() - 1}};
  if (!items_.back().is_call) place["content_index"] = 0;
  return place;
}

void ResponseReply::open(Item item) {
  if (has_open_item()) close("completed");
  item.id = fmt::format("{}-{}-{}", item.is_call ? "fc" : "msg", suffix_, items_.size());
  items_.push_back(std::move(item));
  report("response.output_item.added",
         {{"output_index", items_.size() - 1}, {"item", items_.back().object("in_progress")}});
  if (items_.back().is_call) return;
  Json part = part_of_item();
  part["part"] = output_text("");
  report("response.content_part.added", std::move(part));
}

/// Ends the last item.
void ResponseReply::close(const char* status) {
  const Item& item = items_.back();
  item.is_call ? end_arguments(item) : end_text(item);
  output_.push_back(item.object(status));
  report("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", output_.back()}});
}

void ResponseReply::end_arguments(const Item& item) {
  Json done = part_of_item();
  done["arguments"] = item.text, done["name"] = item.name;
  report("response.function_call_arguments.done", std::move(done));
}

void ResponseReply::end_text(const Item& item) {
  Json done = part_of_item(), part = done;
  done["text"] = item.text, done["logprobs"] = Json::array();
  report("response.output_text.done", std::move(done));
  part["part"] = output_text(item.text);
  report("response.content_part.done", std::move(part));
}

void ResponseReply::add_text(const std::string& text) {
  if (!has_open_item() || items_.back().is_call) open({.is_call = false, .call = 0});
  items_.back().text += text;
  if (text.empty()) return;
  Json delta = part_of_item();
  delta["delta"] = text, delta["logprobs"] = Json::array();
  report("response.output_text.delta", std::move(delta));
}

void ResponseReply::add_call(const tools::CallPiece& piece) {
  const bool is_open = has_open_item() && items_.back().is_call && items_.back().call == piece.index;
  if (!is_open) open({.is_call = true, .call = piece.index, .call_id = piece.id, .name = piece.name});
  if (piece.arguments.empty()) return;
  items_.back().text += piece.arguments;
  Json delta = part_of_item();
  delta["delta"] = piece.arguments;
  report("response.function_call_arguments.delta", std::move(delta));
}

std::string ResponseReply::add(const tools::ParsedPiece& piece) {
  if (!piece.content.empty()) add_text(piece.content);
  for (const tools::CallPiece& call : piece.calls) add_call(call);
  return std::exchange(events_, "");
}

/// An answer without text is an empty message.
std::string ResponseReply::end(Finish finish, const CompletionUsage& usage) {
  const bool is_cut = finish == Finish::length;
  const char* status = is_cut ? "incomplete" : "completed";
  if (items_.empty()) add_text("");
  close(status);
  response_["output"] = output_, response_["status"] = status, response_["usage"] = usage_of(usage);
  if (is_cut) response_["incomplete_details"] = {{"reason", "max_output_tokens"}};
  report(is_cut ? "response.incomplete" : "response.completed", {{"response", response_}});
  return std::exchange(events_, "");
}

std::string ResponseReply::fail(const ApiError& error) {
  const Json about = Json::parse(error_body(error))["error"];
  response_["status"] = "failed";
  response_["error"] = {{"code", "server_error"}, {"message", about["message"]}};
  report("response.failed", {{"response", response_}});
  return std::exchange(events_, "");
}

std::string ResponseReply::whole() const { return text_of(response_); }

}  // namespace smelt
