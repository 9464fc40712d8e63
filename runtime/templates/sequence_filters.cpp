// Filters of sequences and dicts.
#include <algorithm>

#include "runtime/templates/arguments.h"
#include "runtime/templates/characters.h"
#include "runtime/templates/filter_tables.h"
#include "runtime/templates/interpreter.h"
#include "runtime/templates/operators.h"

namespace smelt::templates {
namespace {

Value length(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("length", arguments, {});
  const int64_t n = length_or_none(interpreter.budget(), subject);
  if (n < 0) refuse("object of type '{}' has no len()", subject.type());
  return Value(n);
}

Value to_list(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("list", arguments, {});
  return make_list(interpreter.budget(), elements(interpreter.budget(), subject));
}

Value first(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("first", arguments, {});
  Value out;
  if (auto* iterator = subject.object_of<Iterator>()) {
    return iterator->next(out) ? out : make_undefined("No first item, sequence was empty.");
  }
  const auto items = elements(interpreter.budget(), subject);
  return items.empty() ? make_undefined("No first item, sequence was empty.") : items[0];
}

void require_reversible(const Value& subject) {
  if (!is_iterable(subject) || subject.object_of<Iterator>())
    refuse("'{}' object is not reversible", subject.type());
}

Value last(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("last", arguments, {});
  require_reversible(subject);
  const auto items = elements(interpreter.budget(), subject);
  return items.empty() ? make_undefined("No last item, sequence was empty.") : items.back();
}

Value reverse(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("reverse", arguments, {});
  Budget& budget = interpreter.budget();
  if (subject.text()) {
    const Value step(int64_t{-1});
    return slice(budget, subject, nullptr, nullptr, &step);
  }
  if (!is_iterable(subject)) refuse("argument must be iterable");
  auto items = elements(budget, subject);
  std::ranges::reverse(items);
  if (subject.object_of<Iterator>()) return make_list(budget, std::move(items));
  return make_object<Iterator>(budget, subject.list() ? "list_reverseiterator" : "reversed",
                               std::move(items));
}

Value join(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("join", arguments, {"d", "attribute"});
  Budget& budget = interpreter.budget();
  const std::string separator = p[0] ? str(budget, *p[0]) : "";
  const AttributePath path(budget, p[1]);
  TextBuilder out(budget);
  bool any = false;
  for (const Value& item : elements(budget, subject)) {
    if (std::exchange(any, true)) out.append(separator);
    append_str(out, path(interpreter, item));
  }
  return make_text(budget, out.take());
}

Value sum(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("sum", arguments, {"attribute", "start"});
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, p[0]);
  Value total = p[1] ? *p[1] : Value(int64_t{0});
  if (total.text()) refuse("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : elements(budget, subject)) {
    total = arithmetic(budget, Op::add, total, path(interpreter, item));
  }
  return total;
}

// ---- Order

struct Keyed {
  Value key, item;
};

void sort_keyed(Budget& budget, std::vector<Keyed>& items, bool reversed) {
  const auto before = [&](const Keyed& a, const Keyed& b) {
    return reversed ? less(budget, b.key, a.key) : less(budget, a.key, b.key);
  };
  std::ranges::stable_sort(items, before);
}

std::vector<Value> items_of(std::vector<Keyed> keyed) {
  std::vector<Value> out;
  for (Keyed& k : keyed) out.push_back(std::move(k.item));
  return out;
}

/// The attributes of a comma-separated list.
std::vector<AttributePath> paths_of(Budget& budget, const Value* attribute) {
  std::vector<AttributePath> paths;
  if (!attribute || !attribute->text()) {
    paths.emplace_back(budget, attribute);
    return paths;
  }
  const std::string& names = attribute->text()->bytes;
  for (size_t at = 0; at <= names.size();) {
    const size_t comma = std::min(names.find(',', at), names.size());
    const Value name = make_text(budget, names.substr(at, comma - at));
    paths.emplace_back(budget, &name);
    at = comma + 1;
  }
  return paths;
}

Value sort(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  const auto paths = paths_of(budget, p[2]);
  std::vector<Keyed> keyed;
  for (const Value& item : elements(budget, subject)) {
    std::vector<Value> key;
    for (const auto& path : paths) {
      const Value part = path(interpreter, item);
      key.push_back(p.truth(1) ? part : without_case(interpreter, part));
    }
    keyed.push_back({make_list(budget, std::move(key)), item});
  }
  sort_keyed(budget, keyed, p.integer(0) != 0);
  return make_list(budget, items_of(std::move(keyed)));
}

Value dict_sort(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  Budget& budget = interpreter.budget();
  const std::string by = p[1] ? str(budget, *p[1]) : "key";
  if (by != "key" && by != "value") refuse("you can only sort by either \"key\" or \"value\"");
  require_defined(subject);
  if (!subject.dict()) refuse("'{}' object has no attribute 'items'", subject.type());
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : subject.dict()->items) {
    const Value& chosen = by == "key" ? key : value;
    keyed.push_back(
        {p.truth(0) ? chosen : without_case(interpreter, chosen), make_tuple(budget, {key, value})});
  }
  sort_keyed(budget, keyed, p.integer(2) != 0);
  return make_list(budget, items_of(std::move(keyed)));
}

template <bool largest>
Value extreme(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("min", arguments, {"case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, p[1]);
  std::optional<Keyed> best;
  for (const Value& item : elements(budget, subject)) {
    const Value part = path(interpreter, item);
    Keyed keyed{p.truth(0) ? part : without_case(interpreter, part), item};
    if (!best || (largest ? less(budget, best->key, keyed.key, ">") : less(budget, keyed.key, best->key))) {
      best = std::move(keyed);
    }
  }
  return best ? best->item : make_undefined("No aggregated item, sequence was empty.");
}

Value group_by(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, p[0], p.given(1));
  std::vector<Keyed> keyed;
  for (const Value& item : elements(budget, subject)) {
    const Value key = path(interpreter, item);
    keyed.push_back({p.truth(2) ? key : without_case(interpreter, key), item});
  }
  sort_keyed(budget, keyed, false);
  std::vector<Value> groups;
  for (size_t begin = 0, end; begin < keyed.size(); begin = end) {
    std::vector<Value> items;
    for (end = begin; end < keyed.size() && equal(budget, keyed[begin].key, keyed[end].key); ++end) {
      items.push_back(keyed[end].item);
    }
    if (end == begin) items.push_back(keyed[end++].item);  // a key that does not equal itself
    const Value key = p.truth(2) ? keyed[begin].key : path(interpreter, items[0]);
    groups.push_back(make_tuple(budget, {key, make_list(budget, std::move(items))}, true));
  }
  return make_list(budget, std::move(groups));
}

constexpr Filter kSequenceFilters[] = {{"count", length},
                                       {"dictsort", dict_sort},
                                       {"first", first},
                                       {"groupby", group_by},
                                       {"join", join},
                                       {"last", last},
                                       {"length", length},
                                       {"list", to_list},
                                       {"max", extreme<true>},
                                       {"min", extreme<false>},
                                       {"reverse", reverse},
                                       {"sort", sort},
                                       {"sum", sum}};

}  // namespace

std::span<const Filter> sequence_filters() { return kSequenceFilters; }

Value without_case(Interpreter& interpreter, const Value& value) {
  if (!value.text()) return value;
  interpreter.budget().spend(value.text()->bytes.size() / 16);
  return make_text(interpreter.budget(), encode(lower(decode(value.text()->bytes))), value.text()->safe);
}

AttributePath::AttributePath(Budget& budget, const Value* attribute, const Value* missing)
    : missing_(missing) {
  if (!attribute || attribute->none()) return;
  if (!attribute->text()) {
    parts_.push_back(*attribute);
    return;
  }
  const std::string& path = attribute->text()->bytes;
  for (size_t at = 0; at <= path.size();) {
    const size_t dot = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, dot - at);
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (digits && part.size() > 18) unsupported("an index in an attribute has more than 18 digits");
    parts_.push_back(digits ? Value(int64_t{std::stoll(part)}) : make_text(budget, part));
    at = dot + 1;
  }
}

Value AttributePath::operator()(Interpreter& interpreter, Value item) const {
  for (const Value& part : parts_) {
    item = interpreter.item(item, part);
    if (missing_ && item.undefined()) item = *missing_;
  }
  return item;
}

}  // namespace smelt::templates
