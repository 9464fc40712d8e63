#include "runtime/templates/value.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/templates/characters.h"
#include "runtime/templates/formatting.h"
#include "runtime/templates/objects.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
int deepest(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth + 1;
}

namespace {

int checked_depth(Budget& budget, int depth) {
  if (depth > budget.limits().depth) {
    fault(Fault::limit, "values are nested deeper than {} levels (RenderLimits::depth)",
          budget.limits().depth);
  }
  return depth;
}

/// The number that a bool, int or float stands for.
bool number(const Value& value, int64_t& whole, double& real, bool& is_real) {
  is_real = value.real() != nullptr;
  if (is_real) real = *value.real();
  return is_real || value.whole(whole);
}

/// Compares an int and a float exactly: <0, 0, >0, or 2 if the float is not a number.
int compare_mixed(int64_t a, double b) {
  if (std::isnan(b)) return 2;
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const double floor = std::floor(b);
  const auto whole = static_cast<int64_t>(floor);
  if (a != whole) return a < whole ? -1 : 1;
  return floor < b ? -1 : 0;
}

/// Compares numbers: <0, 0, >0, 2 if one is not a number, 3 if one value is no number.
int compare_numbers(const Value& a, const Value& b) {
  int64_t i = 0, j = 0;
  double x = 0, y = 0;
  bool a_real = false, b_real = false;
  if (!number(a, i, x, a_real) || !number(b, j, y, b_real)) return 3;
  if (!a_real && !b_real) return i < j ? -1 : i > j;
  if (a_real && b_real) return std::isnan(x) || std::isnan(y) ? 2 : x < y ? -1 : x > y;
  if (b_real) return compare_mixed(i, y);
  const int reversed = compare_mixed(j, x);
  return reversed == 2 ? 2 : -reversed;
}

bool equal_items(Budget& budget, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!identical(a[i], b[i]) && !equal(budget, a[i], b[i])) return false;
  }
  return true;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    budget.spend(1);
    const Value* other = b.find(budget, key);
    if (!other || !(identical(value, *other) || equal(budget, value, *other))) return false;
  }
  return true;
}

/// Compares two texts by code points, which is the order of UTF-8.
int compare_text(Budget& budget, const Text& a, const Text& b) {
  budget.spend(std::min(a.bytes.size(), b.bytes.size()) / 64);
  return a.bytes.compare(b.bytes);
}

/// The order of two sequences: that of the first elements that differ.
bool less_items(Budget& budget, const std::vector<Value>& a, const std::vector<Value>& b, bool or_equal,
                std::string_view sign) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (identical(a[i], b[i]) || equal(budget, a[i], b[i])) continue;
    return or_equal ? less_or_equal(budget, a[i], b[i], sign) : less(budget, a[i], b[i], sign);
  }
  return or_equal ? a.size() <= b.size() : a.size() < b.size();
}

bool ordered(Budget& budget, const Value& a, const Value& b, bool or_equal, std::string_view sign) {
  Nesting nesting(budget);
  budget.spend(1);
  require_defined(a);
  require_defined(b);
  if (const int c = compare_numbers(a, b); c != 3) return c != 2 && (or_equal ? c <= 0 : c < 0);
  if (a.text() && b.text()) {
    const int c = compare_text(budget, *a.text(), *b.text());
    return or_equal ? c <= 0 : c < 0;
  }
  if (a.list() && b.list()) return less_items(budget, a.list()->items, b.list()->items, or_equal, sign);
  if (a.tuple() && b.tuple()) return less_items(budget, a.tuple()->items, b.tuple()->items, or_equal, sign);
  refuse("'{}' not supported between instances of '{}' and '{}'", sign, a.type(), b.type());
}

size_t mix(size_t a, size_t b) { return a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2)); }

size_t hash_real(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e18)
    return std::hash<int64_t>()(static_cast<int64_t>(value));
  return std::hash<double>()(value);
}

/// Whether a value can be a key of a dict.
bool hashable(const Value& value) {
  return !value.list() && !value.dict() && !(value.tuple() && !value.tuple()->hashable);
}

void set_hash(Tuple& tuple) {
  tuple.hashable = std::ranges::all_of(tuple.items, hashable);
  if (!tuple.hashable) return;
  tuple.hash = 1;
  for (const Value& item : tuple.items) tuple.hash = mix(tuple.hash, hash(item));
}

bool same_key(Budget& budget, const Value& a, const Value& b) {
  if (a.text() && b.text()) return a.text()->bytes == b.text()->bytes;
  return identical(a, b) || equal(budget, a, b);
}

}  // namespace

Value Object::call(Interpreter&, Arguments&) { refuse("'{}' object is not callable", type()); }
void Object::represent(TextBuilder& out) const { out.append(fmt::format("<{} object>", type())); }

const std::vector<Value>* Value::sequence() const {
  return list() ? &list()->items : tuple() ? &tuple()->items : nullptr;
}

bool Value::whole(int64_t& out) const {
  if (integer()) {
    out = *integer();
  } else if (boolean()) {
    out = *boolean();
  }
  return integer() || boolean();
}

std::string_view Value::type() const {
  static constexpr std::string_view kNames[] = {"NoneType", "Undefined", "bool",  "int", "float",
                                                "str",      "list",      "tuple", "dict"};
  return object() ? object()->type() : kNames[rep_.index()];
}

bool Value::truth() const {
  if (none() || undefined()) return false;
  if (boolean()) return *boolean();
  if (integer()) return *integer() != 0;
  if (real()) return *real() != 0;
  if (text()) return text()->length > 0;
  if (sequence()) return !sequence()->empty();
  if (dict()) return !dict()->items.empty();
  if (!object()->sized()) return true;
  Budget enough{RenderLimits{}};
  return object()->size(enough) > 0;
}

int Value::depth() const {
  if (list()) return list()->depth;
  if (tuple()) return tuple()->depth;
  if (dict()) return dict()->depth;
  return object() ? object()->depth() : 0;
}

const Value* Dict::find(Budget& budget, const Value& key) const {
  for (auto [at, end] = index.equal_range(hash(key)); at != end; ++at) {
    if (same_key(budget, items[at->second].first, key)) return &items[at->second].second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (auto [at, end] = index.equal_range(std::hash<std::string_view>()(key)); at != end; ++at) {
    const Text* text = items[at->second].first.text();
    if (text && text->bytes == key) return &items[at->second].second;
  }
  return nullptr;
}

Value make_text(Budget& budget, std::string bytes, bool safe) {
  budget.spend_text(bytes.size());
  const size_t length = count_code_points(bytes);
  return Value(std::make_shared<const Text>(Text{std::move(bytes), length, safe}));
}

Value make_list(Budget& budget, std::vector<Value> items) {
  budget.spend(1 + items.size());
  const int depth = checked_depth(budget, deepest(items));
  return Value(std::make_shared<const List>(List{std::move(items), depth}));
}

Value make_tuple(Budget& budget, std::vector<Value> items, bool group) {
  budget.spend(1 + items.size());
  const int depth = checked_depth(budget, deepest(items));
  auto tuple = std::make_shared<Tuple>(Tuple{std::move(items), depth, group});
  set_hash(*tuple);
  return Value(std::shared_ptr<const Tuple>(std::move(tuple)));
}

Value make_dict(Budget& budget, std::vector<std::pair<Value, Value>> items) {
  budget.spend(1 + 3 * items.size());
  auto dict = std::make_shared<Dict>();
  for (auto& [key, value] : items) {
    dict->depth = std::max({dict->depth, key.depth() + 1, value.depth() + 1});
    if (const Value* old = dict->find(budget, key)) {
      *const_cast<Value*>(old) = std::move(value);
      continue;
    }
    dict->index.emplace(hash(key), dict->items.size());
    dict->items.emplace_back(std::move(key), std::move(value));
  }
  checked_depth(budget, dict->depth);
  return Value(std::shared_ptr<const Dict>(std::move(dict)));
}

Value make_undefined(std::string message) {
  return Value(std::make_shared<const Undefined>(Undefined{std::move(message)}));
}

Value from_json(Budget& budget, const nlohmann::ordered_json& json) {
  Nesting nesting(budget);
  budget.spend(1);
  if (json.is_null()) return Value(None{});
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) {
    unsupported("integer {} in the variables: at most 64 bits are supported", json.get<uint64_t>());
  }
  if (json.is_number_integer()) return Value(json.get<int64_t>());
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (!is_utf8(text)) refuse("a text in the variables is not UTF-8");
    return make_text(budget, text);
  }
  if (json.is_array()) {
    std::vector<Value> items;
    for (const auto& item : json) items.push_back(from_json(budget, item));
    return make_list(budget, std::move(items));
  }
  if (!json.is_object()) refuse("the variables have a value that is no JSON");
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key, value] : json.items()) {
    if (!is_utf8(key)) refuse("a name in the variables is not UTF-8");
    items.emplace_back(make_text(budget, key), from_json(budget, value));
  }
  return make_dict(budget, std::move(items));
}

void require_defined(const Value& value) {
  if (value.undefined()) refuse("{}", value.undefined()->message);
}

bool identical(const Value& a, const Value& b) {
  if (a.rep().index() != b.rep().index()) return false;
  if (a.none()) return true;
  if (a.boolean()) return *a.boolean() == *b.boolean();
  if (a.integer()) return *a.integer() == *b.integer() && *a.integer() >= -5 && *a.integer() <= 256;
  if (a.real()) return false;
  if (a.text()) return a.text() == b.text();
  if (a.list()) return a.list() == b.list();
  if (a.tuple()) return a.tuple() == b.tuple();
  if (a.dict()) return a.dict() == b.dict();
  return a.object() && a.object() == b.object();
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  Nesting nesting(budget);
  budget.spend(1);
  if (a.undefined() || b.undefined()) return a.undefined() && b.undefined();
  if (a.none() || b.none()) return a.none() && b.none();
  if (const int c = compare_numbers(a, b); c != 3) return c == 0;
  if (a.text() && b.text()) return compare_text(budget, *a.text(), *b.text()) == 0;
  if (a.list() && b.list()) return equal_items(budget, a.list()->items, b.list()->items);
  if (a.tuple() && b.tuple()) return equal_items(budget, a.tuple()->items, b.tuple()->items);
  if (a.dict() && b.dict()) return equal_dicts(budget, *a.dict(), *b.dict());
  if (a.object() && b.object())
    return a.object() == b.object() || equal_objects(budget, *a.object(), *b.object());
  return false;
}

bool less(Budget& budget, const Value& a, const Value& b, std::string_view sign) {
  return ordered(budget, a, b, false, sign);
}
bool less_or_equal(Budget& budget, const Value& a, const Value& b, std::string_view sign) {
  return ordered(budget, a, b, true, sign);
}

size_t hash(const Value& value) {
  int64_t whole = 0;
  if (value.none()) return 3;
  if (value.undefined()) return 5;
  if (value.whole(whole)) return std::hash<int64_t>()(whole);
  if (value.real()) return hash_real(*value.real());
  if (value.text()) return std::hash<std::string_view>()(value.text()->bytes);
  if (value.tuple() && value.tuple()->hashable) return value.tuple()->hash;
  if (value.object()) return std::hash<const void*>()(value.object());
  refuse("unhashable type: '{}'", value.type());
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  budget.spend(1);
  if (container.undefined()) return false;
  if (const Text* text = container.text()) {
    require_defined(item);
    if (!item.text()) refuse("'in <string>' requires string as left operand, not {}", item.type());
    budget.spend((text->bytes.size() + item.text()->bytes.size()) / 16);
    return find_text(text->bytes, item.text()->bytes) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) return dict->find(budget, item) != nullptr;
  for (const Value& element : elements(budget, container)) {
    if (identical(element, item) || equal(budget, element, item)) return true;
  }
  return false;
}

bool is_iterable(const Value& value) {
  return value.undefined() || value.text() || value.sequence() || value.dict() ||
         (value.object() && value.object()->iterable());
}

std::vector<Value> elements(Budget& budget, const Value& value) {
  if (!is_iterable(value)) refuse("'{}' object is not iterable", value.type());
  if (const auto* items = value.sequence()) {
    budget.spend(items->size());
    return *items;
  }
  std::vector<Value> out;
  if (const Text* text = value.text()) {
    budget.spend(2 * text->length);
    for (size_t at = 0; at < text->bytes.size();) {
      const uint32_t bytes = code_point_at(text->bytes, at).bytes;
      out.push_back(make_text(budget, text->bytes.substr(at, bytes)));
      at += bytes;
    }
  } else if (const Dict* dict = value.dict()) {
    budget.spend(dict->items.size());
    for (const auto& [key, _] : dict->items) out.push_back(key);
  } else if (value.object()) {
    value.object()->iterate(budget, out);
  }
  return out;
}

int64_t length_or_none(Budget& budget, const Value& value) {
  if (value.undefined()) return 0;
  if (value.text()) return static_cast<int64_t>(value.text()->length);
  if (value.sequence()) return static_cast<int64_t>(value.sequence()->size());
  if (value.dict()) return static_cast<int64_t>(value.dict()->items.size());
  return value.object() && value.object()->sized() ? value.object()->size(budget) : -1;
}

}  // namespace smelt::templates
