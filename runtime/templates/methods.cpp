// Methods of lists, tuples, dicts and numbers.
#include <bit>
#include <cmath>

#include "runtime/templates/arguments.h"
#include "runtime/templates/interpreter.h"

namespace smelt::templates {
namespace {

Value count(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("count", arguments, {"value"}, 1, kNoKeywords);
  int64_t n = 0;
  for (const Value& item : *self.sequence())
    n += identical(item, *p[0]) || equal(interpreter.budget(), item, *p[0]);
  return Value(n);
}

int64_t clipped(const Value* value, int64_t missing, int64_t size) {
  if (!value) return missing;
  const int64_t at = require_integer(*value);
  return at < 0 ? std::max<int64_t>(at < -size ? 0 : at + size, 0) : at;
}

Value index(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("index", arguments, {"value", "start", "stop"}, 1, kNoKeywords);
  const auto& items = *self.sequence();
  const auto size = static_cast<int64_t>(items.size());
  const int64_t end = std::min(clipped(p[2], size, size), size);
  for (int64_t i = clipped(p[1], 0, size); i < end; ++i) {
    if (identical(items[i], *p[0]) || equal(interpreter.budget(), items[i], *p[0])) return Value(i);
  }
  refuse("{} is not in the {}", repr(interpreter.budget(), *p[0]), self.type());
}

Value copy(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("copy", arguments, {});
  return self;
}

Value get(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("get", arguments, {"key", "default"}, 1, kNoKeywords);
  const Value* found = self.dict()->find(interpreter.budget(), *p[0]);
  return found ? *found : p[1] ? *p[1] : Value(None{});
}

template <View::Part part>
Value view(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("items", arguments, {});
  return make_object<View>(interpreter.budget(), self, part);
}

Value from_keys(Interpreter& interpreter, const Value&, Arguments& arguments) {
  Parameters p("fromkeys", arguments, {"iterable", "value"}, 1, kNoKeywords);
  std::vector<std::pair<Value, Value>> items;
  for (const Value& key : elements(interpreter.budget(), *p[0]))
    items.emplace_back(key, p[1] ? *p[1] : Value());
  return make_dict(interpreter.budget(), std::move(items));
}

uint64_t magnitude(const Value& value) {
  int64_t whole = 0;
  value.whole(whole);
  return whole < 0 ? 0 - static_cast<uint64_t>(whole) : static_cast<uint64_t>(whole);
}

Value bit_length(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("bit_length", arguments, {});
  return Value(static_cast<int64_t>(std::bit_width(magnitude(self))));
}

Value bit_count(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("bit_count", arguments, {});
  return Value(static_cast<int64_t>(std::popcount(magnitude(self))));
}

Value conjugate(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("conjugate", arguments, {});
  int64_t whole = 0;
  return self.whole(whole) ? Value(whole) : self;
}

Value is_integer(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("is_integer", arguments, {});
  return Value(std::isfinite(*self.real()) && std::floor(*self.real()) == *self.real());
}

Value omitted(Interpreter&, const Value& self, Arguments&) {
  unsupported("this method of {} is not supported", self.type());
}

}  // namespace

Function::Body find_sequence_method(std::string_view name) {
  return name == "count" ? count : name == "index" ? index : name == "copy" ? copy : nullptr;
}

Function::Body find_dict_method(std::string_view name) {
  if (name == "get") return get;
  if (name == "items") return view<View::Part::items>;
  if (name == "keys") return view<View::Part::keys>;
  if (name == "values") return view<View::Part::values>;
  return name == "copy" ? copy : name == "fromkeys" ? from_keys : nullptr;
}

Function::Body find_number_method(const Value& number, std::string_view name) {
  if (name == "conjugate") return conjugate;
  if (name == "as_integer_ratio") return omitted;
  if (number.real())
    return name == "is_integer" ? is_integer : name == "hex" || name == "fromhex" ? omitted : nullptr;
  if (name == "bit_length") return bit_length;
  if (name == "bit_count") return bit_count;
  return name == "to_bytes" || name == "from_bytes" ? omitted : nullptr;
}

}  // namespace smelt::templates
