// Base class for strict readers of untrusted JSON with nlohmann's SAX interface. A reader is a derived class
// that overrides the functions for the kinds of values that it expects. For any other kind of value, an Error
// is thrown, with the file and the position in the document. By default, keys and the ends of objects and
// arrays are ignored.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {

class StrictSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `file` is the name of `text` in messages.
  StrictSax(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// Parses the text and calls the functions below. Throws Error (invalid_file) if it is not valid JSON.
  void parse() { nlohmann::json::sax_parse(text_, this); }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(int64_t) override { return unexpected("a number below 0"); }
  bool number_unsigned(uint64_t) override { return unexpected("a number"); }
  bool number_float(double, const std::string&) override {
    return unexpected("a number that is no integer below 2^64");
  }
  bool string(std::string&) override { return unexpected("a string"); }
  bool binary(nlohmann::json::binary_t&) override { return unexpected("binary data"); }
  bool start_object(size_t) override { return unexpected("an object"); }
  bool start_array(size_t) override { return unexpected("an array"); }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    fail_broken_json(text_, file_);
  }

 protected:
  /// Returns the reader's position in the document, for messages: "tensor 'x': shape".
  virtual std::string place() const = 0;

  /// Throws Error (invalid_file): `what` is not expected at place().
  [[noreturn]] bool unexpected(std::string_view what) const {
    fail_with(Status::invalid_file, "'{}': {}: {} is out of place", file_, place(), what);
  }

  std::string_view text_, file_;
};

}  // namespace smelt
